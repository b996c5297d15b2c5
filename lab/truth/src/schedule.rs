//! Regions at known times of long kernels.

use std::time::Duration;

use profiler_host::trace::{Time, Warp};
use profiler_host::{Profiler, Trace, launch};
use serde_json::json;
use truth_kernels::{READING_WORDS, STEP_WORDS, scheduled_cycles, scheduled_timer};

use crate::{Failure, Report, Run, Summary};

/// One warp to a block, one block to an SM.
const BLOCK: u32 = 32;
/// For how long clocks are kept: longer than a launch takes.
const KEPT: Duration = Duration::from_secs(15);
/// The step of `%globaltimer`.
const STEP_NS: f64 = 32.0;
/// By how much a length may be wrong, whatever it is: what two readings and their stamps take in cycles, and
/// a step of the timer at either end.
const CYCLES_MAX: f64 = 32.0;
const TIMER_NS_MAX: f64 = 2.0 * STEP_NS;
/// How far a begin or an end may lie from where `%globaltimer` says.
const POSITION_NS_MAX: f64 = 64.0;

/// When a region begins, in nanoseconds since its warp entered the kernel, and how long it lasts.
type Step = (u64, u64);

/// A region "step" as recorded, and as the kernel read its clocks in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// Recorded length less the length by the clock of the records, in its ticks.
    pub(crate) error_ticks: f64,
    /// Recorded length less the length by `%globaltimer`, in nanoseconds.
    pub(crate) error_ns: f64,
    pub(crate) truth_ns: f64,
    /// Begin and end less the middle of the step that `%globaltimer` shows there.
    pub(crate) begin_error_ns: f64,
    end_error_ns: f64,
    /// Cycles of the SM in a nanosecond, by the kernel's own readings.
    pub(crate) gigahertz: f64,
}

/// The clock of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Cycles,
    Timer,
}

/// A kernel of more than nine seconds: fifty regions of 20 ms, 20 ms apart; 2.4 s without a record, in which
/// the lower 32 bits of the cycles wrap; and a region of 5 s, in which those of `%globaltimer` wrap.
pub(crate) fn long(run: &Run, report: &mut Report) -> Result<(), Failure> {
    const MS: u64 = 1_000_000;
    let unit = run.pick(MS / 10_000, MS);
    let mut steps: Vec<Step> = (0..50).map(|step| (40 * unit * step, 20 * unit)).collect();
    steps.push((4_400 * unit, 5_000 * unit));
    let mut rows = Vec::new();
    for (clock_name, clock, anchors) in [
        ("cycles", Clock::Cycles, true),
        ("cycles, clocks kept", Clock::Cycles, false),
        ("timer", Clock::Timer, true),
    ] {
        let (trace, readings) = measure(run, clock, &steps, anchors)?;
        report.diagnostics(clock_name, &trace)?;
        let warps = evaluate(&trace, clock, &readings, steps.len())?;
        for (index, &(begin_ns, length_ns)) in steps.iter().enumerate() {
            let found = || warps.iter().map(|steps| steps[index]);
            let none = || "the trace has no warps";
            let ticks = Summary::of(found().map(|step| step.error_ticks)).ok_or_else(none)?;
            let length = Summary::of(found().map(|step| step.error_ns)).ok_or_else(none)?;
            let begin = Summary::of(found().map(|step| step.begin_error_ns)).ok_or_else(none)?;
            let end = Summary::of(found().map(|step| step.end_error_ns)).ok_or_else(none)?;
            report.line(
                "step",
                json!({
                    "clock": clock_name,
                    "begin_ns": begin_ns,
                    "length_ns": length_ns,
                    "error_ticks": ticks.json(),
                    "error_ns": length.json(),
                    "begin_error_ns": begin.json(),
                    "end_error_ns": end.json(),
                }),
            )?;
            let place = format!("{clock_name}, region at {:.1} ms", begin_ns as f64 / 1e6);
            let limit = if clock == Clock::Cycles { CYCLES_MAX } else { TIMER_NS_MAX };
            report.require(ticks.worst() <= limit, || {
                format!("{place}: its length is {:.0} ticks off (limit {limit:.0})", ticks.worst())
            });
            for (what, error) in [("begin", begin), ("end", end)] {
                report.require(error.worst() <= POSITION_NS_MAX, || {
                    format!(
                        "{place}: its {what} lies {:.0} ns from where globaltimer says (limit \
                         {POSITION_NS_MAX})",
                        error.worst()
                    )
                });
            }
            if index % 10 == 0 {
                let mut row = vec![clock_name.to_owned()];
                row.push(format!("{:.1}", begin_ns as f64 / 1e6));
                row.push(format!("{:.1}", length_ns as f64 / 1e6));
                row.extend(
                    [ticks, length, begin, end].map(|error| format!("{:.0}", error.worst())),
                );
                rows.push(row);
            }
        }
    }
    report.say("worst of all warps; every tenth region");
    report.table(
        &[
            "clock",
            "at ms",
            "length ms",
            "off by ticks",
            "off by ns",
            "begin off by ns",
            "end off by ns",
        ],
        &rows,
    );
    Ok(())
}

