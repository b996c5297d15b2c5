//! What recording costs, told from the trace of the kernel that every profiled module carries for
//! it ([`profiler_wire::symbol::CALIBRATION`]).
//!
//! The kernel's outer regions hold different numbers of empty inner regions back to back, and
//! nothing else that depends on that number. An inner region then lasts as long as recording makes
//! any region too long, and each one lengthens the outer region by what recording costs in all:
//! the slope of the outer durations over the number of inner regions.

use std::collections::BTreeMap;

use profiler_trace::{RecordCost, Trace, Warp};
use profiler_wire::symbol::{CALIBRATION_COUNTS, CALIBRATION_EMPTY};

/// How often the calibration kernel repeats its regions: enough for a median that a few cache
/// misses and interruptions do not move.
pub(crate) const ROUNDS: u32 = 256;
/// Regions of a round: the outer ones and the empty ones in them.
const REGIONS_OF_ROUND: u32 = {
    let (mut regions, mut index) = (CALIBRATION_COUNTS.len() as u32, 0);
    while index < CALIBRATION_COUNTS.len() {
        regions += CALIBRATION_COUNTS[index].1;
        index += 1;
    }
    regions
};
/// Words that a calibration run records.
pub(crate) const WORDS: u32 = ROUNDS * REGIONS_OF_ROUND * 2;

/// Why a trace does not tell the cost of a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// Regions of the calibration kernel are missing.
    #[error(
        "the trace has no complete region \"{0}\", so it is not that of the calibration kernel, or \
         its room was too small"
    )]
    NoRegion(&'static str),
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

/// The cost of a record on the device that made the trace, in ticks of its record clock: an empty
/// region lasts the median of what empty regions lasted, and costs the slope of the medians of the
/// outer regions over the number of empty ones in them.
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
    let durations = |name: &'static str| {
        let mut all: Vec<u64> =
            trace.warps.iter().flat_map(|warp| durations_of(trace, warp, name)).collect();
        median(&mut all).ok_or(CalibrationError::NoRegion(name))
    };
    let inside_ticks = durations(CALIBRATION_EMPTY)?;
    let mut medians = BTreeMap::new();
    for (name, count) in CALIBRATION_COUNTS {
        medians.insert(count, durations(name)?);
    }
    let total_ticks = slope(&medians);
    if total_ticks.is_finite() && total_ticks >= 0.0 {
        Ok(RecordCost { inside_ticks, total_ticks })
    } else {
        Err(CalibrationError::Implausible(total_ticks))
    }
}

/// How many ticks the warp's complete regions of this name lasted.
fn durations_of(trace: &Trace, warp: &Warp, name: &str) -> Vec<u64> {
    let of_name = |region: &&profiler_trace::Region| trace.site(region.site).name == name;
    warp.regions
        .iter()
        .filter(of_name)
        .filter_map(|region| Some(region.end?.ticks.saturating_sub(region.start.ticks)))
        .collect()
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
