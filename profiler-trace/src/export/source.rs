//! Where an export's regions come from: a trace in memory, or a capture that is decoded while it is
//! written.

use std::borrow::Cow;
use std::cell::RefCell;

use crate::decode::{Decoder, Memory};
use crate::diagnostic::DiagnosticKind;
use crate::model::{Trace, Warp};
use crate::progress::Progress;

/// Where the regions come from. Everything else is in a [`Trace`], whose warps may lack theirs.
pub(super) trait Source {
    /// A warp with its regions, by its index in [`Trace::warps`].
    fn warp(&self, index: usize) -> Cow<'_, Warp>;
    /// How many regions have no end.
    fn open_regions(&self) -> u64;
}

impl Source for Trace {
    fn warp(&self, index: usize) -> Cow<'_, Warp> {
        Cow::Borrowed(&self.warps[index])
    }

    fn open_regions(&self) -> u64 {
        let regions = self.warps.iter().flat_map(|warp| &warp.regions);
        regions.filter(|region| region.end.is_none()).count() as u64
    }
}

/// Decodes each warp when it is asked for.
pub(super) struct Streamed<'d> {
    decoder: &'d Decoder<'d>,
    /// All but the regions.
    pub(super) outline: Trace,
    memory: RefCell<Memory>,
}

impl<'d> Streamed<'d> {
    /// For a writer that goes through so many warps, each time that it goes through one counted.
    pub(super) fn new(decoder: &'d Decoder<'d>, steps: usize) -> Self {
        // Those that follow, so that all are known from the begin.
        Progress::expect(steps);
        Self { decoder, outline: decoder.outline(), memory: RefCell::new(Memory::new()) }
    }
}

impl Source for Streamed<'_> {
    fn warp(&self, index: usize) -> Cow<'_, Warp> {
        Cow::Owned(self.decoder.warp(index, &mut self.memory.borrow_mut()))
    }

    fn open_regions(&self) -> u64 {
        self.outline.diagnostics.count(DiagnosticKind::OpenRegion)
    }
}