/// One launch over all SMs, with `profile_anchor!` around each step, or with clocks kept beside it; the trace
/// and what the warps read.
fn measure(
    run: &Run,
    clock: Clock,
    steps: &[Step],
    anchors: bool,
) -> Result<(Trace, Vec<u64>), Failure> {
    let grid = run.sm_count();
    let count = steps.len() as u32;
    let words: Vec<u64> = steps.iter().flat_map(|&(begin, length)| [begin, length]).collect();
    debug_assert_eq!(words.len(), steps.len() * STEP_WORDS);
    let steps = run.backend.upload(&words)?;
    let mut readings = run.backend.zeroed::<u64>(grid as usize * count as usize * READING_WORDS)?;
    let (steps, readings_out) = (steps.as_ptr(), readings.as_mut_ptr());
    let profiler =
        Profiler::builder().records_per_warp(6 * (count + 2)).for_grid(grid, BLOCK, 1).build()?;
    let mut session = run.backend.session(&profiler)?;
    if !anchors {
        session.keep_clocks(KEPT)?;
    }
    let anchors = u32::from(anchors);
    // SAFETY: the steps are there, and so many readings for each of the warps.
    unsafe {
        match clock {
            Clock::Cycles => {
                launch!(
                    session,
                    scheduled_cycles<<<grid, BLOCK>>>(steps, count, readings_out, anchors)
                )
            }
            Clock::Timer => {
                launch!(
                    session,
                    scheduled_timer<<<grid, BLOCK>>>(steps, count, readings_out, anchors)
                )
            }
        }
    }?;
    Ok((session.finish()?, readings.read()?))
}

/// The steps of each warp; one warp of each block records.
pub(crate) fn evaluate(
    trace: &Trace,
    clock: Clock,
    readings: &[u64],
    count: usize,
) -> Result<Vec<Vec<Found>>, Failure> {
    if trace.lost() > 0 || trace.warps.len() * count * READING_WORDS != readings.len() {
        return Err(format!(
            "{} records lost, {} warps in the trace of {}",
            trace.lost(),
            trace.warps.len(),
            readings.len() / READING_WORDS / count
        )
        .into());
    }
    trace
        .warps
        .iter()
        .map(|warp| {
            let first = warp.block[0] as usize * count * READING_WORDS;
            let readings = &readings[first..first + count * READING_WORDS];
            steps_of(trace, warp, clock, readings)
        })
        .collect()
}

fn steps_of(
    trace: &Trace,
    warp: &Warp,
    clock: Clock,
    readings: &[u64],
) -> Result<Vec<Found>, Failure> {
    let steps = warp.regions.iter().filter(|region| trace.site(region.site).name == "step");
    let steps: Vec<_> = steps.collect();
    let readings: Vec<&[u64]> = readings.chunks(READING_WORDS).collect();
    if steps.len() != readings.len() {
        return Err(format!(
            "block {} has {} regions \"step\", not {}",
            warp.block[0],
            steps.len(),
            readings.len()
        )
        .into());
    }
    steps
        .iter()
        .zip(readings)
        .map(|(step, reading)| {
            let end = step.end.ok_or("a region \"step\" has no end")?;
            let reading = reading.try_into().map_err(|_| "a reading is not of four numbers")?;
            Ok(Found::of(clock, [step.start, end], reading, trace.origin_ns))
        })
        .collect()
}

impl Found {
    /// Of a region's begin and end, and of what the kernel read in it.
    fn of(
        clock: Clock,
        [begin, end]: [Time; 2],
        [timer_begin, clock_begin, clock_end, timer_end]: [u64; READING_WORDS],
        origin_ns: u64,
    ) -> Self {
        let truth_ns = timer_end.wrapping_sub(timer_begin) as f64;
        let cycles = clock_end.wrapping_sub(clock_begin) as f64;
        let truth_ticks = if clock == Clock::Cycles { cycles } else { truth_ns };
        // A reading begins the step in which the moment lies; so does a stamp of the timer, but one
        // of the cycles is mapped to the moment itself.
        let within_step = if clock == Clock::Cycles { STEP_NS / 2.0 } else { 0.0 };
        let shown = |timer: u64| timer.wrapping_sub(origin_ns).cast_signed() as f64 + within_step;
        Self {
            error_ticks: end.ticks.saturating_sub(begin.ticks) as f64 - truth_ticks,
            error_ns: end.ns - begin.ns - truth_ns,
            truth_ns,
            begin_error_ns: begin.ns - shown(timer_begin),
            end_error_ns: end.ns - shown(timer_end),
            gigahertz: cycles / truth_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: u64 = 1 << 60;

    #[test]
    fn a_region_by_cycles_lies_in_the_middle_of_the_steps() {
        let times = [Time { ticks: 990, ns: 180.0 }, Time { ticks: 3010, ns: 1210.0 }];
        let readings = [ORIGIN + 160, 1000, 3000, ORIGIN + 1184];
        let found = Found::of(Clock::Cycles, times, readings, ORIGIN);
        assert_eq!(found.error_ticks, 20.0);
        assert_eq!((found.truth_ns, found.error_ns), (1024.0, 6.0));
        assert_eq!((found.begin_error_ns, found.end_error_ns), (4.0, 10.0));
        assert_eq!(found.gigahertz, 2000.0 / 1024.0);
    }

    #[test]
    fn a_region_by_the_timer_lies_at_the_begins_of_the_steps() {
        let (begin, end) = (ORIGIN + 128, ORIGIN + 1184);
        let times = [Time { ticks: begin, ns: 128.0 }, Time { ticks: end, ns: 1184.0 }];
        let readings = [ORIGIN + 160, 5, 1905, ORIGIN + 1184];
        let found = Found::of(Clock::Timer, times, readings, ORIGIN);
        assert_eq!(found.error_ticks, 32.0);
        assert_eq!((found.begin_error_ns, found.end_error_ns), (-32.0, 0.0));
    }

    #[test]
    fn a_moment_before_the_origin_is_negative() {
        let times = [Time { ticks: 0, ns: 0.0 }, Time { ticks: 2000, ns: 1000.0 }];
        let readings = [ORIGIN - 32, 0, 2000, ORIGIN + 992];
        let found = Found::of(Clock::Cycles, times, readings, ORIGIN);
        assert_eq!((found.begin_error_ns, found.end_error_ns), (16.0, -8.0));
    }
}
