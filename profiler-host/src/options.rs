//! What a session is asked for, before any memory is taken.

use std::ops::{Bound, RangeBounds};

use profiler_wire::record::UNIT_WORDS;

use crate::error::OptionsError;

/// The most words of a room: 1 GiB, so that byte offsets within a room fit 32 bits.
pub const WORDS_MAX: u32 = (1 << 27) - UNIT_WORDS as u32;
/// The most slots of a session.
pub const WARPS_MAX: u32 = 1 << 24;
/// Words of a warp's room unless the builder is told otherwise: 511 units, which with the unit that
/// absorbs what does not fit take 8 KiB.
pub const DEFAULT_WORDS_PER_WARP: u32 = 1022;
/// Words of the room of each lane but lane 0, likewise: 31 units, 512 bytes.
pub const DEFAULT_WORDS_PER_LANE: u32 = 62;

/// What to keep of more records than a room takes. What is not kept is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The first ones. The room takes exactly what was asked for.
    #[default]
    First,
    /// The last ones: the room is a ring. Its size is rounded up to a power of two units.
    Last,
}

/// How a warp finds its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Slots {
    /// [`Slots::Linear`] where every launch passes through the session (the sessions of a
    /// [`Backend`](crate::Backend)), [`Slots::Claimed`] elsewhere.
    #[default]
    Auto,
    /// By its index in the grid: cheapest for the kernel. Every launch must be announced to the
    /// session, and all in one stream.
    Linear,
    /// By an atomic at entry. Any launch in any stream, also one that the session does not see.
    Claimed,
}

/// Which lanes besides lane 0 of each warp get rooms of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LaneRooms {
    /// All lanes, where the module has a site at which lanes other than lane 0 may record.
    #[default]
    WhereNeeded,
    /// All lanes.
    Always,
    /// None; what other lanes record is counted as lost.
    Never,
}

/// Where a session takes the cost of a record from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cost {
    /// Nowhere: the trace does not say it.
    Unknown,
    /// The calibration kernel, run when the session begins.
    Measure,
    /// The user.
    Known(profiler_trace::RecordCost),
}

/// Everything that a session is asked for; made and checked by [`crate::ProfilerBuilder`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Options {
    pub(crate) words_per_warp: u32,
    pub(crate) words_per_lane: u32,
    pub(crate) keep: Keep,
    pub(crate) slots: Slots,
    pub(crate) lane_rooms: LaneRooms,
    pub(crate) warp_mask: u32,
    pub(crate) block_first: u32,
    /// `u32::MAX` for all.
    pub(crate) block_count: u32,
    pub(crate) block_stride: u32,
    /// `None`: as many as fit a moderate amount of memory.
    pub(crate) max_warps: Option<u32>,
    /// Whether the descriptor is the session's own, for kernels that take it as a parameter.
    pub(crate) apart: bool,
    pub(crate) export: bool,
    pub(crate) record_cost: Cost,
    pub(crate) subtract_record_cost: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            words_per_warp: DEFAULT_WORDS_PER_WARP,
            words_per_lane: DEFAULT_WORDS_PER_LANE,
            keep: Keep::default(),
            slots: Slots::default(),
            lane_rooms: LaneRooms::default(),
            warp_mask: u32::MAX,
            block_first: 0,
            block_count: u32::MAX,
            block_stride: 1,
            max_warps: None,
            apart: false,
            export: true,
            record_cost: Cost::Unknown,
            subtract_record_cost: false,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        for (what, words) in
            [("words_per_warp", self.words_per_warp), ("words_per_lane", self.words_per_lane)]
        {
            if words > WORDS_MAX {
                return Err(OptionsError::TooManyWords { what, words });
            }
            if !words.is_multiple_of(UNIT_WORDS as u32) {
                return Err(OptionsError::OddWords { what, words });
            }
        }
        if self.warp_mask == 0 {
            return Err(OptionsError::NoWarps);
        }
        if self.block_count == 0 {
            return Err(OptionsError::NoBlocks);
        }
        if self.block_stride == 0 {
            return Err(OptionsError::ZeroStride);
        }
        match self.max_warps {
            Some(warps) if warps == 0 || warps > WARPS_MAX => {
                return Err(OptionsError::MaxWarps(warps));
            }
            _ => {}
        }
        Ok(())
    }

    /// How many warps of a launch the selection takes; what linear slots of that launch need.
    pub(crate) fn selected_warps(&self, grid: [u32; 3], block: [u32; 3]) -> u64 {
        let product =
            |dims: [u32; 3]| dims.iter().map(|&extent| u64::from(extent)).product::<u64>();
        let behind_first = product(grid).saturating_sub(u64::from(self.block_first));
        let mut blocks = behind_first.div_ceil(u64::from(self.block_stride));
        if self.block_count != u32::MAX {
            blocks = blocks.min(u64::from(self.block_count));
        }
        let warps_of_block = product(block).div_ceil(32).min(32);
        let present = ((1_u64 << warps_of_block) - 1) as u32;
        blocks.saturating_mul(u64::from((self.warp_mask & present).count_ones()))
    }

    pub(crate) fn select_blocks(&mut self, blocks: &impl RangeBounds<u32>) {
        self.block_first = first_of(blocks);
        self.block_count = match end_of(blocks) {
            None => u32::MAX,
            Some(end) => {
                let count = end.saturating_sub(u64::from(self.block_first));
                // u32::MAX stands for "all", which a range that long is.
                u32::try_from(count).unwrap_or(u32::MAX)
            }
        };
    }

    pub(crate) fn select_warps(&mut self, warps: &impl RangeBounds<u32>) {
        let first = u64::from(first_of(warps)).min(32);
        let end = end_of(warps).unwrap_or(32).min(32).max(first);
        self.warp_mask = (((1_u64 << end) - 1) & !((1_u64 << first) - 1)) as u32;
    }
}

