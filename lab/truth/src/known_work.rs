//! Spins whose length the kernel measures, against the regions around them.

use std::collections::BTreeMap;
use std::fmt;

use profiler_host::Trace;
use profiler_host::trace::{DiagnosticKind, StampWait, StampWaits};
use serde_json::json;
use truth_kernels::{
    HOSTED_WORK, KNOWN_WORK, KnownWorkKernel, RANGE, SHORT, TOKEN, VALUE, WAIT, WAIT_FOUR,
};

use crate::{Failure, Report, Run, Summary};

use beyond::{Beyond, Length};
use recorded::{Grid, launch, lengths, recorders_of};

mod beyond;
mod crowded;
mod recorded;

pub(crate) use crowded::run as run_crowded;

/// How deep regions are nested.
const SMALL_DEPTHS: [u32; 2] = [1, 8];
const FULL_DEPTHS: [u32; 4] = [1, 2, 4, 8];
const FORMS: [(&str, u32); 6] = [
    ("range", RANGE),
    ("token", TOKEN),
    ("value", VALUE),
    ("short value", SHORT),
    ("wait", WAIT),
    (ADDED_UP.0, WAIT_FOUR),
];
/// Requested lengths of the spins in cycles, and how often each is repeated.
const SMALL: [(u64, u32); 2] = [(64, 3), (1000, 3)];
const FULL: [(u64, u32); 8] = [
    (64, 12),
    (128, 12),
    (256, 12),
    (1000, 12),
    (10_000, 12),
    (100_000, 12),
    (1_000_000, 4),
    (20_000_000, 2),
];
/// The part of its length by which a region may be wrong, where that is more than the ticks below.
const PART_MAX: f64 = 0.01;
const CYCLES_MAX: f64 = 8.0;
/// The form whose end adds up what it waits for, and how many cycles more that takes: an instruction waits for two
/// words, and a sum is there four cycles later. A record does not say so, and nothing is subtracted for it.
const ADDED_UP: (&str, f64) = ("wait for four words", 4.0);
/// How often spins up to a length, in cycles, are repeated where the timer measures them: what a few of its
/// readings say of a mean is not as exact as the limit.
const TIMER_REPEATS: (u64, u32) = (1000, 200);
/// The same where records go to memory of the host, and one warp of a block records: as many readings as of all
/// four warps. More records would fill the bus.
const HOSTED_TIMER_REPEATS: u32 = 48;

/// A launch: one form, depth and length.
#[derive(Clone, Copy, Debug)]
struct Case {
    depth: u32,
    cycles: u64,
    repeats: u32,
}

/// What the regions of one level of one case show.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Recorded length less true length, in ticks, and the same after subtraction of the cost.
    raw: Summary,
    subtracted: Summary,
    /// The median of the true lengths.
    truth: f64,
}

/// A kernel, the warps that run it, and a form.
#[derive(Clone, Copy, Debug)]
struct Subject {
    kernel: &'static KnownWorkKernel,
    grid: Grid,
    form: &'static str,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}, {}", self.kernel.strategy, self.kernel.clock, self.form)?;
        if self.is_hosted() { f.write_str(", host") } else { Ok(()) }
    }
}

impl Subject {
    /// Whether the records go to memory of the host.
    fn is_hosted(&self) -> bool {
        self.kernel.buffer == "host"
    }

    /// How many ticks of its clock a cycle of the SMs is.
    fn ticks_per_cycle(&self, trace: &Trace) -> Result<f64, Failure> {
        match (self.kernel.clock, trace.clock_mhz) {
            ("cycles", _) => Ok(1.0),
            (_, Some(mhz)) => Ok(1000.0 / mhz),
            (_, None) => Err("the trace does not say how fast the SMs' clock is".into()),
        }
    }

    /// Whether the cost of its records is known, so that it can be subtracted.
    fn has_known_cost(&self) -> bool {
        self.kernel.clock == "cycles" && !self.is_hosted()
    }

    /// Whether a spin of so many cycles is repeated as often as its clock asks for.
    fn is_repeated(&self, cycles: u64) -> bool {
        self.kernel.clock == "cycles" || cycles <= TIMER_REPEATS.0
    }

