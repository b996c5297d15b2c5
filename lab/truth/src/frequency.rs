//! Regions while the GPU's clock changes: other warps draw so much power for a while that it falls.

mod boost;

use std::time::Duration;

pub(crate) use boost::{IDLE, boost};
use profiler_host::{Backend, Profiler, Trace, launch};
use serde_json::json;
use truth_kernels::{
    LOADED_THREADS, Line, PRODUCT_FLOPS, READING_WORDS, ROUND_PRODUCTS, ROUND_READS, TIME_WORDS,
    fill, loaded_anchored, loaded_cycles, loaded_timer,
};

use crate::schedule::{Clock, Found, evaluate};
use crate::{Failure, Report, Run, Summary};

/// By which part a length in nanoseconds may be wrong while the clock changes.
const PART_MAX: f64 = 0.005;
/// Where the clock's lowest frequency is less than this part below its highest, it did not change.
const CHANGE_MIN: f64 = 0.05;
/// What a warp does in a round.
const ROUND_FLOPS: u64 = ROUND_PRODUCTS * PRODUCT_FLOPS;
const ROUND_BYTES: u64 = 32 * ROUND_READS * size_of::<Line>() as u64;
/// For how long clocks are kept: longer than a launch takes, and no longer than they are read every 50 µs.
const KEPT: Duration = Duration::from_secs(1);
/// Rows of a table.
const ROWS: usize = 14;

/// How the regions are recorded.
#[derive(Clone, Copy, Debug)]
struct Variant {
    name: &'static str,
    clock: Clock,
    /// Of so many regions, one has an anchor before it; 0 for none.
    anchor_every: u32,
    /// Whether there are some within regions, every so many cycles.
    anchors_within: bool,
    /// Whether the session keeps the clocks beside the kernel.
    clocks_kept: bool,
    /// Whether lengths in nanoseconds have a limit: where a stamp by cycles is far from an anchor,
    /// they are what they are.
    has_limit: bool,
}

const VARIANTS: [Variant; 6] = [
    Variant {
        name: "cycles, an anchor before each region",
        clock: Clock::Cycles,
        anchor_every: 1,
        anchors_within: false,
        clocks_kept: false,
        has_limit: true,
    },
    Variant {
        name: "cycles, an anchor before every tenth region",
        clock: Clock::Cycles,
        anchor_every: 10,
        anchors_within: false,
        clocks_kept: false,
        has_limit: false,
    },
    Variant {
        name: "cycles, no anchors but entry and exit",
        clock: Clock::Cycles,
        anchor_every: 0,
        anchors_within: false,
        clocks_kept: false,
        has_limit: false,
    },
    Variant {
        name: "cycles, clocks kept beside the kernel",
        clock: Clock::Cycles,
        anchor_every: 0,
        anchors_within: false,
        clocks_kept: true,
        has_limit: true,
    },
    Variant {
        name: "cycles, anchors within regions",
        clock: Clock::Cycles,
        anchor_every: 0,
        anchors_within: true,
        clocks_kept: false,
        has_limit: true,
    },
    Variant {
        name: "globaltimer",
        clock: Clock::Timer,
        anchor_every: 0,
        anchors_within: false,
        clocks_kept: false,
        has_limit: true,
    },
];

/// How much of it is run.
#[derive(Clone, Copy, Debug)]
struct Amount {
    threads: u32,
    length_ns: u64,
    regions: u32,
    /// Cycles from one anchor within a region to the next.
    anchor_cycles: u32,
    /// When the load begins and when it ends.
    load_ns: [u64; 2],
    /// 16 bytes each; a power of two.
    lines: u32,
}

/// 100 ms alone, 400 ms under load, 200 ms alone; forty anchors or fewer within a region, as the clock falls
/// within some of them; 512 MiB, more than an L2 cache holds.
const FULL: Amount = Amount {
    threads: LOADED_THREADS,
    length_ns: 1_000_000,
    regions: 700,
    anchor_cycles: 50_000,
    load_ns: [100_000_000, 500_000_000],
    lines: 1 << 25,
};
const SMALL: Amount = Amount {
    threads: 96,
    length_ns: 8_000,
    regions: 14,
    anchor_cycles: 2_000,
    load_ns: [2_000, 2_128],
    lines: 1 << 10,
};

