//! The interface of timeline formats.

use std::io;

use crate::model::{SiteIndex, Value};

/// Takes what the walk finds. Tracks are declared before anything is put on them; between
/// [`Sink::select`] calls, what is put on a track is in order of time.
pub(super) trait Sink {
    /// A launch begins; its id is from 1.
    fn process(&mut self, id: u32, name: &str) -> io::Result<()>;
    /// There is a track.
    fn track(&mut self, track: &Track<'_>) -> io::Result<()>;
    /// Selects the track of the following events.
    fn select(&mut self, process: u32, track: u64) -> io::Result<()>;
    /// A slice begins.
    fn begin(&mut self, ns: u64, end_ns: u64, event: &Event<'_>) -> io::Result<()>;
    /// The slice that began last and has not ended ends.
    fn end(&mut self, ns: u64) -> io::Result<()>;
    /// Something happens at once.
    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()>;
    /// The number that the selected track shows changes, for tracks with [`Track::unit`].
    fn counter(&mut self, ns: u64, track: &str, value: i64) -> io::Result<()>;
}

/// A track of a launch.
pub(super) struct Track<'a> {
    /// Unique in the trace, from 1; processes have ids of their own.
    pub(super) id: u64,
    pub(super) process: u32,
    /// The track that it is part of, if not of the process itself.
    pub(super) parent: Option<u64>,
    /// Its name below its parent.
    pub(super) name: &'a str,
    /// Its name where a format has no parents.
    pub(super) path: &'a str,
    /// Facts about it.
    pub(super) description: &'a str,
    /// Its place among its siblings.
    pub(super) rank: u32,
    /// Whether it only holds other tracks.
    pub(super) group: bool,
    /// If it shows a number that changes, what is counted.
    pub(super) unit: Option<&'static str>,
}

/// A slice or an instant.
pub(super) struct Event<'a> {
    pub(super) name: Name<'a>,
    /// Its place in the source.
    pub(super) site: Option<SiteIndex>,
    /// Its value.
    pub(super) value: Option<Value>,
    /// The unit of the value.
    pub(super) unit: Option<&'a str>,
    /// Facts beside them. Most events have none, so that nothing is allocated for them.
    pub(super) others: Vec<(&'static str, Argument<'a>)>,
    /// Arrows that begin here.
    pub(super) flows_from: Vec<u64>,
    /// Arrows that end here.
    pub(super) flows_to: Vec<u64>,
}

/// A name: of a site, with what is to be seen at once, or a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name<'a> {
    Site { name: &'a str, suffix: Suffix },
    Text(&'a str),
}

/// A suffix of a site's name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Suffix {
    None,
    /// Of a region without an end.
    Open,
    /// Of a kernel that a warp never left.
    NeverLeft,
}

impl Suffix {
    /// Their number.
    pub(super) const COUNT: usize = 3;

    fn text(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Open => " (open)",
            Self::NeverLeft => " (never left)",
        }
    }
}

impl Name<'_> {
    /// The name as it is to be read.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Site { name, suffix } => format!("{name}{}", suffix.text()),
            Self::Text(text) => (*text).to_owned(),
        }
    }
}

/// A fact about a slice or an instant.
#[derive(Clone, Copy)]
pub(super) enum Argument<'a> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Text(&'a str),
}

impl From<Value> for Argument<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Unsigned(value) => Self::Unsigned(value),
            Value::Signed(value) => Self::Signed(value),
            Value::Float(value) => Self::Float(value),
        }
    }
}

impl<'a> Event<'a> {
    /// Something with a name and nothing else.
    pub(super) fn text(text: &'a str) -> Self {
        Self {
            name: Name::Text(text),
            site: None,
            value: None,
            unit: None,
            others: Vec::new(),
            flows_from: Vec::new(),
            flows_to: Vec::new(),
        }
    }

    /// The same with one more fact.
    pub(super) fn with(mut self, name: &'static str, argument: Argument<'a>) -> Self {
        self.others.push((name, argument));
        self
    }

    /// All that is known of it, by name.
    pub(super) fn arguments(&self) -> impl Iterator<Item = (&'static str, Argument<'a>)> {
        let value = self.value.map(|value| ("value", value.into()));
        let unit = self.unit.map(|unit| ("unit", Argument::Text(unit)));
        value.into_iter().chain(unit).chain(self.others.iter().copied())
    }
}
