//! Builds captures as a device would leave them, for tests. Not part of the stable interface.

mod sized;

use std::collections::BTreeMap;

use profiler_wire::descriptor::{FLAG_LANES, LANE_STEP, Lost, buffer_byte, next_cursor};
use profiler_wire::header::{self, Clock, pack_counts};
use profiler_wire::record::{
    FIELD_MASK, UNIT_BYTES, range_data, range_kind, stamp, tag, track_field,
};
use profiler_wire::site::{
    FIXED_BYTES, FIXED_STRINGS, ID_OFFSET, KEY_OFFSET, KIND_BITS, MAGIC, fnv1a,
};
use profiler_wire::{
    Descriptor, ExitHeader, RecordKind, SiteEntry, SiteKind, SlotHeader, Strategy, WIRE_VERSION,
};

use profiler_trace::{Capture, DeviceInfo, ModuleCapture, SiteTable, SiteTableError, Value};

pub use sized::{Content, sized};

/// What a full buffer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Keeps the first units; any capacity.
    First,
    /// Keeps the last units; the capacity must be a power of two.
    Last,
}

/// A module's sites and warps, to be laid out as a [`ModuleCapture`].
#[derive(Clone, Debug)]
pub struct SyntheticModule {
    /// What a full buffer does.
    pub keep: Keep,
    /// Units of lane 0's buffer.
    pub capacity: u32,
    /// Units of the other lanes' buffers, if they have any.
    pub lane_capacity: Option<u32>,
    /// How many slots there are; further warps find none.
    pub slots: u32,
    /// The warps, in order of their slots.
    pub warps: Vec<SyntheticWarp>,
    entries: Vec<Vec<u8>>,
    next_id: u32,
}

impl SyntheticModule {
    /// A module with buffers for this many units, without sites and warps.
    #[must_use]
    pub fn new(keep: Keep, capacity: u32) -> Self {
        Self {
            keep,
            capacity,
            lane_capacity: None,
            slots: u32::MAX,
            warps: Vec::new(),
            entries: Vec::new(),
            next_id: 1,
        }
    }

    /// Adds a site at line `id` of `kernel.rs`; returns its id.
    pub fn site(&mut self, kind: SiteKind, name: &str) -> u32 {
        let mut entry = SiteEntry::new(kind, name, "src/kernel.rs", "gpu::kernel", self.next_id, 5);
        if kind == SiteKind::Kernel {
            entry.strategy = Strategy::Warp.code();
        }
        self.site_entry(&entry, &[])
    }

    /// Adds a site whose values have a unit; returns its id.
    pub fn site_with_unit(&mut self, kind: SiteKind, name: &str, unit: &str) -> u32 {
        let mut entry = SiteEntry::new(kind, name, "src/kernel.rs", "gpu::kernel", self.next_id, 5);
        entry.unit = unit;
        self.site_entry(&entry, &[])
    }

    /// Adds a name list; returns the id of its first name.
    pub fn names(&mut self, list: &str, names: &[&str]) -> u32 {
        let entry =
            SiteEntry::new(SiteKind::Names, list, "src/kernel.rs", "gpu::kernel", self.next_id, 5);
        self.site_entry(&entry, names)
    }

    /// Adds an entry under the next id, which is returned.
    pub fn site_entry(&mut self, entry: &SiteEntry<'_>, names: &[&str]) -> u32 {
        let id = self.next_id;
        let ids = if entry.kind == SiteKind::Names { names.len() as u32 + 1 } else { 1 };
        self.next_id += ids;
        self.entries.push(encode_entry(&SiteEntry { id, ids, ..*entry }, names));
        id
    }

    /// The encoded entries.
    #[must_use]
    pub fn entries(&self) -> &[Vec<u8>] {
        &self.entries
    }

    /// The site table.
    ///
    /// # Errors
    ///
    /// Those of [`SiteTable::from_entries`].
    pub fn sites(&self) -> Result<SiteTable, SiteTableError> {
        SiteTable::from_entries(self.entries.iter().map(Vec::as_slice))
    }

