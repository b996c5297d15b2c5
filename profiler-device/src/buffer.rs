//! The buffer of a lane, and how many units it holds.

use profiler_wire::descriptor::{FLAG_LANES, LANE_STEP, offset};
use profiler_wire::record::UNIT_BYTES;

use crate::hardware::{self, Descriptor};

/// A slot that a warp has not found.
pub(crate) const NO_SLOT: u32 = u32::MAX;

/// Bytes from one unit of a lane to its next.
#[inline(always)]
pub(crate) const fn step_of(lane: u32) -> u32 {
    if lane == 0 { UNIT_BYTES } else { LANE_STEP }
}

/// The units that a lane may store and count.
#[derive(Clone, Copy)]
pub(crate) struct WriteBudget {
    /// Units at or above this cursor are counted and not stored.
    pub(crate) limit: u32,
    /// The step of the cursor for a unit: [`step_of`] the lane, or 0 if the lane does not record.
    pub(crate) step: u32,
}

impl WriteBudget {
    /// No units.
    pub(crate) const NONE: Self = Self { limit: 0, step: 0 };

    /// The same budget, hidden from the compilers.
    #[inline(always)]
    pub(crate) fn held(self) -> Self {
        Self { limit: hardware::hold(self.limit), step: hardware::hold(self.step) }
    }

    #[inline(always)]
    pub(crate) fn step_if(self, leads: bool) -> u32 {
        self.step & u32::from(leads).wrapping_neg()
    }

    /// Whether units are recorded, stored or lost.
    #[inline(always)]
    pub(crate) fn is_any(self) -> bool {
        self.step != 0
    }
}

/// A lane's buffer: see "Slots" in [`profiler_wire::descriptor`].
#[derive(Clone, Copy)]
pub(crate) struct LaneBuffer {
    /// It is aligned to its size, so that the upper half holds for all of it.
    pub(crate) address: u64,
    pub(crate) mask: u32,
    pub(crate) budget: WriteBudget,
}

impl LaneBuffer {
    /// The buffer of a lane that does not record.
    pub(crate) const SILENT: Self = Self { address: 0, mask: 0, budget: WriteBudget::NONE };

    /// No buffer. The units of the lane are counted.
    #[inline(always)]
    fn none(lane: u32) -> Self {
        Self { address: 0, mask: 0, budget: WriteBudget { limit: 0, step: step_of(lane) } }
    }

    #[inline(always)]
    pub(crate) fn low(&self) -> u32 {
        self.address as u32
    }

    #[inline(always)]
    pub(crate) fn of_leader(descriptor: impl Descriptor, slot: u32) -> Self {
        if slot == NO_SLOT {
            return Self::none(0);
        }
        Self {
            address: descriptor.u64::<{ offset::RECORDS }>()
                + (u64::from(slot) << descriptor.u32::<{ offset::RECORD_SHIFT }>()),
            mask: descriptor.u32::<{ offset::RECORD_MASK }>(),
            budget: WriteBudget {
                limit: descriptor.u32::<{ offset::RECORD_LIMIT }>(),
                step: step_of(0),
            },
        }
    }

    #[inline(always)]
    pub(crate) fn of_lane(descriptor: impl Descriptor, flags: u32, slot: u32, lane: u32) -> Self {
        if slot == NO_SLOT || flags & FLAG_LANES == 0 {
            return Self::none(lane);
        }
        Self {
            address: descriptor.u64::<{ offset::LANES }>()
                + (u64::from(slot) << descriptor.u32::<{ offset::LANE_SHIFT }>())
                + u64::from(lane * UNIT_BYTES),
            mask: descriptor.u32::<{ offset::LANE_MASK }>(),
            budget: WriteBudget {
                limit: descriptor.u32::<{ offset::LANE_LIMIT }>(),
                step: step_of(lane),
            },
        }
    }
}
