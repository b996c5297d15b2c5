//! The model of a decoded session: launches, warps, regions, marks, edges.
//!
//! All times lie on one axis: nanoseconds since [`Trace::origin_ns`], a reading of the GPU's
//! `%globaltimer` (of the emulator's clock if there is no GPU).

use profiler_wire::header::{Clock, Dim3};
pub use profiler_wire::site::Buffer;
use profiler_wire::{SiteKind, Strategy};
use serde::{Deserialize, Serialize};

use crate::diagnostic::Diagnostics;
use crate::host::HostTrace;
use crate::json::{BufferName, Kind, optional_float, strategy};
use crate::record_cost::RecordCost;
use crate::resources::ResourceEffect;

/// An index into [`Trace::sites`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteIndex(pub u32);

/// A place in the source: a kernel, a region, a mark, or one name of a name list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The id that records hold; unique within one module.
    pub id: u32,
    /// Its kind ([`SiteKind::Names`] for a name of a list, which is used as a region).
    #[serde(with = "Kind")]
    pub kind: SiteKind,
    /// The name that the user gave.
    pub name: String,
    /// The list that the name belongs to.
    pub list: Option<String>,
    /// Source file.
    pub file: String,
    /// Module path.
    pub module: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Unit of the value; `None` if it has none.
    pub unit: Option<String>,
    /// The strategy of recording; `None` means that of the kernel.
    #[serde(with = "strategy")]
    pub strategy: Option<Strategy>,
    /// Entry symbol of a kernel, if the macro fixed it.
    pub symbol: Option<String>,
    /// The memory that a kernel records to.
    // Not in the first files of this version.
    #[serde(default, with = "BufferName")]
    pub buffer: Buffer,
}

/// A moment: the raw clock, widened to 64 bits, and its place on the trace's axis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Time {
    /// Ticks of the warp's record clock (cycles of its SM, or nanoseconds of `%globaltimer`).
    pub ticks: u64,
    /// Nanoseconds since [`Trace::origin_ns`].
    pub ns: f64,
}

/// A value that a region or mark carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// The value as a floating-point number (integers above 2^53 are rounded).
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// A region as one lane recorded it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// Its site.
    pub site: SiteIndex,
    /// The user's track, if not the warp's own; [`TRACK_BEYOND`](profiler_wire::record::TRACK_BEYOND) for
    /// any number that no record holds.
    pub track: Option<u32>,
    /// The lane that recorded it.
    pub lane: u8,
    /// Whether its record holds its value. Otherwise the value is one more record, which takes time of its
    /// own.
    pub value_in_record: bool,
    /// The number of regions of the same lane and track that enclose it.
    pub depth: u16,
    /// Its begin.
    pub start: Time,
    /// Its end; `None` if it was never ended (an open region).
    pub end: Option<Time>,
    /// Its value.
    pub value: Option<Value>,
}

impl Region {
    /// Whether it has a value that was stored as a record of its own.
    pub(crate) fn has_value_apart(&self) -> bool {
        self.value.is_some() && !self.value_in_record
    }
}

/// An instant of a lane: a mark, a signal or a wait (see the site's kind).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Its site.
    pub site: SiteIndex,
    /// The user's track, as of a [`Region`].
    pub track: Option<u32>,
    /// The lane that recorded it.
    pub lane: u8,
    /// When.
    pub time: Time,
    /// Its value; of a signal or a wait, the key.
    pub value: Option<Value>,
}

/// A moment at which a lane read both clocks, between its warp's entry and exit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockReading {
    /// The lane that recorded it.
    pub lane: u8,
    /// When.
    pub time: Time,
}

/// One warp in one launch, with its records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Warp {
    /// Index into [`Trace::launches`].
    pub launch: usize,
    /// The slot that it wrote.
    pub slot: u32,
    /// `%ctaid`.
    pub block: Dim3,
    /// The warp of the block.
    pub warp: u32,
    /// `%smid`.
    pub sm: u32,
    /// Rank of the block in its cluster, if known.
    pub cluster_rank: Option<u32>,
    /// The kernel's strategy.
    pub strategy: Strategy,
    /// The kernel's track, if the user chose one, as of a [`Region`].
    pub track: Option<u32>,
    /// The clock of the records.
    pub clock: Clock,
    /// Entry into the kernel.
    pub entry: Time,
    /// Exit from the kernel; `None` if the warp never left it.
    pub exit: Option<Time>,
    /// Regions in order of their start; of two that start together, the longer first.
    pub regions: Vec<Region>,
    /// Marks in order of time.
    pub marks: Vec<Mark>,
    /// The warp's readings of both clocks between its entry and its exit, in order of time.
    pub anchors: Vec<ClockReading>,
    /// Records that were decoded (units less attachments).
    pub recorded: u64,
    /// Records that the warp emitted and that were not kept.
    pub lost: u64,
}

