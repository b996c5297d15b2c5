//! Captures of any size, written straight into their arrays.

use profiler_wire::descriptor::Lost;
use profiler_wire::header;
use profiler_wire::record::{
    RecordKind, UNIT_BYTES, range_data, range_kind, stamp, tag, track_field,
};
use profiler_wire::{Descriptor, ExitHeader, SiteKind, SlotHeader, Strategy, WIRE_VERSION};

use super::{SyntheticModule, SyntheticWarp, buffer_shift};
use profiler_trace::{Capture, DeviceInfo, ModuleCapture, SiteTableError};

/// What the warps of a large capture record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Tiles of a kernel: one region around nine others.
    Regions,
    /// The same, where one in ten regions has a value, one is of two records, and one is a mark.
    Mixed,
    /// The same tiles, where each of the nine regions holds a value of 16 bits.
    HeldValues,
    /// The same tiles, all on one track of a number, where the regions of all warps are laid out together.
    OneTrack,
    /// A row of marks.
    Marks,
}

impl Content {
    /// What takes its own time to decode and to write, and what commands call each.
    pub const ALL: [(&'static str, Self); 5] = [
        ("regions", Self::Regions),
        ("mixed", Self::Mixed),
        ("values", Self::HeldValues),
        ("track", Self::OneTrack),
        ("marks", Self::Marks),
    ];
}

/// Units that one slot holds.
const UNITS: u32 = 4096;
/// The SMs of the made-up GPU.
const SMS: u32 = 132;
/// Cycles of one pair of readings, and nanoseconds, as the clock runs at 2 GHz.
const CYCLES_PER_NS: u64 = 2;
/// Nanoseconds from one reading of the timer to the next that differs.
const TIMER_STEP: u64 = 32;

/// A capture of so many records, in slots of 4096 units: a launch of one kernel, blocks of 4 warps,
/// 132 SMs at 2 GHz, and times that a simple generator of random numbers made.
///
/// # Errors
///
/// Those of [`profiler_trace::SiteTable::from_entries`].
pub fn sized(records: u64, content: Content) -> Result<Capture, SiteTableError> {
    let mut module = SyntheticModule::new(super::Keep::First, UNITS);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let tile = module.site(SiteKind::Region, "tile");
    let parts = ["load", "wait", "multiply", "reduce", "store"]
        .map(|name| module.site(SiteKind::Region, name));
    let bytes = module.site_with_unit(SiteKind::Region, "copy", "bytes");
    let mark = module.site(SiteKind::Mark, "step");
    let sites = Sites { tile, parts, bytes, mark };
    let shift = buffer_shift(UNITS * UNIT_BYTES);
    let slots = records.div_ceil(sites.records_of_slot(content)) as u32;
    let mut capture = ModuleCapture {
        sites: module.sites()?,
        descriptor: Descriptor {
            version: WIRE_VERSION,
            record_mask: u32::MAX,
            record_limit: UNITS * UNIT_BYTES,
            record_shift: shift,
            slot_count: slots,
            block_count: u32::MAX,
            block_stride: 1,
            warp_mask: u32::MAX,
            ..Descriptor::default()
        },
        headers: Vec::with_capacity(slots as usize * header::BYTES),
        records: Vec::with_capacity((slots as usize) << shift),
        lost: Lost::default(),
        ..ModuleCapture::default()
    };
    let mut left = records;
    for slot in 0..slots {
        let block = slot / 4;
        let entry = Moment::new(slot);
        let mut writer = Writer {
            records: &mut capture.records,
            random: u64::from(slot) << 32 | 0x9e37_79b9,
            units: 0,
            attachments: 0,
            left,
        };
        let end = sites.fill(content, &mut writer, entry.clock + 50);
        let Writer { units, attachments, left: rest, .. } = writer;
        left = rest;
        let last = (slot as usize + 1) << shift;
        capture.records.resize(last, 0);
        let exit_clock = (end + 50).next_multiple_of(TIMER_STEP * CYCLES_PER_NS);
        let header = SlotHeader {
            strategy: u32::from(Strategy::Warp.code()),
            block: [block, 0, 0],
            grid_dim: [slots.div_ceil(4), 1, 1],
            block_dim: [128, 1, 1],
            warp: slot % 4,
            sm: block % SMS,
            ..SyntheticWarp::new(kernel, entry.clock, entry.globaltimer).header
        };
        let exit = ExitHeader {
            clock: exit_clock,
            globaltimer: entry.globaltimer + (exit_clock - entry.clock) / CYCLES_PER_NS,
            units,
            attachments,
        };
        let halves = header.pack().into_iter().chain(exit.pack());
        let words = halves.chain([0; 4]);
        capture.headers.extend(words.flat_map(u64::to_le_bytes));
    }
    Ok(Capture {
        device: DeviceInfo { name: "synthetic".to_owned(), sm_count: SMS, ..DeviceInfo::default() },
        modules: vec![capture],
        ..Capture::default()
    })
}

/// Both clocks when a warp enters: waves of blocks follow each other.
struct Moment {
    clock: u64,
    globaltimer: u64,
}

impl Moment {
    fn new(slot: u32) -> Self {
        let (wave, sm) = (u64::from(slot / (4 * SMS)), u64::from(slot / 4 % SMS));
        let ns = 64_000 + 1_600_000 * wave + 32 * u64::from(slot % 4);
        Self { clock: ns * CYCLES_PER_NS + 1_000_000 * sm, globaltimer: ns }
    }
}

struct Sites {
    tile: u32,
    parts: [u32; 5],
    bytes: u32,
    mark: u32,
}

struct Writer<'c> {
    records: &'c mut Vec<u8>,
    random: u64,
    units: u32,
    attachments: u32,
    /// Records still to be written, over all slots.
    left: u64,
}