fn first_of(range: &impl RangeBounds<u32>) -> u32 {
    match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    }
}

/// One behind the last; `None` for an open end.
fn end_of(range: &impl RangeBounds<u32>) -> Option<u64> {
    match range.end_bound() {
        Bound::Included(&last) => Some(u64::from(last) + 1),
        Bound::Excluded(&end) => Some(u64::from(end)),
        Bound::Unbounded => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_become_masks_and_counts() {
        let mut options = Options::default();
        options.select_warps(&(0..4));
        assert_eq!(options.warp_mask, 0b1111);
        options.select_warps(&(3..=3));
        assert_eq!(options.warp_mask, 0b1000);
        options.select_warps(&..);
        assert_eq!(options.warp_mask, u32::MAX);
        options.select_warps(&(31..));
        assert_eq!(options.warp_mask, 1 << 31);
        options.select_warps(&(40..50));
        assert_eq!(options.check(), Err(OptionsError::NoWarps));

        let mut options = Options::default();
        options.select_blocks(&(5..9));
        assert_eq!((options.block_first, options.block_count), (5, 4));
        options.select_blocks(&(7..));
        assert_eq!((options.block_first, options.block_count), (7, u32::MAX));
        options.select_blocks(&(9..9));
        assert_eq!(options.check(), Err(OptionsError::NoBlocks));
    }

    #[test]
    fn selected_warps_are_counted_as_the_device_counts_them() {
        let mut options = Options::default();
        assert_eq!(options.selected_warps([4097, 1, 1], [7, 5, 3]), 4097 * 4);
        options.select_warps(&(2..));
        assert_eq!(options.selected_warps([4, 2, 1], [96, 1, 1]), 8, "only warp 2 is there");
        assert_eq!(options.selected_warps([4, 2, 1], [32, 1, 1]), 0);
        options.select_warps(&..);
        options.select_blocks(&(3..));
        options.block_stride = 4;
        // Blocks 3, 7 and 11 of 0..12.
        assert_eq!(options.selected_warps([12, 1, 1], [64, 1, 1]), 6);
        options.block_count = 2;
        assert_eq!(options.selected_warps([12, 1, 1], [64, 1, 1]), 4);
        assert_eq!(options.selected_warps([3, 1, 1], [64, 1, 1]), 0);
        options = Options::default();
        assert_eq!(options.selected_warps([u32::MAX, 65_535, 1], [1024, 1, 1]) >> 5, {
            u64::from(u32::MAX) * 65_535
        });
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().expect_err("must be refused")
        };
        assert!(matches!(with(|o| o.words_per_warp = 3), OptionsError::OddWords { words: 3, .. }));
        assert!(matches!(with(|o| o.words_per_lane = 1 << 30), OptionsError::TooManyWords { .. }));
        assert_eq!(with(|o| o.block_stride = 0), OptionsError::ZeroStride);
        assert_eq!(with(|o| o.max_warps = Some(0)), OptionsError::MaxWarps(0));
        let mut zero = Options::default();
        (zero.words_per_warp, zero.words_per_lane) = (0, 0);
        assert_eq!(zero.check(), Ok(()), "a session that only counts is legal");
    }
}
