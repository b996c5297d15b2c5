//! A trace that is decoded while it is read.

use std::borrow::Cow;
use std::cell::RefCell;

use super::stream::{Decoder, Memory};
use crate::diagnostic::Diagnostics;
use crate::model::{Trace, Warp};
use crate::source::WarpSource;

/// A trace whose warps are decoded when they are asked for, each time anew. [`Decoder::streamed`] makes
/// it.
///
/// ```
/// # fn statistics(capture: &profiler_trace::Capture) -> profiler_trace::Stats {
/// use profiler_trace::{Decoder, Stats, StatsQuery};
///
/// Stats::of(&Decoder::new(capture).streamed(), &StatsQuery::new())
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
        Self { decoder, outline: decoder.outline(), memory: RefCell::default() }
    }

    /// The number of regions of all warps.
    #[must_use]
    pub fn region_count(&self) -> usize {
        self.decoder.region_count()
    }

    /// The outline, as of [`Decoder::outline`].
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
        Cow::Owned(self.decoder.warp(
            index,
            &mut self.memory.borrow_mut(),
            &mut Diagnostics::default(),
        ))
    }

    fn open_regions(&self) -> u64 {
        self.decoder.open_regions()
    }
}
