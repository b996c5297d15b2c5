//! The options of a session.

use std::ops::{Bound, RangeBounds};

use profiler_wire::header::Dim3;

use crate::error::Error;
use crate::host_spans::HostRecorder;

/// The most records of a buffer: 1 GiB, so that byte offsets within a buffer fit 32 bits.
pub(crate) const RECORDS_PER_WARP_MAX: u32 = (1 << 26) - 1;
/// The most records of the buffer of each lane but lane 0: the 32 of a warp together have 1 GiB, too.
pub(crate) const RECORDS_PER_LANE_MAX: u32 = (1 << 21) - 1;
/// The most slots of a session.
pub(crate) const WARPS_MAX: u32 = 1 << 24;
/// Records of a warp's buffer by default: 8 KiB.
const DEFAULT_RECORDS_PER_WARP: u32 = 512;
/// Records of the buffer of each lane but lane 0 by default: 512 bytes.
const DEFAULT_RECORDS_PER_LANE: u32 = 32;

/// Blocks, from the first selected one on, of which a stride above 1 takes any: kernels divide by
/// the stride in 32 bits.
const STRIDED_BLOCKS: u64 = 1 << 32;

/// Which records to keep if there are more than a buffer takes. Dropped records are counted exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The first ones. The buffer takes exactly what was asked for.
    #[default]
    First,
    /// The last ones: the buffer is a ring. Its size is rounded up to a power of two units. It turns
    /// until the lane's count stops, at 268 million records for lane 0 and 8.4 million for each of
    /// the others; the trace says if that happened.
    Last,
}

/// How a warp finds its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Slots {
    /// [`Slots::Claimed`] in sessions of modules, whose launches do not pass through the session.
    /// [`Slots::Linear`] in sessions of a [`Backend`](crate::Backend), with one exception: on a GPU, if
    /// [`for_grid`](crate::ProfilerBuilder::for_grid) says that there are several launches and at most
    /// 48 warps an SM record in each, a claim is cheaper than the write between two launches.
    #[default]
    Auto,
    /// By its index in the grid, in sessions of a [`Backend`](crate::Backend). Between two launches the
    /// stream writes a word, which on an H200 takes 1.4 to 1.5 µs.
    Linear,
    /// By an atomic at entry, and another when an SM's shard is used up: up to 0.6 µs on an H200 if all
    /// warps of a launch enter at once, more if blocks follow each other. Serves any launch in any stream,
    /// also one that the session does not see. Takes up to twice the memory.
    Claimed,
}

/// The source of the cost of a record.
#[allow(clippy::large_enum_variant, reason = "a session has one of it")]
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
    pub(crate) records_per_warp: u32,
    pub(crate) records_per_lane: u32,
    pub(crate) keep: Keep,
    pub(crate) slots: Slots,
    /// `None`: where a site of the module needs them.
    pub(crate) lane_buffers: Option<bool>,
    pub(crate) warp_mask: u32,
    pub(crate) block_first: u32,
    /// `u32::MAX` for all.
    pub(crate) block_count: u32,
    pub(crate) block_stride: u32,
    /// `None`: as many as fit a moderate amount of memory.
    pub(crate) max_warps: Option<u32>,
    /// Selected warps of each launch, where it is known that there are several of one shape.
    pub(crate) warps_of_each: Option<u64>,
    /// Whether guard words lie between the buffers.
    pub(crate) guards: bool,
    pub(crate) record_cost: Cost,
    pub(crate) subtract_record_cost: bool,
    /// Records what the host does.
    pub(crate) host: Option<HostRecorder>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            records_per_warp: DEFAULT_RECORDS_PER_WARP,
            records_per_lane: DEFAULT_RECORDS_PER_LANE,
            keep: Keep::default(),
            slots: Slots::default(),
            lane_buffers: None,
            warp_mask: u32::MAX,
            block_first: 0,
            block_count: u32::MAX,
            block_stride: 1,
            max_warps: None,
            warps_of_each: None,
            guards: false,
            record_cost: Cost::Unknown,
            subtract_record_cost: false,
            host: None,
        }
    }
}

/// The error of a number of warps that no session can have.
pub(crate) fn max_warps_refused(warps: u32) -> Error {
    Error::Options(format!(
        "max_warps({warps}) is not within 1 to {WARPS_MAX}; give a number that is, or leave the option out"
    ))
}

/// Warps that an SM of any GPU from compute capability 8.0 on can hold at once, where the kernel's
/// registers and shared memory let it (CUDA Programming Guide, "Compute Capabilities": 48 or 64).
#[cfg(any(feature = "cuda", test))]
const RESIDENT_WARPS: u64 = 48;

