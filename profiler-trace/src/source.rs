//! Where the regions of a trace come from: from memory, or from a capture that is decoded while it is
//! gone through.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};

use crate::decode::{Decoder, Memory};
use crate::export::{self, StackGroup, text};
use crate::model::{Trace, Warp};
use crate::progress::Progress;
use crate::stats::{Stats, StatsQuery, collect};

/// A trace in memory, or one whose warps are decoded when they are asked for: a [`StreamedTrace`].
///
/// Whatever needs the regions of no more than one warp at a time takes either, and makes the same of
/// both.
pub trait WarpSource: sealed::Sealed {
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

    /// What a reader must know of the whole trace, a line each: [`Stats::notes`] without filters.
    fn notes(&self) -> Vec<String> {
        text::facts(self)
    }

    /// See [`Trace::stats_of`]. Beside the trace and the rows, this holds 8 bytes for each region, or up
    /// to 16 where rows have few.
    fn stats_of(&self, query: &StatsQuery) -> Stats
    where
        Self: Sized,
    {
        collect::collect(self, query)
    }

    /// See [`Trace::write_folded_to`].
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_folded_to(&self, writer: impl Write, group: StackGroup) -> io::Result<()>
    where
        Self: Sized,
    {
        Progress::expect(self.outline().warps.len());
        export::write_folded(self, writer, group)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Trace {}
    impl Sealed for super::StreamedTrace<'_> {}
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

/// A trace whose warps are decoded when they are asked for, each time anew. [`Decoder::streamed`] makes
/// it.
///
/// ```
/// # fn statistics(capture: &profiler_trace::Capture) -> profiler_trace::Stats {
/// use profiler_trace::{Decoder, StatsQuery, WarpSource};
///
/// let decoder = Decoder::new(capture);
/// let trace = decoder.streamed();
/// trace.stats_of(&StatsQuery::new())
/// # }
/// ```
#[derive(Debug)]
pub struct StreamedTrace<'d> {
    decoder: &'d Decoder<'d>,
    outline: Trace,
    memory: RefCell<Memory>,
}

impl<'d> StreamedTrace<'d> {
    pub(crate) fn new(decoder: &'d Decoder<'d>) -> Self {
        Self { decoder, outline: decoder.outline(), memory: RefCell::new(Memory::new()) }
    }

    /// What [`Decoder::outline`] returns.
    #[must_use]
    pub fn into_outline(self) -> Trace {
        self.outline
    }
}

impl WarpSource for StreamedTrace<'_> {
    fn outline(&self) -> &Trace {
        &self.outline
    }

    fn warp(&self, index: usize) -> Cow<'_, Warp> {
        Cow::Owned(self.decoder.warp(index, &mut self.memory.borrow_mut()))
    }

    fn open_regions(&self) -> u64 {
        self.decoder.open_regions()
    }
}