/// What a region is on all SMs.
#[derive(Clone, Copy, Debug)]
struct Moment {
    mhz: Summary,
    error_ns: Summary,
    begin_error_ns: Summary,
    /// The largest error of a length, as a part of it.
    part: f64,
}

impl Moment {
    /// Of the region of this index of each warp.
    fn of(warps: &[Vec<Found>], index: usize) -> Option<Self> {
        let found = || warps.iter().map(|regions| regions[index]);
        let part = found().map(|region| (region.error_ns / region.truth_ns).abs());
        Some(Self {
            mhz: Summary::of(found().map(|region| 1e3 * region.gigahertz))?,
            error_ns: Summary::of(found().map(|region| region.error_ns))?,
            begin_error_ns: Summary::of(found().map(|region| region.begin_error_ns))?,
            part: part.fold(0.0, f64::max),
        })
    }

    /// Notes where the lengths of region `index` are off by more than the variant allows.
    fn require(&self, variant: Variant, index: usize, report: &mut Report) {
        report.require(!variant.has_limit || self.part <= PART_MAX, || {
            format!(
                "{}, region {index}: its length in ns is {:.3} % off (limit {} %)",
                variant.name,
                self.part * 1e2,
                PART_MAX * 1e2
            )
        });
    }

    /// The columns of [`Moment::row`].
    const HEAD: [&str; 7] =
        ["region", "min MHz", "median", "max", "length off by ns", "off by %", "begin off by ns"];

    /// A row of a table.
    fn row(&self, index: usize) -> Vec<String> {
        let mut row = vec![index.to_string()];
        let mhz = self.mhz;
        row.extend([mhz.min, mhz.median, mhz.max].map(|mhz| format!("{mhz:.1}")));
        row.push(format!("{:.0}", self.error_ns.worst()));
        row.push(format!("{:.4}", self.part * 1e2));
        row.push(format!("{:.0}", self.begin_error_ns.worst()));
        row
    }
}

/// The largest errors of all regions.
#[derive(Clone, Copy, Debug)]
struct Worst {
    /// Of a length in nanoseconds, as a part of it.
    part: f64,
    /// Of lengths in ticks of the clock.
    ticks: Summary,
    begin_ns: f64,
}

impl Worst {
    fn of(moments: &[Moment], warps: &[Vec<Found>]) -> Option<Self> {
        let largest = |of: fn(&Moment) -> f64| moments.iter().map(of).fold(0.0, f64::max);
        Some(Self {
            part: largest(|moment| moment.part),
            ticks: Summary::of(warps.iter().flatten().map(|region| region.error_ticks))?,
            begin_ns: largest(|moment| moment.begin_error_ns.worst()),
        })
    }

    fn said(&self, variant: Variant) -> String {
        let limit = if variant.has_limit {
            format!("limit {} %", PART_MAX * 1e2)
        } else {
            "no limit".into()
        };
        let unit = if variant.clock == Clock::Cycles { "cycles" } else { "ns of the timer" };
        format!(
            "worst of all regions: length in ns {:.4} % off ({limit}), length in {unit} {:.0} off, \
             begin {:.0} ns off",
            self.part * 1e2,
            self.ticks.worst(),
            self.begin_ns
        )
    }
}

/// What the clock did: medians over the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    /// The highest before the lowest.
    high: f64,
    low: f64,
    /// The highest after the lowest.
    again: f64,
}

impl Course {
    fn of(mhz: &[f64]) -> Option<Self> {
        let (lowest, &low) =
            mhz.iter().enumerate().min_by(|left, right| left.1.total_cmp(right.1))?;
        let highest = |mhz: &[f64]| mhz.iter().copied().fold(low, f64::max);
        Some(Self { high: highest(&mhz[..lowest]), low, again: highest(&mhz[lowest..]) })
    }

    fn highest(&self) -> f64 {
        self.high.max(self.again)
    }

    /// Whether it changed by so much that a comparison of times means something.
    fn has_changed(&self) -> bool {
        self.low <= (1.0 - CHANGE_MIN) * self.highest()
    }

