//! Moments that all SMs see together, against the marks that they leave.

use std::time::Duration;

use profiler_host::{Profiler, Trace, launch};
use serde_json::json;
use truth_kernels::{EXPIRED, SYNC_WORDS, releases};

use crate::{Failure, Report, Run, Summary};

/// Threads of a block, of which each SM has one.
const BLOCK: u32 = 128;
/// Two steps of `%globaltimer`: within so many nanoseconds the marks of one moment must lie.
const AGREEMENT_NS_MAX: f64 = 64.0;
/// The step of `%globaltimer`.
const STEP_NS: f64 = 32.0;
/// How early and how late a mark may lie: a step for the map, and two more for the turn in which the warp
/// sees the moment and what it does until it marks.
const EARLY_NS_MAX: f64 = STEP_NS;
const LATE_NS_MAX: f64 = 3.0 * STEP_NS;

/// When both clocks are read, besides entry and exit of the warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchors {
    Never,
    /// By the session, beside the kernel.
    Kept,
    AtReleases,
    /// Each time that so many cycles have passed.
    Every(u32),
}

impl Anchors {
    /// As tables and lines have it.
    fn text(self) -> String {
        match self {
            Self::Never => "none".into(),
            Self::Kept => "none, clocks kept".into(),
            Self::AtReleases => "each release".into(),
            Self::Every(cycles) => format!("every {cycles} cycles"),
        }
    }
}

/// What the marks of one release show, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// From the first entry into the kernel to the first mark.
    since_entry: f64,
    /// To the nearest entry or exit of a warp; of all warps the farthest.
    to_anchor: f64,
    /// Of the marks, as mapped.
    mapped_spread: f64,
    /// Of the readings of `%globaltimer` next to the marks.
    timer_spread: f64,
    /// Mark less the moment that the timer showed next to it, which is the begin of a step.
    lag: Summary,
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let lengths_ns = run.pick(&[20_000][..], &[1_000_000_u64, 10_000_000, 100_000_000][..]);
    let count = run.pick(3, 24_u32);
    let every = Anchors::Every(run.pick(2_000, 200_000));
    let mut rows = Vec::new();
    let kernels = lengths_ns.iter().flat_map(|&length| {
        [Anchors::Never, Anchors::Kept, Anchors::AtReleases, every].map(|anchors| (length, anchors))
    });
    for (length_ns, anchors) in kernels {
        let found = measure(run, report, count, length_ns, anchors)?;
        for (index, release) in found.iter().enumerate() {
            let milliseconds = length_ns as f64 / 1e6;
            let place = format!("kernel of {milliseconds} ms, release {}", index + 1);
            report.line(
                "release",
                json!({
                    "kernel_ns": length_ns,
                    "anchors": anchors.text(),
                    "release": index + 1,
                    "since_entry_ns": release.since_entry,
                    "to_entry_or_exit_ns": release.to_anchor,
                    "mapped_spread_ns": release.mapped_spread,
                    "timer_spread_ns": release.timer_spread,
                    "lag_ns": release.lag.json(),
                }),
            )?;
            // Between a warp's entry and exit the map can be no better than the SM's clock is
            // steady, so that what it shows there is told and not judged.
            for broken in release.broken().into_iter().filter(|_| anchors != Anchors::Never) {
                report.broken(format!("{place}: {broken}"));
            }
            rows.push(vec![
                format!("{milliseconds} ms, {}", index + 1),
                anchors.text(),
                format!("{:.3}", release.since_entry / 1e6),
                format!("{:.3}", release.to_anchor / 1e6),
                format!("{:.0}", release.mapped_spread),
                format!("{:.0}", release.timer_spread),
                format!("{:+.0}", release.lag.min),
                format!("{:+.0}", release.lag.median),
                format!("{:+.0}", release.lag.max),
            ]);
        }
    }
    report.say(
        "lag = mark - the moment of the release, as globaltimer showed it; entry or exit = how far away the \
         nearest one is",
    );
    report.table(
        &[
            "kernel, release",
            "profile_anchor",
            "at ms",
            "entry or exit, ms",
            "marks spread ns",
            "timer spread ns",
            "lag min ns",
            "median",
            "max",
        ],
        &rows,
    );
    Ok(())
}