impl Writer<'_> {
    fn unit(&mut self, data: u64, kind: RecordKind, site: u32, ticks: u64) {
        self.records.extend_from_slice(&data.to_le_bytes());
        self.records.extend_from_slice(&stamp(tag(kind, site), ticks).to_le_bytes());
        self.units += 1;
    }

    fn record(&mut self, data: u64, kind: RecordKind, site: u32, ticks: u64) {
        if self.left > 0 {
            self.unit(data, kind, site, ticks);
            self.left -= 1;
        }
    }

    /// A region on a track of this number.
    fn tracked(&mut self, begin: u64, site: u32, number: u32, ticks: u64) {
        let track = track_field(number);
        self.record(range_data(track, begin), range_kind(track), site, ticks);
    }

    fn random(&mut self, below: u64) -> u64 {
        // Constants of a common linear congruential generator (Knuth, MMIX).
        self.random =
            self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.random >> 33) % below
    }
}

/// Records of a tile.
const TILE: u32 = 10;

impl Sites {
    fn records_of_slot(&self, content: Content) -> u64 {
        let tile = match content {
            // A value, and the begin of a region beside its end.
            Content::Mixed => TILE + 2,
            _ => TILE,
        };
        let records = UNITS / tile * TILE;
        u64::from(if content == Content::Mixed { records + UNITS / tile } else { records })
    }

    /// Fills a buffer from a moment on; returns when the last record was written.
    fn fill(&self, content: Content, writer: &mut Writer<'_>, mut now: u64) -> u64 {
        let buffer = |writer: &Writer<'_>| writer.units + TILE + 2 <= UNITS && writer.left > 0;
        while buffer(writer) {
            let start = now;
            now += 8;
            for part in 0..TILE - 1 {
                let begin = now;
                now += 20 + writer.random(400);
                let site = self.parts[part as usize % self.parts.len()];
                match (content, part) {
                    (Content::Marks, _) => {
                        writer.record(0, RecordKind::Mark, self.mark, now);
                    }
                    (Content::Mixed, 2) => {
                        writer.record(0, RecordKind::Mark, self.mark, now);
                    }
                    (Content::Mixed, 4) => {
                        writer.record(0, RecordKind::Begin, site, begin);
                        writer.record(stamp(0, begin), RecordKind::RangeWatched, site, now);
                    }
                    (Content::Mixed, 6) if writer.left > 0 => {
                        writer.record(begin, RecordKind::Range, self.bytes, now);
                        let bytes = 16 * writer.random(1024);
                        writer.unit(bytes, RecordKind::ValueUnsigned, self.bytes, now);
                        writer.attachments += 1;
                    }
                    (Content::HeldValues, _) => {
                        let value = writer.random(1 << 16);
                        let data = stamp(value as u32, begin);
                        writer.record(data, RecordKind::RangeUnsigned, self.bytes, now);
                    }
                    (Content::OneTrack, _) => writer.tracked(begin, site, 0, now),
                    _ => writer.record(begin, RecordKind::Range, site, now),
                }
                now += 6;
            }
            match content {
                Content::Marks => writer.record(0, RecordKind::Mark, self.mark, now),
                Content::Regions | Content::HeldValues => {
                    writer.record(start, RecordKind::Range, self.tile, now);
                }
                Content::Mixed => {
                    writer.tracked(start, self.tile, writer.units / 1024, now);
                }
                Content::OneTrack => writer.tracked(start, self.tile, 0, now),
            }
            now += 4;
        }
        now
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, sized};
    use profiler_trace::{Capture, RecordCost, decode};

    #[test]
    fn nothing_is_odd_whatever_is_recorded_and_subtracted() {
        for (name, content) in Content::ALL {
            let capture = sized(10_000, content).expect("the sites are whole");
            let record_cost = Some(RecordCost::uniform(2.0, 5.0));
            let mut trace = decode(&Capture { record_cost, ..capture });
            let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
            let expected = match content {
                Content::Mixed => regions,
                Content::Marks => 0,
                _ => 10_000,
            };
            assert_eq!(regions, expected, "{name}");
            trace.subtract_record_cost();
            assert!(trace.cost_subtracted);
            assert_eq!(trace.diagnostics.list, [], "{name}");
        }
    }
}