    /// Lays out what the warps recorded, as the device would.
    ///
    /// # Errors
    ///
    /// Those of [`SiteTable::from_entries`].
    pub fn capture(&self) -> Result<ModuleCapture, SiteTableError> {
        let layout = |capacity: u32, step: u32| match self.keep {
            Keep::First => (u32::MAX, capacity * step, buffer_shift(capacity * step)),
            Keep::Last => (capacity * step - 1, u32::MAX, buffer_shift(capacity * step)),
        };
        let slots = (self.warps.len() as u32).min(self.slots);
        let (record_mask, record_limit, record_shift) = layout(self.capacity, UNIT_BYTES);
        let mut descriptor = Descriptor {
            version: WIRE_VERSION,
            record_mask,
            record_limit,
            record_shift,
            slot_count: slots,
            block_count: u32::MAX,
            block_stride: 1,
            warp_mask: u32::MAX,
            ..Descriptor::default()
        };
        let mut module = ModuleCapture {
            sites: self.sites()?,
            headers: vec![0; slots as usize * header::BYTES],
            records: vec![0; (slots as usize) << record_shift],
            ..ModuleCapture::default()
        };
        if let Some(capacity) = self.lane_capacity {
            let (mask, limit, shift) = layout(capacity, LANE_STEP);
            descriptor.flags |= FLAG_LANES;
            (descriptor.lane_mask, descriptor.lane_limit, descriptor.lane_shift) =
                (mask, limit, shift);
            module.lanes = vec![0; (slots as usize) << shift];
            module.lane_counts = vec![0; slots as usize * 32 * 8];
        }
        module.descriptor = descriptor;
        for (slot, warp) in self.warps.iter().enumerate() {
            if slot >= slots as usize {
                module.lost.warps += 1;
                warp.lanes.values().for_each(|lane| lose(&mut module.lost, lane));
                continue;
            }
            let mut words = [0; header::WORDS];
            words[..header::ENTRY_WORDS].copy_from_slice(&warp.header.pack());
            for (&lane, recorded) in &warp.lanes {
                let units = recorded.units.as_slice();
                let (mask, limit, step, buffer) = if lane == 0 {
                    let from = slot << record_shift;
                    (record_mask, record_limit, UNIT_BYTES, &mut module.records[from..])
                } else if self.lane_capacity.is_some() {
                    let from =
                        (slot << descriptor.lane_shift) + usize::from(lane) * UNIT_BYTES as usize;
                    let counts = (slot * 32 + usize::from(lane)) * 8;
                    let count = pack_counts(units.len() as u32, recorded.attachments);
                    module.lane_counts[counts..counts + 8].copy_from_slice(&count.to_le_bytes());
                    let buffer = &mut module.lanes[from..];
                    (descriptor.lane_mask, descriptor.lane_limit, LANE_STEP, buffer)
                } else {
                    lose(&mut module.lost, recorded);
                    continue;
                };
                let mut cursor = 0;
                for unit in units {
                    if cursor < limit {
                        let at = buffer_byte(cursor, mask) as usize;
                        buffer[at..at + 8].copy_from_slice(&unit[0].to_le_bytes());
                        buffer[at + 8..at + 16].copy_from_slice(&unit[1].to_le_bytes());
                    }
                    cursor = next_cursor(cursor, step);
                }
            }
            if let Some((clock, globaltimer)) = warp.exit {
                let (units, attachments) = warp
                    .lanes
                    .get(&0)
                    .map_or((0, 0), |lane| (lane.units.len() as u32, lane.attachments));
                let exit = ExitHeader { clock, globaltimer, units, attachments };
                words[header::EXIT_START..][..header::EXIT_WORDS].copy_from_slice(&exit.pack());
            }
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            module.headers[slot * header::BYTES..][..header::BYTES].copy_from_slice(&bytes);
        }
        Ok(module)
    }

    /// A capture of this module alone, on a made-up GPU.
    ///
    /// # Errors
    ///
    /// Those of [`SiteTable::from_entries`].
    pub fn into_capture(self) -> Result<Capture, SiteTableError> {
        Ok(Capture {
            device: DeviceInfo {
                name: "synthetic".to_owned(),
                sm_count: 132,
                ..DeviceInfo::default()
            },
            modules: vec![self.capture()?],
            ..Capture::default()
        })
    }
}

