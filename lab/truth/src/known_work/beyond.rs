//! Single regions that are off by more than may be: which they are.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The length of a region, recorded and true, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    pub(super) recorded: f64,
    pub(super) truth: f64,
    pub(super) place: Place,
}

impl Length {
    /// By how much the region is recorded too long.
    pub(super) fn error(&self) -> f64 {
        self.recorded - self.truth
    }
}

/// Where and when a region was recorded. The repeats are counted from 1, as the one that warms up is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) block: u32,
    pub(super) warp: u32,
    pub(super) repeat: usize,
}

/// What is beyond in one repeat of a level by one warp: as many regions as lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Beyond {
    place: Place,
    pub(super) lanes: usize,
    /// The largest of all lanes, in ticks.
    error: f64,
}

impl Beyond {
    /// All of a level, of whose true lengths `limit` says how many ticks they may be wrong by.
    pub(super) fn of(lengths: &[Length], limit: impl Fn(f64) -> f64) -> Vec<Self> {
        let mut all: BTreeMap<_, Self> = BTreeMap::new();
        let off = lengths.iter().filter(|length| length.error().abs() > limit(length.truth));
        for length in off {
            let none = Self { place: length.place, lanes: 0, error: 0.0 };
            let beyond = all.entry(length.place).or_insert(none);
            beyond.lanes += 1;
            if length.error().abs() > beyond.error.abs() {
                beyond.error = length.error();
            }
        }
        all.into_values().collect()
    }

    /// For a line of JSON.
    pub(super) fn json(&self) -> Value {
        let Place { block, warp, repeat } = self.place;
        json!({
            "block": block,
            "warp": warp,
            "repeat": repeat,
            "lanes": self.lanes,
            "error_ticks": self.error,
        })
    }
}
