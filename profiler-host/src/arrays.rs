//! The arrays of one module in a session: which slots are in use, and reading them back.

use std::ops::Range;

use profiler_trace::{ModuleCapture, SiteTable};
use profiler_wire::descriptor::{CLAIM_STRIDE, Descriptor, Lost};
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::UNIT_BYTES;

use crate::error::Error;
use crate::guards::Guards;
use crate::layout::Layout;
use crate::options::Options;

/// Memory of a session: the GPU's, or the emulator's.
pub(crate) trait Memory {
    /// Copies `rows` rows of `width` bytes, `pitch` bytes apart from `address` on, to the same
    /// places of `into`, which begins where the first row does and has `rows * pitch` bytes.
    fn read(&self, address: u64, rows: Rows, into: &mut [u8]) -> Result<(), Error>;

    /// Replaces whole words from `address` on, and waits for that.
    fn write_at(&self, address: u64, from: &[u8]) -> Result<(), Error>;
}

/// Rows of bytes in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) count: usize,
    pub(crate) width: usize,
    pub(crate) pitch: usize,
}

impl Rows {
    /// One stretch without gaps.
    pub(crate) fn all(bytes: usize) -> Self {
        Self { count: 1, width: bytes, pitch: bytes }
    }
}

/// The arrays of one module.
#[derive(Debug)]
pub(crate) struct Arrays {
    pub(crate) options: Options,
    pub(crate) layout: Layout,
    pub(crate) descriptor: Descriptor,
    /// Linear slots: the first of the next launch since the last reset, and of the one before; may lie after
    /// the last slot.
    pub(crate) next_slot: u64,
    before: u64,
    /// `None` unless they were asked for.
    guards: Option<Guards>,
}

impl Arrays {
    /// Arrays that lie at the aligned `base`.
    pub(crate) fn new(options: Options, layout: Layout, base: u64) -> Self {
        let descriptor = layout.descriptor(&options, base);
        let guards = options.guards.then(|| Guards::new(&layout, base));
        Self { options, layout, descriptor, next_slot: 0, before: 0, guards }
    }

    /// Whether there are guards, for which [`prepare`](Self::prepare) writes all of the memory.
    #[cfg(feature = "cuda")]
    pub(crate) fn has_guards(&self) -> bool {
        self.guards.is_some()
    }

    /// Writes the guards, if there are any, and zeros between them. Without guards the memory must
    /// be zero already.
    pub(crate) fn prepare(&self, memory: &impl Memory) -> Result<(), Error> {
        self.guards.as_ref().map_or(Ok(()), |guards| guards.fill(memory))
    }

    /// Whether slots are linear.
    pub(crate) fn is_linear(&self) -> bool {
        self.layout.claims.is_none()
    }

    /// Takes slots for a launch and gives the first: what `slot_base` must be when it runs.
    pub(crate) fn announce(&mut self, grid: [u32; 3], block: [u32; 3]) -> u32 {
        if !self.is_linear() {
            return 0;
        }
        let start = self.linear_slots_in_use();
        self.before = self.next_slot;
        self.next_slot = self.next_slot.saturating_add(self.options.selected_warps(grid, block));
        // After the last slot all bases are alike: every warp of the launch finds no slot.
        start
    }

    /// Takes back the last launch that was announced: it was refused, and nothing of it ran.
    pub(crate) fn take_back(&mut self) {
        self.next_slot = self.before;
    }

    /// How many linear slots were taken, from the first on.
    fn linear_slots_in_use(&self) -> u32 {
        u32::try_from(self.next_slot).unwrap_or(u32::MAX).min(self.layout.slot_count)
    }

    /// Forgets what was launched, and goes on in memory at the aligned `base`, which must be as at
    /// first.
    pub(crate) fn reset_at(&mut self, base: u64) {
        *self = Self::new(self.options.clone(), self.layout.clone(), base);
    }

    /// Checks the guards, if there are any.
    ///
    /// # Errors
    ///
    /// [`Error::GuardsOverwritten`].
    pub(crate) fn check_guards(&self, memory: &impl Memory) -> Result<(), Error> {
        self.guards.as_ref().map_or(Ok(()), |guards| guards.check(memory))
    }

