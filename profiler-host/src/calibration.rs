//! What recording costs, told from the trace of the kernel that every profiled module carries for
//! it ([`profiler_wire::symbol::CALIBRATION`]).
//!
//! The kernel's outer regions hold different numbers of records back to back, and nothing else that
//! depends on that number. A record in them then lasts as long as recording makes any region too
//! long, and each one lengthens the outer region by what recording costs in all: the slope of the
//! outer durations over the number of records.

use std::collections::BTreeMap;

use profiler_trace::{FormCosts, Mark, RecordCost, Region, StampCost, Trace, Warp};
use profiler_wire::symbol::{CALIBRATION_COUNTS, CALIBRATION_ELECTIONS, CALIBRATION_FORMS};

/// How often the calibration kernel repeats its regions: enough for a median that a few cache
/// misses and interruptions do not move.
pub(crate) const ROUNDS: u32 = 128;
/// Units of a record of each of [`CALIBRATION_FORMS`].
const UNITS_OF_FORM: [u32; CALIBRATION_FORMS.len()] = [1, 2, 2, 1, 1];
/// Units of a round.
const UNITS_OF_ROUND: u32 = {
    let (mut units, mut form) = (0, 0);
    while form < UNITS_OF_FORM.len() {
        let mut count = 0;
        while count < CALIBRATION_COUNTS.len() {
            units += 1 + CALIBRATION_COUNTS[count] * UNITS_OF_FORM[form];
            count += 1;
        }
        form += 1;
    }
    units * CALIBRATION_ELECTIONS.len() as u32
};
/// Words that a calibration run records.
pub(crate) const WORDS: u32 = ROUNDS * UNITS_OF_ROUND * 2;

/// Why a trace does not tell the cost of a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// Regions of the calibration kernel are missing.
    #[error(
        "the trace has no complete region \"{0}\", so it is not that of the calibration kernel, or \
         its room was too small"
    )]
    NoRegion(String),
    /// The trace was changed before.
    #[error("the cost of records was already subtracted from this trace; calibrate on one as read")]
    AlreadySubtracted,
    /// Records are missing.
    #[error("{0} records of the calibration run were lost; give its session more room")]
    Lost(u64),
    /// The measurement makes no sense.
    #[error("the measurement gave a cost of {0} ticks a record; repeat it on an idle GPU")]
    Implausible(f64),
}

/// What records cost on the device that made the trace, in ticks of its record clock, as
/// [`RecordCost`] describes.
///
/// # Errors
///
/// [`CalibrationError`], where the trace is not that of a whole calibration run.
pub fn record_cost(trace: &Trace) -> Result<RecordCost, CalibrationError> {
    if trace.cost_subtracted {
        return Err(CalibrationError::AlreadySubtracted);
    }
    let lost = trace.warps.iter().map(|warp| warp.lost).sum();
    if lost > 0 {
        return Err(CalibrationError::Lost(lost));
    }
    let [one_lane, elected] = CALIBRATION_ELECTIONS;
    Ok(RecordCost { one_lane: costs(trace, one_lane)?, elected: costs(trace, elected)? })
}

/// What each form costs where the lane is chosen so.
fn costs(trace: &Trace, election: &str) -> Result<FormCosts, CalibrationError> {
    let [region, token, value, mark, anchor] = CALIBRATION_FORMS;
    // What passes behind the begin of the regions around, as they are regions of one record.
    let begin = inside(trace, election, region)?;
    let pair = |form: &str| {
        let inside = inside(trace, election, form)?;
        let before = ahead(trace, election, form, begin)?;
        let after = total(trace, election, form)? - before - inside;
        let begin = StampCost { before_ticks: before, after_ticks: inside };
        Ok((begin, StampCost::after(after.max(0.0))))
    };
    let (region_begin, region_end) = pair(region)?;
    let (token_begin, token_end) = pair(token)?;
    let single = |form: &str| {
        let total = total(trace, election, form)?;
        let before =
            if form == mark { ahead(trace, election, form, begin)?.min(total) } else { 0.0 };
        Ok(StampCost { before_ticks: before, after_ticks: total - before })
    };
    let plain = total(trace, election, region)?;
    let beyond = (total(trace, election, value)? - plain).max(0.0);
    Ok(FormCosts {
        region_begin,
        region_end,
        token_begin,
        token_end,
        mark: single(mark)?,
        value: StampCost::after(beyond),
        anchor: single(anchor)?,
    })
}

