//! The places where lanes ask for the active mask, in the order in which they get their answers.

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The place where a lane asks. The smallest place gets its answer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallSite {
    /// A number in place of a place in the source.
    Numbered(u64),
    Source(Source),
}