impl Options {
    /// Whether warps claim their slots on a device of `sm_count` SMs. `announced` says whether all
    /// launches pass through the session.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn claims(&self, announced: bool, sm_count: u32) -> bool {
        let at_once = RESIDENT_WARPS * u64::from(sm_count);
        match self.slots {
            Slots::Claimed => true,
            Slots::Linear => false,
            Slots::Auto => !announced || self.warps_of_each.is_some_and(|warps| warps <= at_once),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::Options(why.to_owned()));
        for (what, records, limit) in [
            ("records_per_warp", self.records_per_warp, RECORDS_PER_WARP_MAX),
            ("records_per_lane", self.records_per_lane, RECORDS_PER_LANE_MAX),
        ] {
            if records > limit {
                return refuse(&format!(
                    "{what}({records}) is above {limit}; Keep::Last keeps the last records in less memory"
                ));
            }
        }
        if self.warp_mask == 0 {
            return refuse(
                "no warp is selected: a block has warps 0 to 31, so give .warps(..) a part of 0..32",
            );
        }
        if self.block_count == 0 {
            return refuse("no block is selected: give .blocks(..) a range that is not empty");
        }
        if self.block_stride == 0 {
            return refuse("block_stride(0) selects nothing; 1 selects every block, 2 every other");
        }
        match self.max_warps {
            Some(warps) if warps == 0 || warps > WARPS_MAX => Err(max_warps_refused(warps)),
            _ => Ok(()),
        }
    }

    /// How many warps of a launch the selection takes; what linear slots of that launch need.
    pub(crate) fn selected_warps(&self, grid: Dim3, block: Dim3) -> u64 {
        let mut after_first = product(grid).saturating_sub(u64::from(self.block_first));
        if self.block_stride > 1 {
            after_first = after_first.min(STRIDED_BLOCKS);
        }
        let mut blocks = after_first.div_ceil(u64::from(self.block_stride));
        if self.block_count != u32::MAX {
            blocks = blocks.min(u64::from(self.block_count));
        }
        blocks.saturating_mul(u64::from(self.warps_of_block(block).count_ones()))
    }

    /// The selected warps of a block of this shape; bit i for warp i.
    fn warps_of_block(&self, block: Dim3) -> u32 {
        let threads = product(block);
        self.warp_mask & ((1_u64 << threads.div_ceil(32).min(32)) - 1) as u32
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

/// One after the last; `None` for an open end.
fn end_of(range: &impl RangeBounds<u32>) -> Option<u64> {
    match range.end_bound() {
        Bound::Included(&last) => Some(u64::from(last) + 1),
        Bound::Excluded(&end) => Some(u64::from(end)),
        Bound::Unbounded => None,
    }
}

/// How many there are of a shape. (One that is refused later may be of any size.)
fn product(dims: Dim3) -> u64 {
    dims.iter().fold(1, |product: u64, &extent| product.saturating_mul(extent.into()))
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
        assert!(refused(&options).starts_with("no warp is selected: "));

        let mut options = Options::default();
        options.select_blocks(&(5..9));
        assert_eq!((options.block_first, options.block_count), (5, 4));
        options.select_blocks(&(7..));
        assert_eq!((options.block_first, options.block_count), (7, u32::MAX));
        options.select_blocks(&(9..9));
        assert!(refused(&options).starts_with("no block is selected: "));
    }

    fn refused(options: &Options) -> String {
        options.check().expect_err("must be refused").to_string()
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
    fn a_stride_takes_no_block_beyond_two_to_the_32() {
        let mut options = Options { block_first: 3, block_stride: 2, ..Options::default() };
        let grid = [1 << 31, 4, 1];
        assert_eq!(options.selected_warps(grid, [32, 1, 1]), 1 << 31);
        options.block_stride = 1;
        assert_eq!(options.selected_warps(grid, [32, 1, 1]), (1 << 33) - 3);
    }

    #[test]
    fn slots_are_claimed_where_that_is_cheaper() {
        let claims = |slots, warps_of_each, announced| {
            Options { slots, warps_of_each, ..Options::default() }.claims(announced, 2)
        };
        for warps in [None, Some(1), Some(1 << 40)] {
            assert!(claims(Slots::Claimed, warps, true) && claims(Slots::Claimed, warps, false));
            assert!(!claims(Slots::Linear, warps, true) && !claims(Slots::Linear, warps, false));
            assert!(claims(Slots::Auto, warps, false), "launches are not known");
        }
        assert!(!claims(Slots::Auto, None, true));
        assert!(claims(Slots::Auto, Some(96), true), "two SMs hold all of them");
        assert!(!claims(Slots::Auto, Some(97), true));
    }

    #[test]
    fn options_that_cannot_work_are_refused() {
        let with = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            refused(&options)
        };
        let records = with(|o| o.records_per_lane = 1 << 30);
        assert!(
            records.starts_with("records_per_lane(1073741824) is above 2097151; "),
            "{records}"
        );
        assert!(with(|o| o.block_stride = 0).starts_with("block_stride(0) selects nothing; "));
        let warps = with(|o| o.max_warps = Some(0));
        assert!(warps.starts_with("max_warps(0) is not within 1 to 16777216; "), "{warps}");
        let mut zero = Options::default();
        (zero.records_per_warp, zero.records_per_lane) = (0, 0);
        assert!(zero.check().is_ok(), "a session that only counts is legal");
    }
}