    /// Reads back the slots in use.
    pub(crate) fn read_back(
        &self,
        memory: &impl Memory,
        sites: SiteTable,
    ) -> Result<ModuleCapture, Error> {
        self.check_guards(memory)?;
        let in_use = self.in_use(memory)?;
        let slots = in_use.last().map_or(0, |range| range.end as usize);
        let buffer = self.layout.buffer;
        let needed = u32::try_from(self.next_slot).unwrap_or(u32::MAX);
        let mut capture = ModuleCapture {
            sites,
            descriptor: Descriptor { slot_base: needed, ..self.descriptor },
            headers: self.layout.zeros(slots * header::BYTES)?,
            records: self.layout.zeros(slots << buffer.shift)?,
            ..ModuleCapture::default()
        };
        for range in &in_use {
            read_slots(
                memory,
                self.descriptor.headers,
                header::BYTES,
                range,
                &mut capture.headers,
            )?;
        }
        let mut lost = [0; Lost::BYTES];
        memory.read(self.descriptor.lost, Rows::all(Lost::BYTES), &mut lost)?;
        capture.lost = Lost::from_bytes(&lost);
        for range in &in_use {
            let units = units_to_read(&capture.headers, range, buffer.capacity());
            let pitch = 1 << buffer.shift;
            let rows = Rows {
                count: range.len(),
                width: (u64::from(units) * u64::from(UNIT_BYTES)).min(buffer.stride()) as usize,
                pitch,
            };
            let bytes = range.start as usize * pitch..range.end as usize * pitch;
            if rows.width > 0 {
                let address = self.descriptor.records + bytes.start as u64;
                memory.read(address, rows, &mut capture.records[bytes])?;
            }
        }
        if let Some(buffer) = self.layout.lane_buffer {
            let bytes_of_slot = buffer.stride() as usize;
            capture.lanes = self.layout.zeros(slots * bytes_of_slot)?;
            capture.lane_counts = self.layout.zeros(slots * 32 * 8)?;
            for range in &in_use {
                let (lanes, counts) = (&mut capture.lanes, &mut capture.lane_counts);
                read_slots(memory, self.descriptor.lanes, bytes_of_slot, range, lanes)?;
                read_slots(memory, self.descriptor.lane_counts, 32 * 8, range, counts)?;
            }
        }
        Ok(capture)
    }

    /// The slots in use, in order and apart from each other.
    fn in_use(&self, memory: &impl Memory) -> Result<Vec<Range<u32>>, Error> {
        let slot_count = self.layout.slot_count;
        let Some(claims) = self.layout.claims else {
            let end = self.linear_slots_in_use();
            return Ok(if end == 0 { Vec::new() } else { std::iter::once(0..end).collect() });
        };
        let mut bytes = vec![0; claims.counters() * CLAIM_STRIDE as usize];
        let rows = Rows::all(bytes.len());
        memory.read(self.descriptor.claims, rows, &mut bytes)?;
        let counters: Vec<u64> = bytes
            .chunks_exact(CLAIM_STRIDE as usize)
            .filter_map(|counter| counter.first_chunk())
            .map(|counter| u64::from_le_bytes(*counter))
            .collect();
        Ok(claims.in_use(&counters, slot_count))
    }
}

/// Reads what `range` of slots has in an array with `bytes_of_slot` bytes a slot.
fn read_slots(
    memory: &impl Memory,
    array: u64,
    bytes_of_slot: usize,
    range: &Range<u32>,
    into: &mut [u8],
) -> Result<(), Error> {
    let bytes = range.start as usize * bytes_of_slot..range.end as usize * bytes_of_slot;
    memory.read(array + bytes.start as u64, Rows::all(bytes.len()), &mut into[bytes])
}

/// Units from the begin of each buffer of the range that may hold records: as many as the busiest
/// warp emitted, and all where a warp did not say how many.
fn units_to_read(headers: &[u8], range: &Range<u32>, all: u32) -> u32 {
    let bytes = range.start as usize * header::BYTES..range.end as usize * header::BYTES;
    headers[bytes]
        .chunks_exact(header::BYTES)
        .map(|header| ExitHeader::unpack(&header::words(header)).map_or(all, |exit| exit.units))
        .max()
        .unwrap_or(0)
        .min(all)
}