impl Warp {
    /// The last moment that is known of the warp, in nanoseconds on the trace's axis: its exit or
    /// its last record, whichever is later.
    #[must_use]
    pub fn last_ns(&self) -> f64 {
        let known = [Some(self.entry), self.exit].into_iter().flatten();
        let regions = self.regions.iter().map(|region| region.end.unwrap_or(region.start));
        let marks = self.marks.iter().map(|mark| mark.time);
        known.chain(regions).chain(marks).map(|time| time.ns).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub kernel: SiteIndex,
    /// `%gridid`.
    pub grid_id: u64,
    /// The number of the replay of a CUDA graph, whose replays repeat grid ids; otherwise 0.
    pub replay: u32,
    /// `%nctaid`.
    pub grid_dim: Dim3,
    /// `%ntid`.
    pub block_dim: Dim3,
    /// Indices into [`Trace::warps`].
    pub warps: std::ops::Range<usize>,
    /// First entry of a warp, in nanoseconds on the trace's axis.
    pub start_ns: f64,
    /// Last exit of a warp (last record if no warp left), likewise.
    pub end_ns: f64,
}

impl Launch {
    /// Warps of the grid that are not here: those that the session did not select, those that found no
    /// slot, and those that the decoder was told to [leave out](Trace::left_out_warps).
    #[must_use]
    pub fn unrecorded_warps(&self) -> u64 {
        let product =
            |dims: Dim3| dims.iter().map(|&extent| u64::from(extent)).fold(1, u64::saturating_mul);
        let warps = product(self.grid_dim).saturating_mul(product(self.block_dim).div_ceil(32));
        warps.saturating_sub(self.warps.len() as u64)
    }
}

/// Refers to a mark: [`Trace::warps`]`[warp].marks[mark]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkIndex {
    /// Index into [`Trace::warps`].
    pub warp: usize,
    /// Index into [`Warp::marks`].
    pub mark: usize,
}

/// An arrow from a signal to a wait that it released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The signal.
    pub from: MarkIndex,
    /// The wait.
    pub to: MarkIndex,
}

/// The device of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The GPU's name, or "emulator".
    pub name: String,
    /// Whether it was the emulator, whose times are not GPU times.
    pub emulated: bool,
    /// Compute capability of a GPU.
    pub compute_capability: Option<(u32, u32)>,
    /// The number of SMs.
    pub sm_count: u32,
    /// Version of the driver, as a person reads it; empty if unknown.
    pub driver: String,
    /// The exact frequency of the SM clock in MHz, which only the emulator with its virtual clock
    /// knows. The frequency of a GPU changes with load and temperature, so it is measured.
    #[serde(with = "optional_float")]
    pub clock_mhz: Option<f64>,
}

/// A decoded session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The device.
    pub device: DeviceInfo,
    /// All sites of all modules.
    pub sites: Vec<Site>,
    /// Sites that no warp recorded although their kernel was launched, each with its kernel. Either
    /// no recording lane came there, or the records were lost. A list of names without a record has
    /// the site of its first name. Sites in functions that are called, not inlined, are not
    /// included.
    pub never_recorded: Vec<(SiteIndex, SiteIndex)>,
    /// Launches in order of their start.
    pub launches: Vec<Launch>,
    /// Warps, those of one launch together, sorted by block (z, y, x) and warp.
    pub warps: Vec<Warp>,
    /// Arrows from signals to waits, in order of the waits: by warp, then by mark. So those of one launch
    /// lie together.
    pub edges: Vec<Edge>,
    /// The spans of the host, if they were recorded.
    pub host: HostTrace,
    /// The `%globaltimer` reading that is nanosecond 0 of the trace.
    pub origin_ns: u64,
    /// The cost of recording, if it was measured.
    pub record_cost: Option<RecordCost>,
    /// The resources of kernels with and without annotations, in the order of their first launches,
    /// if the program asked for them.
    pub resources: Vec<ResourceEffect>,
    /// Whether [`Trace::subtract_record_cost`] was applied.
    pub cost_subtracted: bool,
    /// The finest step of the record clock that was seen, in nanoseconds.
    pub resolution_ns: f64,
    /// The largest disagreement of two SMs in nanoseconds, at the moments when warps read their
    /// clocks: at entry, at exit and at [`Warp::anchors`]. It is the step of `%globaltimer`, or
    /// more if the SMs' frequencies wandered.
    pub alignment_ns: f64,
    /// The step of `%globaltimer` in nanoseconds: 32 on an H200. All differences of the warps'
    /// readings are multiples of it, so a few warps may seem to have a coarser timer. If all
    /// readings are the same, it is the longest step that is known.
    pub timer_step_ns: f64,
    /// Frequency of the SM clock in MHz over the whole session. If no record holds cycles, it is
    /// here only if it is known well.
    pub clock_mhz: Option<f64>,
    /// Records that belong to no warp here: of warps without a slot, of lanes without a buffer, of
    /// slots that could not be read.
    pub lost_unplaced: u64,
    /// Warps that recorded and are not here, because [`Decoder::only`](crate::Decoder::only) left
    /// them out.
    pub left_out_warps: u64,
    /// Everything lost or odd, of left out warps as well.
    pub diagnostics: Diagnostics,
}

impl Trace {
    /// The site after an index.
    ///
    /// # Panics
    ///
    /// If the index is from another trace.
    #[must_use]
    pub fn site(&self, index: SiteIndex) -> &Site {
        &self.sites[index.0 as usize]
    }

    /// The name of a site, also if the index is from another trace.
    pub(crate) fn name_of(&self, index: SiteIndex) -> &str {
        self.sites.get(index.0 as usize).map_or("unknown site", |site| &site.name)
    }

    /// Whether a launch has no warp here because all of them were [left out](Self::left_out_warps).
    #[must_use]
    pub fn is_left_out(&self, launch: usize) -> bool {
        let of = self.launches.get(launch);
        self.left_out_warps > 0 && of.is_some_and(|launch| launch.warps.is_empty())
    }

    /// The launches that have not been [left out](Self::is_left_out), by index.
    pub fn shown_launches(&self) -> impl Iterator<Item = usize> {
        (0..self.launches.len()).filter(|&launch| !self.is_left_out(launch))
    }

    /// Records that were decoded, over all warps.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.warps.iter().map(|warp| warp.recorded).sum()
    }

    /// Records that were emitted and not kept, of warps that are here and of all others.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let kept: u64 = self.warps.iter().map(|warp| warp.lost).sum();
        kept.saturating_add(self.lost_unplaced)
    }
}