    /// The cases, of which short ones are repeated so often that the timer can tell.
    fn repeated(&self, cases: &[Case]) -> Vec<Case> {
        let mut cases = cases.to_vec();
        let repeats = match (
            self.is_hosted(),
            recorders_of(self.kernel.strategy, self.grid) == self.grid.blocks,
        ) {
            (false, _) => Some(TIMER_REPEATS.1),
            (true, true) => Some(HOSTED_TIMER_REPEATS),
            (true, false) => None,
        };
        let repeats = repeats.filter(|_| self.kernel.clock == "globaltimer");
        if let Some(repeats) = repeats {
            let short = cases.iter_mut().filter(|case| self.is_repeated(case.cycles));
            short.for_each(|case| case.repeats = repeats);
        }
        cases
    }

    /// What stands for many errors: their median, but where they are multiples of the timer's step,
    /// as a median then is, their mean.
    fn typical(&self, errors: &Summary) -> f64 {
        if self.kernel.clock == "cycles" { errors.median } else { errors.mean }
    }
}

/// The largest errors of a depth, in ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    raw_typical: f64,
    subtracted_typical: f64,
    raw: f64,
    subtracted: f64,
    /// How many regions there were.
    regions: usize,
    /// How many of them were off by more than what may be, after subtraction.
    beyond: usize,
}

/// What regions of a form and a true length may be wrong by, in ticks, of which one cycle is so many.
fn limit(form: &str, truth: f64, ticks_per_cycle: f64) -> f64 {
    let added_up = if form == ADDED_UP.0 { ADDED_UP.1 } else { 0.0 };
    (PART_MAX * truth).max((CYCLES_MAX + added_up) * ticks_per_cycle)
}

impl Worst {
    fn add(
        &mut self,
        (subject, cycles): (Subject, u64),
        level: &Level,
        less: &[Length],
        beyond: usize,
    ) {
        if subject.is_repeated(cycles) {
            self.raw_typical = larger(self.raw_typical, subject.typical(&level.raw));
            self.subtracted_typical =
                larger(self.subtracted_typical, subject.typical(&level.subtracted));
        }
        self.raw = larger(self.raw, level.raw.worst());
        self.subtracted = larger(self.subtracted, level.subtracted.worst());
        self.regions += less.len();
        self.beyond += beyond;
    }
}

/// All depths and lengths of spins.
fn cases(run: &Run) -> Vec<Case> {
    let lengths = run.pick(&SMALL[..], &FULL[..]);
    let depths = run.pick(&SMALL_DEPTHS[..], &FULL_DEPTHS[..]);
    let of_depth = |&depth: &u32| {
        lengths.iter().map(move |&(cycles, repeats)| Case { depth, cycles, repeats })
    };
    depths.iter().flat_map(of_depth).collect()
}

/// Whether all that the cases recorded is in their trace; what is not is a limit that does not hold.
fn is_whole(report: &mut Report, name: &str, trace: &Trace, cases: &[Case]) -> bool {
    let is_whole = trace.lost() == 0 && trace.launches.len() == cases.len();
    report.require(is_whole, || {
        format!(
            "{name}: {} records lost, {} of {} launches in the trace",
            trace.lost(),
            trace.launches.len(),
            cases.len()
        )
    });
    is_whole
}