    fn said(&self) -> String {
        let Self { high, low, again } = self;
        if self.has_changed() {
            format!("the clock was at {high:.0} MHz, then at {low:.0}, then at {again:.0} again")
        } else {
            format!(
                "no change was provoked: the clock stayed within {low:.0} and {:.0} MHz, so that \
                 this says nothing of a clock that changes",
                self.highest()
            )
        }
    }
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let amount = run.pick(SMALL, FULL);
    let mut lines = run.backend.zeroed::<[u32; 4]>(amount.lines as usize)?;
    let lines_out = lines.as_mut_ptr().cast::<Line>();
    const FILLING_THREADS: u32 = 256;
    let grid = amount.lines.div_ceil(FILLING_THREADS);
    // SAFETY: so many lines are there, and buffers are aligned to 256 bytes.
    unsafe { launch!(run.backend, fill<<<grid, FILLING_THREADS>>>(lines_out, amount.lines)) }?;
    for variant in VARIANTS {
        let name = variant.name;
        let (trace, warps, load) =
            measure(run, &amount, variant, lines.as_ptr().cast(), Duration::ZERO)?;
        report.say(&format!("\n{name}"));
        report.diagnostics(name, &trace)?;
        let mut moments = Vec::new();
        for index in 0..amount.regions as usize {
            let moment = Moment::of(&warps, index).ok_or("the trace has no warps")?;
            report.line(
                "millisecond",
                json!({
                    "variant": name,
                    "millisecond": index,
                    "mhz": moment.mhz.json(),
                    "error_ns": moment.error_ns.json(),
                    "begin_error_ns": moment.begin_error_ns.json(),
                    "error_part": moment.part,
                }),
            )?;
            moment.require(variant, index, report);
            moments.push(moment);
        }
        let medians: Vec<f64> = moments.iter().map(|moment| moment.mhz.median).collect();
        let course = Course::of(&medians).ok_or("there are no regions")?;
        let worst = Worst::of(&moments, &warps).ok_or("the trace has no warps")?;
        report.line(
            "variant",
            json!({
                "variant": name,
                "has_changed": course.has_changed(),
                "mhz_high": course.high,
                "mhz_low": course.low,
                "mhz_again": course.again,
                "error_part": worst.part,
                "error_ticks": worst.ticks.json(),
                "begin_error_ns": worst.begin_ns,
                "anchors": trace.warps.iter().map(|warp| warp.anchors.len()).max(),
                "load_flops": load.flops,
                "load_bytes_per_second": load.bytes,
                "trace_mhz": trace.clock_mhz,
            }),
        )?;
        report.say(&course.said());
        if run.backend.is_gpu() {
            report.say(&format!(
                "load: {:.0} TFLOP/s, {:.2} TB/s read",
                load.flops / 1e12,
                load.bytes / 1e12
            ));
        }
        report.say(&worst.said(variant));
        match &trace.diagnostics.list[..] {
            [] => report.say("the trace has no diagnostics"),
            notes => notes.iter().for_each(|note| report.say(&format!("the trace says: {note}"))),
        }
        let rows: Vec<Vec<String>> = moments
            .iter()
            .enumerate()
            .step_by(moments.len().div_ceil(ROWS))
            .map(|(index, moment)| moment.row(index))
            .collect();
        report.table(&Moment::HEAD, &rows);
    }
    Ok(())
}

/// What the load did in a second.
#[derive(Clone, Copy, Debug)]
struct Load {
    flops: f64,
    bytes: f64,
}

