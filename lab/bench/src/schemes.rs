//! All schemes that are measured: names, kernels, and what each leaves in memory.

mod combinations;

pub use combinations::combinations;

use profiler_host::Keep;

use crate::Error;

/// A way to record regions.
#[derive(Clone, Copy, Debug)]
pub struct Scheme {
    /// Its name in results.
    pub name: &'static str,
    /// The name of its kernels, before body and number of recorded bodies.
    pub kernel: &'static str,
    /// What it writes, and where.
    pub writes: Writes,
    /// Which module its kernels are in.
    pub kernels: Kernels,
}

/// A module of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// All that are in no other one.
    Common,
    /// Those whose records go to memory of the host.
    Hosted,
    /// Those into which `profiler-ptx` has put what records.
    Rewritten,
    /// Those of every strategy with every clock and every kind of record.
    Combinations,
    /// The same whose records go to memory of the host.
    HostedCombinations,
}

/// What a scheme writes.
#[derive(Clone, Copy, Debug)]
pub enum Writes {
    /// Nothing: there is nothing to check.
    Nothing,
    /// Records into the buffer of each warp.
    Buffers(Format),
    /// Records into a session's buffers.
    Session(Plan),
}

/// What a buffer holds; see `profiler_bench_kernels::format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// 8 bytes a region: a compact word.
    Compact8,
    /// A tagged word at each begin and end.
    Tagged,
    /// A counter, then four numbers of 64 bits a region.
    Slices,
    /// A counter in the first buffer, then the regions of all warps, 16 bytes each.
    GridCounter,
    /// A counter and the active events, then 40 bytes an event.
    Events40,
}

impl Format {
    /// Bytes that a region takes.
    #[must_use]
    pub fn bytes_per_region(self) -> u32 {
        match self {
            Self::Compact8 => 8,
            Self::Tagged | Self::GridCounter => 16,
            Self::Slices => 32,
            Self::Events40 => 40,
        }
    }
}

/// Which lanes record in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorders {
    /// Lane 0 of each warp.
    Warp,
    /// Lane 0 of warp 0.
    Block,
    /// Lane 0 of every fourth warp.
    WarpGroup,
    /// All lanes.
    Thread,
}

impl Recorders {
    /// How many lanes of this warp of a block record.
    #[must_use]
    pub fn lanes_of(self, warp: u32) -> u64 {
        match self {
            Self::Warp => 1,
            Self::Block => u64::from(warp == 0),
            Self::WarpGroup => u64::from(warp.is_multiple_of(4)),
            Self::Thread => 32,
        }
    }
}

/// What is recorded for each body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A region.
    Region,
    /// A region with a value.
    RegionWithValue,
    /// A region with a value of 16 bits, in the same record where one lane records it to the GPU's memory.
    RegionWithShortValue,
    /// A region begun and ended by a token.
    Token,
    /// A mark after the body.
    Mark,
}

/// A session's options, and what its trace must then hold.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Who records.
    pub recorders: Recorders,
    /// What is recorded.
    pub recorded: Recorded,
    /// Whether the host reads meanwhile: a region is then a record at its begin and one at its end.
    pub hosted: bool,
    /// What is kept, if the buffers are too small.
    pub keep: Keep,
    /// Words of the buffer that a lane's records lie in; `None` for all records of the run.
    pub words: Option<u32>,
}

impl Plan {
    /// Records that a body is, besides values.
    #[must_use]
    pub fn records(&self) -> u64 {
        if self.hosted && self.recorded != Recorded::Mark { 2 } else { 1 }
    }

    /// Words of a buffer that a body takes.
    #[must_use]
    pub fn words_of_body(&self) -> u32 {
        let has_value_apart = match self.recorded {
            Recorded::RegionWithValue => true,
            Recorded::RegionWithShortValue => self.hosted,
            _ => false,
        };
        2 * (self.records() as u32 + u32::from(has_value_apart))
    }

    /// Lanes of this warp of a block that store a record.
    #[must_use]
    pub fn lanes_that_store(&self, warp: u32) -> u64 {
        self.recorders.lanes_of(warp)
    }

