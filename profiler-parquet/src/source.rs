//! Where the warps of a table come from.

use profiler_trace::{Decoder, Progress, Trace, Warp};

use crate::error::WriteError;

/// How often the warps are gone through: for their paths, and for their rows.
const PASSES: usize = 2;

/// A trace in memory, or one whose warps are decoded while they are written.
pub(crate) struct Source<'a> {
    /// All but, where there is a decoder, the regions.
    pub(crate) trace: &'a Trace,
    decoder: Option<&'a Decoder<'a>>,
}

impl<'a> Source<'a> {
    /// A trace in memory.
    pub(crate) fn held(trace: &'a Trace) -> Self {
        Progress::expect(PASSES * trace.warps.len());
        Self { trace, decoder: None }
    }

    /// Lets `write` write what is decoded. It is given the trace without its regions.
    pub(crate) fn decoded<T>(
        decoder: &Decoder<'_>,
        write: impl FnOnce(Source<'_>) -> T,
    ) -> (T, Trace) {
        // What follows the outline, so that all is known from the begin.
        Progress::expect(PASSES * decoder.warp_count());
        let outline = decoder.outline();
        let written = write(Source { trace: &outline, decoder: Some(decoder) });
        (written, outline)
    }

    /// Goes through the warps, each with its index and its regions.
    pub(crate) fn each(
        &self,
        mut visit: impl FnMut(usize, &Warp) -> Result<(), WriteError>,
    ) -> Result<(), WriteError> {
        let mut next = 0;
        let visit = |warp: &Warp| {
            visit(next, warp)?;
            next += 1;
            Progress::step();
            Ok(())
        };
        match self.decoder {
            None => self.trace.warps.iter().try_for_each(visit),
            Some(decoder) => decoder.try_each_warp(visit),
        }
    }
}
