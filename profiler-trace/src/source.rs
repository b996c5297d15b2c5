//! The source of a trace's regions: memory, or a capture that is decoded on the way.

pub(crate) mod notes;

use std::borrow::Cow;

use crate::model::{Trace, Warp};

/// A trace in memory, or a [`StreamedTrace`](crate::StreamedTrace), whose warps are decoded on
/// demand.
///
/// Functions that need the regions of only one warp at a time take either, with the same result.
pub trait WarpSource {
    /// The trace. Its warps may lack their regions.
    fn outline(&self) -> &Trace;

    /// A warp with its regions, by its index in [`Trace::warps`].
    ///
    /// # Panics
    ///
    /// If the trace has no such warp.
    fn warp(&self, index: usize) -> Cow<'_, Warp>;

    /// The number of regions without an end.
    fn open_regions(&self) -> u64;

    /// Notes about the whole trace, a line each: [`Stats::notes`](crate::Stats::notes) without
    /// filters.
    fn notes(&self) -> Vec<String> {
        notes::facts(self)
    }
}

impl WarpSource for Trace {
    fn outline(&self) -> &Trace {
        self
    }

    fn warp(&self, index: usize) -> Cow<'_, Warp> {
        Cow::Borrowed(&self.warps[index])
    }

    fn open_regions(&self) -> u64 {
        let regions = self.warps.iter().flat_map(|warp| &warp.regions);
        regions.filter(|region| region.end.is_none()).count() as u64
    }
}
