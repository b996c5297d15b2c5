//! The launches that a session with linear slots was told of, and whether what the kernels wrote
//! agrees with them.

use std::ops::Range;

use profiler_wire::header::{self, Dim3, SlotHeader};

use crate::error::Error;
use crate::options::Options;

/// Launches since the last reset, in the order in which they were announced.
#[derive(Debug, Default)]
pub(crate) struct LinearSlots {
    /// Those that slots were there for: at most one a slot.
    launches: Vec<Launch>,
    /// The first slot of the next launch; may lie after the last.
    next_slot: u64,
    /// The first slot of the last launch, and how many launches there were before it.
    before: (u64, usize),
}

/// An announced launch.
#[derive(Debug)]
struct Launch {
    slots: Range<u32>,
    grid: Dim3,
    block: Dim3,
}

impl LinearSlots {
    /// Takes slots of `slot_count` for a launch and gives the first.
    pub(crate) fn add(
        &mut self,
        options: &Options,
        slot_count: u32,
        grid: Dim3,
        block: Dim3,
    ) -> u32 {
        let start = self.slots_in_use(slot_count);
        self.before = (self.next_slot, self.launches.len());
        self.next_slot = self.next_slot.saturating_add(options.selected_warps(grid, block));
        let slots = start..self.slots_in_use(slot_count);
        if !slots.is_empty() {
            self.launches.push(Launch { slots, grid, block });
        }
        // After the last slot all bases are alike: every warp of the launch finds no slot.
        start
    }

    /// Takes back the last launch, which was refused: nothing of it ran.
    pub(crate) fn take_back(&mut self) {
        let (next_slot, launches) = self.before;
        self.next_slot = next_slot;
        self.launches.truncate(launches);
    }

    /// How many of `slot_count` slots were taken, from the first on.
    pub(crate) fn slots_in_use(&self, slot_count: u32) -> u32 {
        u32::try_from(self.next_slot).unwrap_or(u32::MAX).min(slot_count)
    }

    /// How many slots would have done for all of them.
    pub(crate) fn needed_slots(&self) -> u64 {
        self.next_slot
    }

    /// Checks what the kernels wrote: in the slots of each launch only headers of one launch of
    /// that shape, each where its warp belongs, and none after the last launch's slots; and no more
    /// warps without a slot than the announced launches had.
    ///
    /// Slots may be empty: those of kernels that are not profiled, that never began, or that failed.
    ///
    /// `headers` are those of the slots in use, `after` is the one after them, or zeros
    /// where there is none. It stands for all further ones: a launch fills its slots without gaps
    /// from a base that is never after the slots in use, so one that wrote to any slot after them
    /// wrote to this one.
    pub(crate) fn check(
        &self,
        options: &Options,
        slot_count: u32,
        headers: &[u8],
        after: &[u8],
        warps_without_slot: u64,
    ) -> Result<(), Error> {
        let announced_without_slot = self.next_slot.saturating_sub(u64::from(slot_count));
        if warps_without_slot > announced_without_slot || is_written(after) {
            return Err(Error::UnannouncedLaunch);
        }
        for launch in &self.launches {
            let bytes = launch.slots.start as usize * header::BYTES
                ..launch.slots.end as usize * header::BYTES;
            let mut grid_id = None;
            for (index, bytes) in headers[bytes].chunks_exact(header::BYTES).enumerate() {
                let Some(header) = SlotHeader::unpack(&header::words(bytes)) else { continue };
                let belongs = header.grid_dim == launch.grid
                    && header.block_dim == launch.block
                    && *grid_id.get_or_insert(header.grid_id) == header.grid_id
                    && options.index_of_warp(&header) == Some(index as u64);
                if !belongs {
                    return Err(Error::UnannouncedLaunch);
                }
            }
        }
        Ok(())
    }
}

fn is_written(header: &[u8]) -> bool {
    SlotHeader::unpack(&header::words(header)).is_some()
}
