//! Where the regions of a trace come from: from memory, or from a capture that is decoded while it is
//! gone through.

pub(crate) mod notes;

use std::borrow::Cow;

use crate::model::{Trace, Warp};

/// A trace in memory, or one whose warps are decoded when they are asked for: a
/// [`StreamedTrace`](crate::StreamedTrace).
///
/// Whatever needs the regions of no more than one warp at a time takes either, and makes the same of
/// both.
pub trait WarpSource {
    /// The trace. Its warps may lack their regions.
    fn outline(&self) -> &Trace;

    /// A warp with its regions, by its index in [`Trace::warps`].
    ///
    /// # Panics
    ///
    /// If the trace has no such warp.
    fn warp(&self, index: usize) -> Cow<'_, Warp>;

    /// How many regions have no end.
    fn open_regions(&self) -> u64;

    /// What a reader must know of the whole trace, a line each: [`Stats::notes`](crate::Stats::notes) without filters.
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