/// What a record lengthens the region around it by.
fn total(trace: &Trace, election: &str, form: &str) -> Result<f64, CalibrationError> {
    let mut medians = BTreeMap::new();
    for count in CALIBRATION_COUNTS {
        let name = around(election, form, count);
        let mut ticks = durations(trace, &name);
        medians.insert(count, median(&mut ticks).ok_or(CalibrationError::NoRegion(name))?);
    }
    let total = slope(&medians);
    if total.is_finite() && total >= 0.0 {
        Ok(total)
    } else {
        Err(CalibrationError::Implausible(total))
    }
}

/// What a region of this form lasts where there is nothing in it.
fn inside(trace: &Trace, election: &str, form: &str) -> Result<f64, CalibrationError> {
    let name = format!("{election} {form}");
    median(&mut durations(trace, &name)).ok_or(CalibrationError::NoRegion(name))
}

/// What passes ahead of the stamp of a record of this form: from the begin of the region around one
/// to it, less what passes behind that begin.
fn ahead(
    trace: &Trace,
    election: &str,
    form: &str,
    behind_begin: f64,
) -> Result<f64, CalibrationError> {
    let (outer, inner) = (around(election, form, 1), format!("{election} {form}"));
    let mut ticks = Vec::new();
    for warp in &trace.warps {
        let is = |site, name: &str| trace.site(site).name == name;
        let mut starts: Vec<u64> = regions(trace, warp, &inner).map(|r| r.start.ticks).collect();
        let marks = warp.marks.iter().filter(|mark: &&Mark| is(mark.site, &inner));
        starts.extend(marks.map(|mark| mark.time.ticks));
        starts.sort_unstable();
        for region in regions(trace, warp, &outer) {
            let first = starts.partition_point(|start| *start < region.start.ticks);
            ticks.extend(starts.get(first).map(|start| start - region.start.ticks));
        }
    }
    let gap = median(&mut ticks).ok_or(CalibrationError::NoRegion(outer))?;
    Ok((gap - behind_begin).max(0.0))
}

/// The name of the region around so many records.
fn around(election: &str, form: &str, count: u32) -> String {
    format!("{election} {form} x{count}")
}

/// The warp's regions of this name.
fn regions<'a>(trace: &'a Trace, warp: &'a Warp, name: &str) -> impl Iterator<Item = &'a Region> {
    warp.regions.iter().filter(move |region| trace.site(region.site).name == name)
}

/// How many ticks the complete regions of this name lasted.
fn durations(trace: &Trace, name: &str) -> Vec<u64> {
    let ticks = |region: &Region| Some(region.end?.ticks.saturating_sub(region.start.ticks));
    trace.warps.iter().flat_map(|warp| regions(trace, warp, name)).filter_map(ticks).collect()
}

/// The middle value; of two, their mean; of none, nothing.
fn median(values: &mut [u64]) -> Option<f64> {
    values.sort_unstable();
    let high = *values.get(values.len() / 2)?;
    let low = values[(values.len() - 1) / 2];
    Some((low as f64 + high as f64) / 2.0)
}

/// The least-squares slope of the values over their keys.
fn slope(points: &BTreeMap<u32, f64>) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.keys().map(|&x| f64::from(x)).sum::<f64>() / count;
    let mean_y = points.values().sum::<f64>() / count;
    let spread = points.keys().map(|&x| (f64::from(x) - mean_x).powi(2)).sum::<f64>();
    let shared = points.iter().map(|(&x, y)| (f64::from(x) - mean_x) * (y - mean_y)).sum::<f64>();
    shared / spread
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
