//! The records of lanes, on their way from units to the model.

use super::regions::RegionTicks;
use crate::model::Value;

/// A mark in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawMark {
    pub ticks: u64,
    /// Index into the module's sites.
    pub site: u32,
    /// The track as a record holds it.
    pub track: u32,
    pub lane: u8,
    pub value: Option<Value>,
}

/// The records of lanes, in ticks.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub regions: Vec<RegionTicks>,
    /// Values of the regions.
    pub values: Vec<Value>,
    pub marks: Vec<RawMark>,
    /// Lane and ticks of readings of both clocks.
    pub anchors: Vec<(u8, u64)>,
}

impl Recorded {
    pub(super) fn clear(&mut self) {
        self.regions.clear();
        self.values.clear();
        self.marks.clear();
        self.anchors.clear();
    }
}