/// One launch of `count` releases, spread over `length_ns`.
fn measure(
    run: &Run,
    report: &mut Report,
    count: u32,
    length_ns: u64,
    anchors: Anchors,
) -> Result<Vec<Release>, Failure> {
    let grid = run.sm_count();
    let warps = (grid * BLOCK / 32) as usize;
    let anchor_cycles = if let Anchors::Every(cycles) = anchors { cycles } else { 0 };
    // The clock has fewer than four cycles in a nanosecond.
    let now_and_then = (4 * length_ns).checked_div(u64::from(anchor_cycles)).unwrap_or(0);
    let profiler = Profiler::builder()
        .records_per_warp(4 * (count + 1) + 4 * count + 2 * u32::try_from(now_and_then)?)
        .for_grid(grid, BLOCK, 1)
        .build()?;
    let mut timers = run.backend.zeroed::<u64>(count as usize * warps)?;
    let mut sync = run.backend.zeroed::<u32>(SYNC_WORDS)?;
    let (timers_out, sync_out) = (timers.as_mut_ptr(), sync.as_mut_ptr());
    let interval_ns = length_ns / u64::from(count + 1);
    let limit_ns = 2 * length_ns + 1_000_000_000;
    let mut session = run.backend.session(&profiler)?;
    if anchors == Anchors::Kept {
        session.keep_clocks(Duration::from_nanos(2 * length_ns))?;
    }
    // SAFETY: one number a warp and release; the numbers for synchronisation are zeros; one block to
    // an SM fits a GPU that runs nothing else, and where it does not, the limit ends the kernel.
    unsafe {
        launch!(
            session,
            releases<<<grid, BLOCK>>>(
                timers_out,
                sync_out,
                count,
                interval_ns,
                limit_ns,
                u32::from(anchors == Anchors::AtReleases),
                anchor_cycles
            )
        )
    }?;
    session.stop_clocks()?;
    let trace = session.finish()?;
    let expired = sync.read()?[EXPIRED];
    if expired > 0 {
        return Err(format!(
            "{expired} of {warps} warps waited longer than {} s for a release; run it on a GPU that \
             holds one block on each of its {grid} SMs at once",
            limit_ns / 1_000_000_000
        )
        .into());
    }
    report.diagnostics(&format!("kernel of {} ms", length_ns as f64 / 1e6), &trace)?;
    evaluate(&trace, &timers.read()?, count, warps)
}

/// Compares marks with readings; `timers` is `[release * warps + warp]`.
fn evaluate(
    trace: &Trace,
    timers: &[u64],
    count: u32,
    warps: usize,
) -> Result<Vec<Release>, Failure> {
    if trace.lost() > 0 || trace.warps.len() != warps {
        return Err(format!(
            "{} records lost, {} of {warps} warps in the trace",
            trace.lost(),
            trace.warps.len()
        )
        .into());
    }
    let entry = trace.launches.first().map_or(0.0, |launch| launch.start_ns);
    let mut found = Vec::new();
    for release in 0..count as usize {
        let mut samples = Vec::new();
        for warp in &trace.warps {
            let index = warp.block[0] as usize * (BLOCK as usize / 32) + warp.warp as usize;
            let mark = warp.marks.get(release).filter(|_| warp.marks.len() == count as usize);
            let value = mark.and_then(|mark| mark.value).map_or(0.0, |value| value.as_f64());
            let Some(mark) = mark.filter(|_| value as usize == release + 1) else {
                return Err(format!(
                    "warp {} of block {} has {} marks, and as number {} one of value {value}",
                    warp.warp,
                    warp.block[0],
                    warp.marks.len(),
                    release + 1
                )
                .into());
            };
            let reading = timers[release * warps + index].wrapping_sub(trace.origin_ns);
            let exit = warp.exit.map_or(f64::INFINITY, |exit| exit.ns);
            samples.push(Sample {
                mark: mark.time.ns,
                reading: reading.cast_signed() as f64,
                to_anchor: (mark.time.ns - warp.entry.ns).min(exit - mark.time.ns),
            });
        }
        found.push(Release::of(&samples, entry).ok_or("the trace has no warps")?);
    }
    Ok(found)
}

