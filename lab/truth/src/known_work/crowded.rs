//! Known work where more warps of an SM record at once than the calibration has.

use serde_json::json;

use super::beyond::{Beyond, Length};
use super::recorded::{Grid, launch, lengths};
use super::{ADDED_UP, CYCLES_MAX, FORMS, KNOWN_WORK, Subject, cases, is_whole, larger, limit};
use crate::{Failure, Report, Run, Summary};

/// A launch of one block.
#[derive(Clone, Copy, Debug)]
struct Crowd {
    warps: u32,
    limit: Option<CrowdLimit>,
}

/// What regions of such a launch may be off by: what was measured, with some room.
#[derive(Clone, Copy, Debug)]
struct CrowdLimit {
    /// Any median, in cycles.
    median: f64,
    /// How many in a hundred may be off by more than 1 % and [`CROWDED_CYCLES`].
    far: f64,
}

const CROWDS: [Crowd; 3] = [
    Crowd { warps: 8, limit: Some(CrowdLimit { median: 16.0, far: 2.0 }) },
    // They keep the SM busy with storing records: no more is said of it than what was found.
    Crowd { warps: 16, limit: None },
    Crowd { warps: 32, limit: None },
];
/// Who records: one lane, one that is elected, all that share their records.
const STRATEGIES: [&str; 3] = ["warp", "elected", "thread"];
/// What a single region may be off by beside as many others that record, in cycles: more passes then between a region's
/// stamp and the kernel's own reading next to it.
const CROWDED_CYCLES: f64 = 32.0;

/// What the regions of a subject show, of all lengths, depths and levels.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    regions: usize,
    /// Those that are off by more than regions of few warps may be.
    beyond: usize,
    /// Those that are off by more than 1 % and [`CROWDED_CYCLES`].
    far: usize,
    /// Of all medians the one that is farthest from 0, as recorded and after subtraction.
    raw_median: f64,
    median: f64,
    /// Of all errors.
    raw: f64,
    worst: f64,
}

impl Shown {
    fn add(&mut self, form: &str, raw: &[Length], less: &[Length]) {
        let errors = |lengths: &[Length]| Summary::of(lengths.iter().map(Length::error));
        let (Some(of_raw), Some(of_less)) = (errors(raw), errors(less)) else { return };
        let beyond = |limit: &dyn Fn(f64) -> f64| -> usize {
            Beyond::of(less, limit).iter().map(|beyond| beyond.lanes).sum()
        };
        self.regions += less.len();
        self.beyond += beyond(&|truth| limit(form, truth, 1.0));
        self.far += beyond(&|truth| limit(form, truth, 1.0).max(CROWDED_CYCLES));
        self.raw_median = larger(self.raw_median, of_raw.median);
        self.median = larger(self.median, of_less.median);
        self.raw = larger(self.raw, of_raw.worst());
        self.worst = larger(self.worst, of_less.worst());
    }

    /// What of a limit does not hold.
    fn broken(&self, limit: CrowdLimit) -> Vec<String> {
        let far = self.part(self.far);
        let median = (self.median.abs() > limit.median).then(|| {
            format!("a median is {:+.1} cycles off (limit {})", self.median, limit.median)
        });
        let far =
            (far > limit.far).then(|| format!("{far:.2} % are far off (limit {} %)", limit.far));
        median.into_iter().chain(far).collect()
    }

    fn part(&self, regions: usize) -> f64 {
        100.0 * regions as f64 / self.regions.max(1) as f64
    }
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let cases = cases(run);
    let is_crowded = |strategy: &str| STRATEGIES.contains(&strategy);
    let kernels = KNOWN_WORK.iter().filter(|kernel| kernel.clock == "cycles");
    let kernels: Vec<_> = kernels.filter(|kernel| is_crowded(kernel.strategy)).collect();
    let mut rows = Vec::new();
    for &Crowd { warps, limit } in run.pick(&CROWDS[..1], &CROWDS[..]) {
        // Few repeats say little of medians.
        let limit = run.pick(None, limit);
        for &kernel in kernels.iter().filter(|kernel| run.wants_kernel(kernel.name)) {
            for (form, number) in FORMS {
                let subject = Subject { kernel, grid: Grid::new(1, warps), form };
                let name = format!("{warps} warps, {subject}");
                let (trace, truths) = launch(run.backend(), subject, number, &cases)?;
                report.diagnostics(&name, &trace)?;
                if !is_whole(report, &name, &trace, &cases) {
                    continue;
                }
                let mut subtracted = trace.clone();
                subtracted.subtract_record_cost();
                let mut shown = Shown::default();
                for (launch, (case, truth)) in cases.iter().zip(&truths).enumerate() {
                    let levels = |trace| lengths(trace, launch, case, truth, subject);
                    for (raw, less) in levels(&trace)?.iter().zip(&levels(&subtracted)?) {
                        shown.add(form, raw, less);
                    }
                }
                report.line(
                    "crowded",
                    json!({
                        "warps": warps,
                        "strategy": kernel.strategy,
                        "form": form,
                        "regions": shown.regions,
                        "beyond": shown.beyond,
                        "far": shown.far,
                        "raw_median_ticks": shown.raw_median,
                        "median_ticks": shown.median,
                        "raw_worst_ticks": shown.raw,
                        "worst_ticks": shown.worst,
                    }),
                )?;
                for broken in limit.map_or_else(Vec::new, |limit| shown.broken(limit)) {
                    report.broken(format!("{name}: {broken}"));
                }
                let percent = |regions| format!("{:.2} %", shown.part(regions));
                let ticks = |ticks: f64| format!("{ticks:+.0}");
                rows.push(vec![
                    name,
                    ticks(shown.raw_median),
                    ticks(shown.median),
                    ticks(shown.raw),
                    ticks(shown.worst),
                    percent(shown.beyond),
                    percent(shown.far),
                ]);
            }
        }
    }
    report.say(&format!(
        "error = recorded - true length, in cycles; of all lengths, depths and levels the worst; \
         beyond = single regions that are off by more than 1 % and so many cycles, {CYCLES_MAX} being {} \
         more in a {}",
        ADDED_UP.1, ADDED_UP.0
    ));
    if rows.is_empty() {
        report.say("none of the kernels that were named is one of this test");
    }
    report.table(
        &[
            "case",
            "median, raw",
            "median, less cost",
            "any, raw",
            "any, less cost",
            &format!("beyond {CYCLES_MAX}"),
            &format!("beyond {CROWDED_CYCLES}"),
        ],
        &rows,
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_of_medians_and_of_how_many_regions_are_far_off() {
        let limit = CrowdLimit { median: 16.0, far: 2.0 };
        let shown = |median, far| Shown { regions: 100, far, median, ..Shown::default() };
        assert_eq!(shown(-16.0, 2).broken(limit), [""; 0]);
        assert_eq!(shown(-16.5, 2).broken(limit), ["a median is -16.5 cycles off (limit 16)"]);
        assert_eq!(shown(16.0, 3).broken(limit), ["3.00 % are far off (limit 2 %)"]);
        assert_eq!(shown(17.0, 3).broken(limit).len(), 2);
    }
}
