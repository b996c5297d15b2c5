//! Regions from the begin of a kernel on, before which the GPU was idle: its clock may have fallen, and
//! may rise under them.

use std::time::Duration;

use serde_json::json;
use truth_kernels::Line;

use super::{Amount, CHANGE_MIN, Course, Moment, VARIANTS, Variant, Worst, measure};
use crate::{Failure, Report, Run};

/// How long a GPU is left idle, if the command line does not say.
pub(crate) const IDLE: Duration = Duration::from_secs(12);
/// Both clocks are recorded before each region.
const VARIANT: Variant = VARIANTS[0];
/// One warp on each SM for 0.4 s: a clock that may rise needs no load, and the regions begin with the
/// kernel.
const FULL: Amount = Amount {
    threads: 32,
    length_ns: 100_000,
    regions: 4000,
    anchor_cycles: 0,
    load_ns: NO_LOAD,
    lines: 1,
};
const SMALL: Amount = Amount { length_ns: 8_000, regions: 14, ..FULL };
/// There are no warps that could be the load.
const NO_LOAD: [u64; 2] = [0, 1];

/// What the clock did from the kernel's first region on: medians over the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rise {
    first: f64,
    /// Lowest and highest.
    course: Course,
    /// The first region in which it was nearly as high as it ever was.
    reached: usize,
}

impl Rise {
    fn of(mhz: &[f64]) -> Option<Self> {
        let course = Course::of(mhz)?;
        let enough = (1.0 - CHANGE_MIN) * course.highest();
        let reached = mhz.iter().position(|&mhz| mhz >= enough)?;
        Some(Self { first: *mhz.first()?, course, reached })
    }

    fn said(&self, length_ns: u64) -> String {
        let Self { first, course, reached } = self;
        if !course.has_changed() {
            return course.said();
        }
        format!(
            "the clock was at {first:.0} MHz in the first region and between {:.0} and {:.0} in all, \
             and came within {:.0} % of its highest in region {reached}, {:.1} ms after the first",
            course.low,
            course.highest(),
            CHANGE_MIN * 1e2,
            *reached as f64 * length_ns as f64 / 1e6
        )
    }
}

/// The rows of a table of so many regions: the first ones, and then ever fewer.
fn rows(count: usize) -> impl Iterator<Item = usize> {
    let decades = (0..).map(|decade| 10_usize.saturating_pow(decade));
    let steps = decades.flat_map(|unit| [1, 2, 5].map(|step| unit.saturating_mul(step)));
    std::iter::once(0).chain(steps).take_while(move |&row| row < count)
}

pub(crate) fn boost(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let amount = run.pick(SMALL, FULL);
    let lines = run.backend.zeroed::<[u32; 4]>(amount.lines as usize)?;
    let (trace, warps, _) =
        measure(run, &amount, VARIANT, lines.as_ptr().cast::<Line>(), run.idle)?;
    report.diagnostics(VARIANT.name, &trace)?;
    let mut moments = Vec::new();
    for index in 0..amount.regions as usize {
        let moment = Moment::of(&warps, index).ok_or("the trace has no warps")?;
        report.line(
            "region",
            json!({
                "since_ns": index as u64 * amount.length_ns,
                "mhz": moment.mhz.median,
                "error_part": moment.part,
                "begin_error_ns": moment.begin_error_ns.worst(),
            }),
        )?;
        moment.require(VARIANT, index, report);
        moments.push(moment);
    }
    let medians: Vec<f64> = moments.iter().map(|moment| moment.mhz.median).collect();
    let rise = Rise::of(&medians).ok_or("there are no regions")?;
    let worst = Worst::of(&moments, &warps).ok_or("the trace has no warps")?;
    report.line(
        "boost",
        json!({
            "idle_seconds": run.idle.as_secs_f64(),
            "has_changed": rise.course.has_changed(),
            "mhz_first": rise.first,
            "mhz_low": rise.course.low,
            "mhz_high": rise.course.highest(),
            "reached": rise.reached,
            "error_part": worst.part,
            "error_ticks": worst.ticks.json(),
            "begin_error_ns": worst.begin_ns,
            "trace_mhz": trace.clock_mhz,
        }),
    )?;
    report.say(&format!(
        "idle for {:.0} s, then regions of {:.0} µs: {}",
        run.idle.as_secs_f64(),
        amount.length_ns as f64 / 1e3,
        rise.said(amount.length_ns)
    ));
    report.say(&worst.said(VARIANT));
    let rows: Vec<_> = rows(moments.len()).map(|index| moments[index].row(index)).collect();
    report.table(&Moment::HEAD, &rows);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_rises() {
        let rise =
            Rise::of(&[345.0, 345.0, 900.0, 1890.0, 1980.0, 1965.0]).expect("there are some");
        assert_eq!((rise.first, rise.reached, rise.course.highest()), (345.0, 3, 1980.0));
        assert_eq!(
            rise.said(100_000),
            "the clock was at 345 MHz in the first region and between 345 and 1980 in all, and came \
             within 5 % of its highest in region 3, 0.3 ms after the first"
        );
        let falls = Rise::of(&[1980.0, 1200.0]).expect("there are some");
        assert!(
            falls.said(1).contains("at 1980 MHz in the first region and between 1200 and 1980")
        );
        assert_eq!(Rise::of(&[]), None);
    }

    #[test]
    fn a_clock_that_was_not_idle_is_said_to_stay() {
        let rise = Rise::of(&[1965.0, 1980.0, 1980.0]).expect("there are some");
        assert_eq!(rise.reached, 0);
        let said = rise.said(100_000);
        assert!(
            said.starts_with("no change was provoked: the clock stayed within 1965 and"),
            "{said}"
        );
    }

    #[test]
    fn early_regions_have_rows() {
        assert_eq!(rows(14).collect::<Vec<_>>(), [0, 1, 2, 5, 10]);
        assert_eq!(rows(4000).last(), Some(2000));
        assert_eq!(rows(0).count(), 0);
    }
}
