//! Where the lanes of a warp ask which of them are together, and which place gets its answer first.

use std::cmp::Reverse;

/// A place in the source; the number tells it from others that are there as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) number: u64,
}

/// Where a lane asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A number in place of a place in the source.
    Numbered(u64),
    Source(Source),
    /// The begin of something that has an end.
    Begin(Source),
    /// A question, of those that are asked there, at the end of what began at that place.
    End(Source, u64),
}

/// When a place gets its answer, the first first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// The end of what no lane that is elsewhere has still to end.
    End(EndOrder),
    Numbered(u64),
    Source(Source),
    /// The end of what such a lane has still to end, which may come there.
    EarlyEnd(EndOrder),
}

/// Of two ends of a file the one comes first that began later in it, as what is within the other ends
/// before it; and of two questions at one end the first.
type EndOrder = (&'static str, Reverse<(u32, u32, u64)>, u64);

/// The order of ends.
pub(crate) fn end_order(of: Source, question: u64) -> EndOrder {
    let Source { file, line, column, number } = of;
    (file, Reverse((line, column, number)), question)
}