/// One launch over all SMs after a pause; the regions of each block's first warp, and what the others did.
fn measure(
    run: &Run,
    amount: &Amount,
    variant: Variant,
    lines: *const Line,
    pause: Duration,
) -> Result<(Trace, Vec<Vec<Found>>, Load), Failure> {
    let (grid, threads, count) = (run.sm_count(), amount.threads, amount.regions);
    let [load_begin_ns, load_end_ns] = amount.load_ns;
    let anchor_every =
        if variant.anchors_within { amount.anchor_cycles } else { variant.anchor_every };
    let times = [amount.length_ns, load_begin_ns, load_end_ns];
    const _: () = assert!(TIME_WORDS == 3);
    let backend: &Backend = &run.backend;
    let times = backend.upload(&times)?;
    let mut readings = backend.zeroed::<u64>((grid * count) as usize * READING_WORDS)?;
    let mut work = backend.zeroed::<[u64; 2]>((grid * threads) as usize)?;
    let (times, readings_out, work_out) =
        (times.as_ptr(), readings.as_mut_ptr(), work.as_mut_ptr());
    let profiler = Profiler::builder()
        .warps(0..1)
        // A region, an anchor before it, and up to forty within it, of two words each.
        .records_per_warp(48 * (count + 2))
        .for_grid(grid, threads, 1)
        .build()?;
    let mut session = backend.session(&profiler)?;
    // After the session, which runs a kernel of its own when it begins.
    std::thread::sleep(pause);
    if variant.clocks_kept {
        session.keep_clocks(KEPT)?;
    }
    macro_rules! launched {
        ($kernel:ident) => {
            // SAFETY: three times are there, so many readings for each block, lines as the caller says, and
            // a pair for each thread.
            unsafe {
                launch!(
                    session,
                    $kernel<<<grid, threads>>>(
                        times,
                        count,
                        anchor_every,
                        readings_out,
                        lines,
                        amount.lines,
                        work_out
                    )
                )
            }
        };
    }
    match (variant.clock, variant.anchors_within) {
        (Clock::Cycles, false) => launched!(loaded_cycles),
        (Clock::Cycles, true) => launched!(loaded_anchored),
        (Clock::Timer, _) => launched!(loaded_timer),
    }?;
    let trace = session.finish()?;
    let warps = evaluate(&trace, variant.clock, &readings.read()?, count as usize)?;
    let load = load(&work.read()?, threads as usize, (load_end_ns - load_begin_ns) as f64 / 1e9)?;
    Ok((trace, warps, load))
}

/// What the load did, by what its threads say: rounds, and what came out.
fn load(work: &[[u64; 2]], threads: usize, seconds: f64) -> Result<Load, Failure> {
    let (mut flops, mut bytes) = (0, 0);
    for block in work.chunks(threads) {
        let mut of_warps = block.chunks(32).map(|warp| warp[0][0]);
        // The first one is measured; half of the others multiply.
        of_warps.next();
        let multiplying = (threads / 32 - 1) / 2;
        flops += of_warps.by_ref().take(multiplying).sum::<u64>() * ROUND_FLOPS;
        bytes += of_warps.sum::<u64>() * ROUND_BYTES;
        let mut sums = block[32..].iter().take(multiplying * 32);
        if !sums.all(|&[rounds, sum]| rounds > 0 && f32::from_bits(sum as u32).is_finite()) {
            return Err("a thread of the load did nothing, or its sum is not finite".into());
        }
    }
    Ok(Load { flops: flops as f64 / seconds, bytes: bytes as f64 / seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_falls_and_rises() {
        let course = Course::of(&[1980.0, 1980.0, 1700.0, 1400.0, 1500.0, 1965.0, 1950.0]);
        let course = course.expect("there are some");
        assert_eq!(course, Course { high: 1980.0, low: 1400.0, again: 1965.0 });
        assert!(course.has_changed());
        let said = course.said();
        assert_eq!(said, "the clock was at 1980 MHz, then at 1400, then at 1965 again");
        let rises = Course::of(&[1200.0, 1980.0, 1980.0]).expect("there are some");
        assert!(rises.has_changed(), "{rises:?}");
    }

    #[test]
    fn a_clock_that_stays_is_said_to_stay() {
        for mhz in [[1980.0, 1900.0, 1980.0], [1890.0, 1980.0, 1980.0], [1980.0; 3]] {
            let course = Course::of(&mhz).expect("there are some");
            assert!(!course.has_changed(), "{course:?}");
            assert!(course.said().starts_with("no change was provoked"), "{}", course.said());
        }
        assert_eq!(Course::of(&[]), None);
    }

    #[test]
    fn the_load_is_what_its_warps_did() {
        let of_warps = [[0, 0], [3, 0], [5, 7]];
        let work: Vec<[u64; 2]> = of_warps.iter().flat_map(|&pair| [pair; 32]).collect();
        let load_of = |work: &[[u64; 2]]| load(work, 96, 0.5);
        let found = load_of(&work).expect("all did something");
        assert_eq!(found.flops, 2.0 * (3 * ROUND_FLOPS) as f64);
        assert_eq!(found.bytes, 2.0 * (5 * ROUND_BYTES) as f64);
        let mut idle = work.clone();
        idle[40][0] = 0;
        assert!(load_of(&idle).is_err());
        let mut infinite = work;
        infinite[40][1] = u64::from(f32::INFINITY.to_bits());
        assert!(load_of(&infinite).is_err());
    }
}
