//! What lanes recorded, on its way from units to the model.

use super::regions::Raw;
use super::shared::Moment;
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
    /// Whether lane 0 recorded it for all lanes.
    pub is_shared: bool,
}

impl RawMark {
    /// One that a lane recorded for itself.
    pub(super) fn own(lane: u8, site: u32, ticks: u64, track: u32, value: Option<Value>) -> Self {
        Self { ticks, site, track, lane, value, is_shared: false }
    }
}

/// What lanes recorded, in ticks.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub regions: Vec<Raw>,
    /// Values of the regions.
    pub values: Vec<Value>,
    pub marks: Vec<RawMark>,
    /// Lane and ticks of readings of both clocks.
    pub anchors: Vec<(u8, u64)>,
    /// Begins that lane 0 recorded for all lanes.
    pub begun: Vec<Moment>,
    /// Begins of the regions that a lane ended alone and all lanes began by one record.
    pub parted: Vec<Moment>,
    /// Begins of those that lane 0 ended for all lanes.
    pub ended: Vec<Moment>,
}

/// How much each list held before a lane.
#[derive(Clone, Copy, Default)]
pub(super) struct Lengths {
    regions: usize,
    values: usize,
    marks: usize,
    anchors: usize,
    begun: usize,
    parted: usize,
    ended: usize,
}

impl Recorded {
    pub(super) fn clear(&mut self) {
        self.cut(Lengths::default());
    }

    pub(super) fn lengths(&self) -> Lengths {
        Lengths {
            regions: self.regions.len(),
            values: self.values.len(),
            marks: self.marks.len(),
            anchors: self.anchors.len(),
            begun: self.begun.len(),
            parted: self.parted.len(),
            ended: self.ended.len(),
        }
    }

    pub(super) fn cut(&mut self, lengths: Lengths) {
        self.regions.truncate(lengths.regions);
        self.values.truncate(lengths.values);
        self.marks.truncate(lengths.marks);
        self.anchors.truncate(lengths.anchors);
        self.begun.truncate(lengths.begun);
        self.parted.truncate(lengths.parted);
        self.ended.truncate(lengths.ended);
    }
}