    /// Words of a ring that keeps the last records.
    const fn ring_words(&self) -> u32 {
        match self.recorders {
            Recorders::Thread => LANE_RING_WORDS,
            _ => RING_WORDS,
        }
    }

    /// Whether lanes other than lane 0 need buffers.
    #[must_use]
    pub fn lane_buffers(&self) -> bool {
        matches!(self.recorders, Recorders::Thread)
    }
}

/// Words of a ring that keeps the last records of a warp.
const RING_WORDS: u32 = 512;
/// Words of each lane's ring where all lanes store records.
const LANE_RING_WORDS: u32 = 8;

const fn first(name: &'static str, kernel: &'static str, recorders: Recorders) -> Scheme {
    recorded(name, kernel, recorders, Recorded::Region)
}

const fn recorded(
    name: &'static str,
    kernel: &'static str,
    recorders: Recorders,
    recorded: Recorded,
) -> Scheme {
    let plan = Plan { recorders, recorded, hosted: false, keep: Keep::First, words: None };
    Scheme { name, kernel, writes: Writes::Session(plan), kernels: Kernels::Common }
}

const fn last(name: &'static str, kernel: &'static str, recorders: Recorders) -> Scheme {
    let recorded = Recorded::Region;
    let mut plan = Plan { recorders, recorded, hosted: false, keep: Keep::Last, words: None };
    plan.words = Some(plan.ring_words());
    Scheme { name, kernel, writes: Writes::Session(plan), kernels: Kernels::Common }
}

const fn hosted(name: &'static str, kernel: &'static str, recorders: Recorders) -> Scheme {
    let recorded = Recorded::Region;
    let mut plan = Plan { recorders, recorded, hosted: true, keep: Keep::Last, words: None };
    plan.words = Some(plan.ring_words());
    Scheme { name, kernel, writes: Writes::Session(plan), kernels: Kernels::Hosted }
}

const fn buffers(name: &'static str, kernel: &'static str, format: Format) -> Scheme {
    Scheme { name, kernel, writes: Writes::Buffers(format), kernels: Kernels::Common }
}

const fn nothing(name: &'static str, kernel: &'static str) -> Scheme {
    Scheme { name, kernel, writes: Writes::Nothing, kernels: Kernels::Common }
}

/// All schemes, in the order in which they are measured.
pub const SCHEMES: &[Scheme] = &[
    nothing("unannotated", "unannotated"),
    nothing("floor", "floor"),
    // The profiler's own.
    nothing("idle", "default"),
    first("default", "default", Recorders::Warp),
    Scheme { kernels: Kernels::Rewritten, ..first("rewritten", "rewritten", Recorders::Warp) },
    last("default-keep-last", "default", Recorders::Warp),
    first("globaltimer", "globaltimer", Recorders::Warp),
    last("globaltimer-keep-last", "globaltimer", Recorders::Warp),
    first("elected", "elected", Recorders::Warp),
    last("elected-keep-last", "elected", Recorders::Warp),
    last("thread-keep-last", "thread", Recorders::Thread),
    first("block", "block", Recorders::Block),
    last("block-keep-last", "block", Recorders::Block),
    first("warp-group", "warp-group", Recorders::WarpGroup),
    last("warp-group-keep-last", "warp-group", Recorders::WarpGroup),
    first("when", "when", Recorders::Warp),
    last("when-keep-last", "when", Recorders::Warp),
    first("wait", "wait", Recorders::Warp),
    recorded("value", "value", Recorders::Warp, Recorded::RegionWithValue),
    recorded("short-value", "short-value", Recorders::Warp, Recorded::RegionWithShortValue),
    recorded("token", "token", Recorders::Warp, Recorded::Token),
    recorded("mark", "mark", Recorders::Warp, Recorded::Mark),
    hosted("host-keep-last", "hosted", Recorders::Warp),
    // Other profilers.
    buffers("flashinfer", "flashinfer", Format::Tagged),
    buffers("triton-distributed", "triton-distributed", Format::Tagged),
    buffers("nuggets-compact", "nuggets-compact", Format::Compact8),
    buffers("cute-dsl-atomic", "cute-dsl-atomic", Format::Slices),
    buffers("grid-atomic", "grid-atomic", Format::GridCounter),
    buffers("sm-profiler", "sm-profiler", Format::Events40),
];