/// What one warp shows of a release, in nanoseconds of the trace.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// The mark, as mapped.
    mark: f64,
    /// `%globaltimer`, read next to it.
    reading: f64,
    /// From the mark to the nearest entry or exit of the warp.
    to_anchor: f64,
}

impl Release {
    /// Of all warps; `entry` is the first entry. `None` of no warps.
    fn of(samples: &[Sample], entry: f64) -> Option<Self> {
        let marks = Summary::of(samples.iter().map(|sample| sample.mark))?;
        let readings = Summary::of(samples.iter().map(|sample| sample.reading))?;
        let lag = |sample: &Sample| sample.mark - sample.reading;
        Some(Self {
            since_entry: marks.min - entry,
            to_anchor: samples.iter().map(|sample| sample.to_anchor).fold(0.0, f64::max),
            mapped_spread: marks.spread(),
            timer_spread: readings.spread(),
            lag: Summary::of(samples.iter().map(lag))?,
        })
    }

    /// What is wrong with it.
    fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        if self.mapped_spread > AGREEMENT_NS_MAX {
            broken.push(format!(
                "the marks lie {:.0} ns apart (limit {AGREEMENT_NS_MAX}), the readings of globaltimer \
                 {:.0} ns",
                self.mapped_spread, self.timer_spread
            ));
        }
        if self.lag.min < -EARLY_NS_MAX || self.lag.max > LATE_NS_MAX {
            broken.push(format!(
                "marks lie {:+.0} to {:+.0} ns from what globaltimer showed (limits -{EARLY_NS_MAX} and \
                 +{LATE_NS_MAX})",
                self.lag.min, self.lag.max
            ));
        }
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mark: f64, reading: f64) -> Sample {
        Sample { mark, reading, to_anchor: mark - 1000.0 }
    }

    #[test]
    fn a_release_that_comes_late_to_some_is_told_from_an_error_of_the_map() {
        let samples = [sample(5000.0, 4992.0), sample(5900.0, 5888.0)];
        let release = Release::of(&samples, 1000.0).expect("two warps");
        assert_eq!((release.mapped_spread, release.timer_spread), (900.0, 896.0));
        assert_eq!((release.lag.min, release.lag.max), (8.0, 12.0));
        assert_eq!((release.since_entry, release.to_anchor), (4000.0, 4900.0));
        let broken = release.broken();
        assert_eq!(
            broken,
            ["the marks lie 900 ns apart (limit 64), the readings of globaltimer 896 ns"]
        );
        let samples = [sample(5000.0, 4992.0), sample(5060.0, 5024.0)];
        assert_eq!(Release::of(&samples, 1000.0).expect("two warps").broken(), [""; 0]);
    }

    #[test]
    fn a_wrong_map_breaks_both_limits() {
        let samples = [sample(5000.0, 4992.0), sample(5097.0, 4992.0)];
        let broken = Release::of(&samples, 1000.0).expect("two warps").broken();
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(
            broken[0].contains("97 ns apart") && broken[1].contains("+8 to +105 ns from"),
            "{broken:?}"
        );
    }

    #[test]
    fn a_map_that_is_wrong_for_all_breaks_the_limit_of_one_warp() {
        let samples = [sample(5100.0, 4992.0), sample(5100.0, 4992.0)];
        let broken = Release::of(&samples, 1000.0).expect("two warps").broken();
        assert_eq!(broken.len(), 1, "{broken:?}");
    }
}