/// Of two errors the one that is farther from 0.
fn larger(left: f64, right: f64) -> f64 {
    if right.abs() > left.abs() { right } else { left }
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let all = cases(run);
    let (mut rows, mut costs) = (Vec::new(), Vec::new());
    let (mut regions, mut beyond) = (0, 0);
    let hosted = run.hosted()?;
    let kernels = KNOWN_WORK.iter().map(|kernel| (kernel, run.backend()));
    let kernels = kernels.chain(HOSTED_WORK.iter().map(|kernel| (kernel, &hosted)));
    for (kernel, backend) in kernels.filter(|(kernel, _)| run.wants_kernel(kernel.name)) {
        for (form, number) in FORMS {
            let subject = Subject { kernel, grid: Grid::FEW, form };
            let cases = run.pick(all.clone(), subject.repeated(&all));
            let (trace, truths) = launch(backend, subject, number, &cases)?;
            report.diagnostics(&subject.to_string(), &trace)?;
            if !is_whole(report, &subject.to_string(), &trace, &cases) {
                continue;
            }
            let compared = compare(report, subject, &cases, &trace, &truths)?;
            let ticks =
                |ticks: Option<f64>| ticks.map_or("-".into(), |ticks| format!("{ticks:.1}"));
            costs.push(vec![
                subject.to_string(),
                ticks(compared.inside),
                ticks(compared.calibrated.map(|cost| cost.inside)),
                ticks(compared.total),
                ticks(compared.calibrated.map(|cost| cost.total)),
            ]);
            for (depth, worst) in compared.worst {
                let values =
                    [worst.raw_typical, worst.subtracted_typical, worst.raw, worst.subtracted];
                let mut row = vec![subject.to_string(), depth.to_string()];
                row.extend(values.map(|ticks| format!("{ticks:+.1}")));
                row.push(if subject.has_known_cost() {
                    regions += worst.regions;
                    beyond += worst.beyond;
                    format!("{} of {}", worst.beyond, worst.regions)
                } else {
                    "-".into()
                });
                rows.push(row);
            }
        }
    }
    report.say(
        "error = recorded - true length, in ticks of the clock (cycles, or ns of globaltimer); of \
         all lengths and levels the worst; typical = the median of cycles; by globaltimer the mean, of \
         all spins up to 1000 cycles, which are repeated often enough; beyond = single regions that are \
         off by more than the limit. By globaltimer and to host memory the cost of records is not known",
    );
    report.table(
        &[
            "case",
            "depth",
            "typical, raw",
            "typical, less cost",
            "any, raw",
            "any, less cost",
            "beyond",
        ],
        &rows,
    );
    report.say(&format!(
        "\nin cycles {beyond} of {regions} single regions are off by more than 1 % or {CYCLES_MAX} cycles \
         after subtraction, or {} more in a {}", ADDED_UP.1, ADDED_UP.0
    ));
    report.say(
        "\ncost of a record in ticks of the clock, as these regions show it (medians: what the \
         innermost region lasts too long; what each of 7 nested regions adds), and as calibrated",
    );
    report.table(&["case", "inside", "calibrated", "total", "calibrated"], &costs);
    Ok(())
}

/// Holds the regions of all launches against what the kernels measured.
fn compare(
    report: &mut Report,
    subject: Subject,
    cases: &[Case],
    trace: &Trace,
    truths: &[Vec<u64>],
) -> Result<Compared, Failure> {
    let mut subtracted = trace.clone();
    subtracted.subtract_record_cost();
    let ticks_per_cycle = subject.ticks_per_cycle(trace)?;
    let mut all: BTreeMap<u32, Worst> = BTreeMap::new();
    let mut seen = SeenCost::default();
    for (launch, (case, truth)) in cases.iter().zip(truths).enumerate() {
        let levels = |trace| lengths(trace, launch, case, truth, subject);
        let (raw, less) = match (levels(trace), levels(&subtracted)) {
            (Ok(raw), Ok(less)) => (raw, less),
            (Err(wrong), _) | (_, Err(wrong)) => {
                report.broken(format!("{subject}, depth {}: {wrong}", case.depth));
                continue;
            }
        };
        for (index, (raw, less)) in raw.into_iter().zip(less).enumerate() {
            let Some(level) = summarize(&raw, &less) else { continue };
            let place = format!(
                "{subject}, depth {}, level {}, spin of {} cycles",
                case.depth,
                index + 1,
                case.cycles
            );
            let beyond = match subject.has_known_cost() {
                true => Beyond::of(&less, |truth| limit(subject.form, truth, ticks_per_cycle)),
                false => Vec::new(),
            };
            all.entry(case.depth).or_default().add(
                (subject, case.cycles),
                &level,
                &less,
                beyond.iter().map(|beyond| beyond.lanes).sum(),
            );
            seen.add(case.depth as usize - 1 - index, level.raw.median);
            let limit = limit(subject.form, level.truth, ticks_per_cycle);
            let typical = subject.typical(&level.subtracted);
            // Where all lanes store at once the subtraction is rough, and says so (`cost-is-rough`).
            let is_rough = subject.kernel.strategy == "thread";
            let is_judged = subject.has_known_cost() && !is_rough;
            report.require(!is_judged || typical.abs() <= limit, || {
                format!(
                    "{place}: {typical:+.1} ticks off after subtraction (true length {:.0}, limit \
                     {limit:.1})",
                    level.truth
                )
            });
            report.line(
                "case",
                json!({
                    "strategy": subject.kernel.strategy,
                    "clock": subject.kernel.clock,
                    "buffer": subject.kernel.buffer,
                    "form": subject.form,
                    "depth": case.depth,
                    "level": index + 1,
                    "cycles": case.cycles,
                    "truth_ticks": level.truth,
                    "error_ticks": level.raw.json(),
                    "subtracted_error_ticks": level.subtracted.json(),
                    "limit_ticks": limit,
                    "beyond": beyond.iter().map(Beyond::json).collect::<Vec<_>>(),
                }),
            )?;
        }
    }
    let (inside, total) = (seen.inside_ticks(), seen.total_ticks());
    let calibrated = calibrated(subject, trace);
    report.line(
        "cost",
        json!({
            "strategy": subject.kernel.strategy,
            "clock": subject.kernel.clock,
            "buffer": subject.kernel.buffer,
            "form": subject.form,
            "inside_ticks": calibrated.map(|cost| cost.inside),
            "total_ticks": calibrated.map(|cost| cost.total),
            "waits_cycles": calibrated.map(|cost| {
                let wait = |wait: StampWait| json!({"mean": wait.mean_ticks, "most": wait.most_ticks});
                let StampWaits { nested, begin, end, record } = cost.waits;
                json!({
                    "nested": wait(nested),
                    "begin": wait(begin),
                    "end": wait(end),
                    "record": wait(record),
                })
            }),
            "seen_inside_ticks": inside,
            "seen_total_ticks": total,
            "cost_exceeds_duration": exceeding(&subtracted),
            "clock_mhz": trace.clock_mhz,
        }),
    )?;
    Ok(Compared { worst: all, inside, total, calibrated })
}