/// Those of these names, in the order in which `all` has them; all where none is named.
///
/// # Errors
///
/// [`Error::NoScheme`].
pub fn select<'s>(all: &'s [Scheme], names: &[String]) -> Result<Vec<&'s Scheme>, Error> {
    if let Some(unknown) =
        names.iter().find(|name| all.iter().all(|scheme| scheme.name != name.as_str()))
    {
        let is_of = |set: &[Scheme]| set.iter().any(|scheme| scheme.name == unknown.as_str());
        for (set, belongs, help) in [(SCHEMES, "none", "leave out"), (combinations(), "one", "add")]
        {
            if is_of(set) {
                return Err(Error::OtherSet { name: unknown.clone(), belongs, help });
            }
        }
        let available: Vec<&str> = all.iter().map(|scheme| scheme.name).collect();
        return Err(Error::NoScheme { name: unknown.clone(), available: available.join(", ") });
    }
    let named = |scheme: &&Scheme| names.iter().any(|name| name == scheme.name);
    Ok(all.iter().filter(|scheme| names.is_empty() || named(scheme)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use profiler_host::Keep;

    use super::{Kernels, Plan, Recorded, Recorders, SCHEMES, Writes, combinations, select};

    #[test]
    fn names_are_distinct() {
        let names: BTreeSet<&str> = SCHEMES.iter().map(|scheme| scheme.name).collect();
        assert_eq!(names.len(), SCHEMES.len());
    }

    #[test]
    fn schemes_are_selected_by_name() {
        assert_eq!(select(SCHEMES, &[]).expect("all").len(), SCHEMES.len());
        let two = select(SCHEMES, &["default".to_owned(), "floor".to_owned()]).expect("two");
        assert_eq!(two.iter().map(|scheme| scheme.name).collect::<Vec<_>>(), ["floor", "default"]);
        let error = select(SCHEMES, &["flor".to_owned()]).expect_err("there is none").to_string();
        assert!(error.starts_with("there is no scheme `flor`; there are unannotated, floor"));
        let one = "block-cycles-mark-host".to_owned();
        assert_eq!(
            select(combinations(), std::slice::from_ref(&one)).expect("it is there").len(),
            1
        );
        let error = select(SCHEMES, &[one]).expect_err("of the others").to_string();
        assert_eq!(error, "`block-cycles-mark-host` is one of `--combinations`: add that option");
        let error = select(combinations(), &["floor".to_owned()]).expect_err("of the others");
        assert_eq!(error.to_string(), "`floor` is none of `--combinations`: leave out that option");
    }

    #[test]
    fn a_body_takes_its_records_and_values() {
        let words = |recorded, hosted| {
            let plan = Plan {
                recorders: Recorders::Warp,
                recorded,
                hosted,
                keep: Keep::First,
                words: None,
            };
            (plan.records(), plan.words_of_body())
        };
        assert_eq!(words(Recorded::Region, false), (1, 2));
        assert_eq!(words(Recorded::RegionWithValue, false), (1, 4));
        assert_eq!(words(Recorded::RegionWithShortValue, false), (1, 2));
        assert_eq!(words(Recorded::Token, false), (1, 2));
        assert_eq!(words(Recorded::Mark, false), (1, 2));
        assert_eq!(words(Recorded::Region, true), (2, 4));
        assert_eq!(words(Recorded::RegionWithValue, true), (2, 6));
        assert_eq!(words(Recorded::RegionWithShortValue, true), (2, 6));
        assert_eq!(words(Recorded::Token, true), (2, 4));
        assert_eq!(words(Recorded::Mark, true), (1, 2));
    }

    #[test]
    fn plans_and_modules_agree_where_records_go() {
        for scheme in SCHEMES.iter().chain(combinations()) {
            let of_module = matches!(scheme.kernels, Kernels::Hosted | Kernels::HostedCombinations);
            let of_plan = matches!(scheme.writes, Writes::Session(Plan { hosted: true, .. }));
            assert_eq!(of_module, of_plan, "{}", scheme.name);
        }
    }
}