fn lose(lost: &mut Lost, lane: &SyntheticLane) {
    lost.units += lane.units.len() as u64;
    lost.attachments += u64::from(lane.attachments);
}

/// The binary logarithm of the bytes between buffers of so many bytes.
fn buffer_shift(bytes: u32) -> u32 {
    bytes.next_power_of_two().trailing_zeros()
}

/// Encodes an entry whose strings are known only at run time; its key is computed.
fn encode_entry(entry: &SiteEntry<'_>, names: &[&str]) -> Vec<u8> {
    let mut bytes = vec![0; FIXED_BYTES];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = WIRE_VERSION as u8;
    bytes[5] = entry.kind as u8 | ((entry.buffer as u8) << KIND_BITS);
    bytes[6..8].copy_from_slice(&entry.strategy.to_le_bytes());
    let strings = (FIXED_STRINGS + names.len()) as u32;
    let numbers = [
        entry.ids,
        entry.line,
        entry.column,
        entry.max_threads,
        entry.min_blocks,
        entry.max_registers,
        strings,
    ];
    for (index, number) in numbers.into_iter().enumerate() {
        bytes[20 + 4 * index..][..4].copy_from_slice(&number.to_le_bytes());
    }
    let fixed = [entry.name, entry.file, entry.module, entry.unit, entry.symbol];
    for string in fixed.iter().chain(names) {
        bytes.extend_from_slice(&(string.len() as u16).to_le_bytes());
        bytes.extend_from_slice(string.as_bytes());
    }
    let key = fnv1a(&bytes);
    bytes[KEY_OFFSET..][..8].copy_from_slice(&key.to_le_bytes());
    bytes[ID_OFFSET..][..4].copy_from_slice(&entry.id.to_le_bytes());
    bytes
}

/// What one lane emitted, in order.
#[derive(Clone, Debug, Default)]
pub struct SyntheticLane {
    /// The units, recorded or not.
    pub units: Vec<[u64; 2]>,
    /// How many of them are attachments.
    pub attachments: u32,
}

/// What one warp emitted.
#[derive(Clone, Debug)]
pub struct SyntheticWarp {
    /// The entry half of its header.
    pub header: SlotHeader,
    /// `%clock64` and `%globaltimer` at its exit, if it left.
    pub exit: Option<(u64, u64)>,
    /// What its lanes emitted.
    pub lanes: BTreeMap<u8, SyntheticLane>,
    lane: u8,
    /// When the regions of a lane, site and track began that have not ended.
    begun: BTreeMap<(u8, u32, Option<u32>), Vec<u64>>,
}

impl SyntheticWarp {
    /// Warp 0 of block 0 of a launch of one block of 32 threads on SM 0, entered at these readings
    /// of `%clock64` and `%globaltimer`. Change [`SyntheticWarp::header`] for another.
    #[must_use]
    pub fn new(kernel: u32, clock: u64, globaltimer: u64) -> Self {
        Self {
            header: SlotHeader {
                clock,
                globaltimer,
                version: WIRE_VERSION,
                kernel,
                record_clock: Clock::Cycles,
                grid_id: 1,
                block: [0, 0, 0],
                grid_dim: [1, 1, 1],
                block_dim: [32, 1, 1],
                warp: 0,
                sm: 0,
                cluster_rank: None,
                track: 0,
                strategy: u32::from(Strategy::Warp.code()),
            },
            exit: None,
            lanes: BTreeMap::new(),
            lane: 0,
            begun: BTreeMap::new(),
        }
    }

    /// Lets another lane record from here on.
    pub fn lane(&mut self, lane: u8) -> &mut Self {
        self.lane = lane;
        self
    }

    /// Appends a unit as it is.
    pub fn unit(&mut self, unit: [u64; 2]) -> &mut Self {
        self.lanes.entry(self.lane).or_default().units.push(unit);
        self
    }

