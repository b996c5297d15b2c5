//! Traces for tests and measurements.
#![allow(dead_code, reason = "each user needs a part of it")]

pub(crate) mod zoo;

use profiler_test_tools::synthetic::{Content, sized};
use profiler_trace::{Trace, decode};

/// Numbers that look random and are the same in every run (Knuth's MMIX multiplier and increment).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A trace of so many regions, as tiles of a kernel leave them.
pub(crate) fn many_regions(regions: u64) -> Trace {
    decode(&sized(regions, Content::Regions).expect("the sites are whole"))
}