/// How often less time passed than recording was said to cost.
fn exceeding(subtracted: &Trace) -> u64 {
    let all = subtracted.diagnostics.list.iter();
    let of_kind = all.filter(|found| found.kind == DiagnosticKind::CostExceedsDuration);
    of_kind.map(|found| found.count).sum()
}

/// What one kernel and form show.
#[derive(Clone, Debug)]
struct Compared {
    /// By depth.
    worst: BTreeMap<u32, Worst>,
    /// What recording costs as these regions show it, in ticks.
    inside: Option<f64>,
    total: Option<f64>,
    /// What the calibration says.
    calibrated: Option<Calibrated>,
}

/// What the calibration says of one strategy and form, in cycles.
#[derive(Clone, Copy, Debug)]
struct Calibrated {
    inside: f64,
    total: f64,
    waits: StampWaits,
}

/// By `thread`, where each lane stores a record, the least that it costs.
fn calibrated(subject: Subject, trace: &Trace) -> Option<Calibrated> {
    let cost = trace.record_cost.filter(|_| subject.has_known_cost())?;
    let costs = if subject.kernel.strategy == "elected" { cost.elected } else { cost.one_lane };
    // A short value is in the record of the region.
    let value = if subject.form == "value" { costs.value.total_ticks() } else { 0.0 };
    // The ends stand back to back.
    let waited = costs.waits.record.mean_ticks;
    Some(Calibrated {
        inside: costs.inside_ticks(),
        total: costs.total_ticks() + value + waited,
        waits: costs.waits,
    })
}

/// Raw errors by how many regions lie within.
#[derive(Clone, Debug, Default)]
struct SeenCost(BTreeMap<usize, Vec<f64>>);

impl SeenCost {
    fn add(&mut self, inner: usize, error: f64) {
        self.0.entry(inner).or_default().push(error);
    }

    fn median(&self, inner: usize) -> Option<f64> {
        Some(Summary::of(self.0.get(&inner)?.iter().copied())?.median)
    }

    /// What a region without others in it lasts too long.
    fn inside_ticks(&self) -> Option<f64> {
        self.median(0)
    }

    /// What each region within adds to that, of the most regions.
    fn total_ticks(&self) -> Option<f64> {
        let (&inner, _) = self.0.last_key_value().filter(|&(&inner, _)| inner > 0)?;
        Some((self.median(inner)? - self.median(0)?) / inner as f64)
    }
}

fn summarize(raw: &[Length], subtracted: &[Length]) -> Option<Level> {
    let truth = Summary::of(raw.iter().map(|length| length.truth))?.median;
    let errors = |lengths: &[Length]| Summary::of(lengths.iter().map(Length::error));
    Some(Level { raw: errors(raw)?, subtracted: errors(subtracted)?, truth })
}

#[cfg(test)]
mod tests;