    /// A whole region.
    pub fn range(&mut self, site: u32, track: Option<u32>, start: u64, end: u64) -> &mut Self {
        let track = track.map_or(0, track_field);
        self.unit([range_data(track, start), stamp(tag(range_kind(track), site), end)])
    }

    /// A whole region and its value, which is not negative, in one unit.
    pub fn range_unsigned(&mut self, site: u32, start: u64, end: u64, value: u16) -> &mut Self {
        self.unit([stamp(value.into(), start), stamp(tag(RecordKind::RangeUnsigned, site), end)])
    }

    /// A whole region and its signed value in one unit.
    pub fn range_signed(&mut self, site: u32, start: u64, end: u64, value: i16) -> &mut Self {
        let field = i32::from(value).cast_unsigned() & FIELD_MASK;
        self.unit([stamp(field, start), stamp(tag(RecordKind::RangeSigned, site), end)])
    }

    /// The begin of a region, for who watches.
    pub fn begin(&mut self, site: u32, track: Option<u32>, ticks: u64) -> &mut Self {
        self.begun.entry((self.lane, site, track)).or_default().push(ticks);
        self.plain(RecordKind::Begin, site, track, ticks)
    }

    /// That region's end, which says when it began, after the record of that.
    pub fn watched(&mut self, site: u32, track: Option<u32>, start: u64, end: u64) -> &mut Self {
        let track = track.map_or(0, track_field);
        self.unit([stamp(track, start), stamp(tag(RecordKind::RangeWatched, site), end)])
    }

    /// The end of the region of this site and track that this lane began last, read at once after the record
    /// of its begin.
    ///
    /// # Panics
    ///
    /// If the lane has begun none.
    pub fn end(&mut self, site: u32, track: Option<u32>, ticks: u64) -> &mut Self {
        let begun = self.begun.get_mut(&(self.lane, site, track)).and_then(Vec::pop);
        let start = begun.expect("the region has begun");
        self.watched(site, track, start, ticks)
    }

    /// A region that was never ended, whose token went out of scope at `dropped`.
    pub fn open(&mut self, site: u32, track: Option<u32>, start: u64, dropped: u64) -> &mut Self {
        let track = track.map_or(0, track_field);
        self.unit([stamp(track, start), stamp(tag(RecordKind::Open, site), dropped)])
    }

    /// A mark without a value.
    pub fn mark(&mut self, site: u32, track: Option<u32>, ticks: u64) -> &mut Self {
        self.plain(RecordKind::Mark, site, track, ticks)
    }

    /// A mark with a value.
    pub fn value(&mut self, site: u32, ticks: u64, value: Value) -> &mut Self {
        let (kind, word) = match value {
            Value::Unsigned(value) => (RecordKind::ValueUnsigned, value),
            Value::Signed(value) => (RecordKind::ValueSigned, value.cast_unsigned()),
            Value::Float(value) => (RecordKind::ValueFloat, value.to_bits()),
        };
        self.unit([word, stamp(tag(kind, site), ticks)])
    }

    /// The value of the region whose `range` or `end` was just recorded.
    pub fn attach(&mut self, site: u32, ticks: u64, value: Value) -> &mut Self {
        self.value(site, ticks, value);
        self.lanes.entry(self.lane).or_default().attachments += 1;
        self
    }

    /// A reading of `%clock64` and `%globaltimer`.
    pub fn anchor(&mut self, clock: u64, globaltimer: u64) -> &mut Self {
        self.unit([globaltimer, stamp(tag(RecordKind::Anchor, 0), clock)]);
        self.lanes.entry(self.lane).or_default().attachments += 1;
        self
    }

    /// The warp's exit, at these readings of `%clock64` and `%globaltimer`.
    pub fn leave(&mut self, clock: u64, globaltimer: u64) -> &mut Self {
        self.exit = Some((clock, globaltimer));
        self
    }

    fn plain(&mut self, kind: RecordKind, site: u32, track: Option<u32>, ticks: u64) -> &mut Self {
        self.unit([u64::from(track.map_or(0, track_field)), stamp(tag(kind, site), ticks)])
    }
}
