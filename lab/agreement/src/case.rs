//! A program with the launch and the session that it is run in.

use profiler_host::{Backend, Capture, Error, Keep, Profiler, ProfilerBuilder, Slots};
use profiler_wire::header::Dim3;
use proptest::prelude::*;

use crate::kernels::{Kernel, Launch};
use crate::program::{Node, elects, encode, programs};

/// All that decides what is recorded.
#[derive(Clone, Debug)]
pub struct Case {
    /// What every thread runs.
    pub program: Vec<Node>,
    /// The kernel that runs it.
    pub kernel: Kernel,
    /// Blocks.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Launches in the session.
    pub launches: u32,
    /// The lanes that record where the kernel's strategy is `when`.
    pub when: u32,
    /// Instructions that each thread runs at most.
    pub fuel: u32,
    /// SMs, where it is the emulator that runs it.
    pub sm_count: u32,
    /// What the session is asked for.
    pub session: Options,
}

/// What a session is asked for, in units.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of lane 0 of each warp.
    pub units_per_warp: u32,
    /// Of each of the other lanes.
    pub units_per_lane: u32,
    /// What a buffer that is too small keeps.
    pub keep: Keep,
    /// How warps find their slots.
    pub slots: Slots,
    /// Whether the other lanes have buffers.
    pub lane_buffers: bool,
    /// The first block that records.
    pub block_first: u32,
    /// How many do, at most.
    pub block_count: Option<u32>,
    /// Every how many-th does.
    pub block_stride: u32,
    /// Which warps of a block do.
    pub warp_mask: u32,
    /// So many of the selected warps find a slot, in eighths.
    pub slot_eighths: u32,
}

/// What a case left behind: what was recorded, and what the kernel's threads wrote.
#[derive(Debug)]
pub struct Outcome {
    /// Both launches' records.
    pub capture: Capture,
    /// One number a thread of the grid.
    pub results: Vec<u32>,
}

impl Case {
    /// Threads of a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Blocks of the grid.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.grid.iter().product()
    }

    /// Warps of a block.
    #[must_use]
    pub fn warps(&self) -> u32 {
        self.threads().div_ceil(32)
    }

    /// Whether it is elected somewhere who records.
    #[must_use]
    pub fn elects(&self) -> bool {
        self.kernel.strategy == profiler_wire::Strategy::Elected || elects(&self.program)
    }

    /// The lanes of a warp of each block.
    #[must_use]
    pub fn lanes(&self, warp: u32) -> u32 {
        (self.threads() - 32 * warp).min(32)
    }

    /// Whether the session records a warp of a block, by their numbers.
    #[must_use]
    pub fn is_selected(&self, block: u32, warp: u32) -> bool {
        self.is_block_selected(block) && self.session.warp_mask >> warp & 1 != 0
    }

    /// Whether the session records a block; one that it does not runs the copy of the kernel without
    /// profiling.
    #[must_use]
    pub fn is_block_selected(&self, block: u32) -> bool {
        let Options { block_first, block_count, block_stride, .. } = self.session;
        let Some(after) = block.checked_sub(block_first) else { return false };
        let in_count = block_count.is_none_or(|count| after / block_stride < count);
        after.is_multiple_of(block_stride) && in_count
    }

    /// Blocks and warps that the session records, in the order of their slots.
    pub fn selected(&self) -> impl Iterator<Item = (u32, u32)> {
        let warps =
            (0..self.blocks()).flat_map(|block| (0..self.warps()).map(move |warp| (block, warp)));
        warps.filter(|&(block, warp)| self.is_selected(block, warp))
    }

    /// Warps that find a slot for certain, over all launches.
    #[must_use]
    pub fn max_warps(&self) -> u32 {
        // Some thousand warps at most.
        let wanted = self.selected().count() as u32 * self.launches;
        (wanted * self.session.slot_eighths).div_ceil(8).max(1)
    }

    /// Units that are kept in the buffer of a lane; `None` if it has no buffer.
    #[must_use]
    pub fn capacity(&self, lane: u32) -> Option<u32> {
        let Options { units_per_warp, units_per_lane, keep, lane_buffers, .. } = self.session;
        let units = if lane == 0 { units_per_warp } else { units_per_lane };
        let kept = if keep == Keep::Last && units > 0 { units.next_power_of_two() } else { units };
        (lane == 0 || lane_buffers).then_some(kept)
    }

    fn builder(&self) -> ProfilerBuilder {
        let Options { block_first, block_count, .. } = self.session;
        let builder = match block_count {
            Some(count) => Profiler::builder().blocks(block_first..block_first + count),
            None => Profiler::builder().blocks(block_first..),
        };
        // Words of buffers that are not there are refused.
        let builder = if self.session.lane_buffers {
            builder.lane_buffers(true).records_per_lane(self.session.units_per_lane)
        } else {
            builder.lane_buffers(false)
        };
        builder
            .block_stride(self.session.block_stride)
            .warp_mask(self.session.warp_mask)
            .max_warps(self.max_warps())
            .records_per_warp(self.session.units_per_warp)
            .keep(self.session.keep)
            .slots(self.session.slots)
    }

    /// Runs it in a session of its own.
    ///
    /// # Errors
    ///
    /// What the back end says.
    pub fn run(&self, backend: &Backend) -> Result<Outcome, Error> {
        let program = encode(&self.program);
        // An empty buffer has no address.
        let code = backend.upload(if program.is_empty() { &[[0; 4]] } else { &program[..] })?;
        let mut output = backend.zeroed::<u32>((self.threads() * self.blocks()) as usize)?;
        let profiler = self.builder().build()?;
        let mut session = backend.session(&profiler)?;
        for _ in 0..self.launches {
            let launch = Launch {
                grid: self.grid,
                block: self.block,
                program: code.as_ptr(),
                length: program.len() as u32,
                when: self.when,
                fuel: self.fuel,
                output: output.as_mut_ptr(),
            };
            // SAFETY: the program has that length and its bodies end within it; there is one number
            // for each thread.
            unsafe { self.kernel.launch(&mut session, &launch) }?;
        }
        let capture = session.capture()?;
        drop(session);
        Ok(Outcome { capture, results: output.read()? })
    }
}

/// Shapes of grids, of `blocks` at most.
fn grids() -> impl Strategy<Value = Dim3> {
    prop_oneof![
        (1..10_u32).prop_map(|x| [x, 1, 1]),
        (1..4_u32, 1..3_u32, 1..3_u32).prop_map(|(x, y, z)| [x, y, z]),
    ]
}

/// Shapes of blocks: partial last warps, one thread, and all that a block may have.
fn blocks() -> impl Strategy<Value = Dim3> {
    prop_oneof![
        4 => (1..100_u32).prop_map(|x| [x, 1, 1]),
        2 => prop::sample::select(&[
            [1, 1, 1], [31, 1, 1], [32, 1, 1], [33, 1, 1], [7, 5, 3], [2, 3, 8], [160, 1, 1],
        ][..]),
        1 => (1..9_u32, 1..9_u32, 1..5_u32).prop_map(|(x, y, z)| [x, y, z]),
    ]
}

fn options() -> impl Strategy<Value = Options> {
    // From none up; up to what a program can emit by its fuel; and more than that.
    let units = || prop_oneof![3 => 0..40_u32, 1 => 40..1100_u32, 1 => Just(2048)];
    (
        (units(), units(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.8)),
        (
            prop_oneof![3 => Just(0), 1 => 0..6_u32],
            prop_oneof![3 => Just(None), 1 => (1..6_u32).prop_map(Some)],
            prop_oneof![3 => Just(1), 1 => 1..4_u32],
            prop_oneof![3 => Just(u32::MAX), 1 => 1..16_u32],
            prop_oneof![3 => Just(8), 1 => 0..8_u32],
        ),
    )
        .prop_map(
            |((units_per_warp, units_per_lane, last, claimed, lane_buffers), selection)| {
                let (block_first, block_count, block_stride, warp_mask, slot_eighths) = selection;
                Options {
                    units_per_warp,
                    units_per_lane,
                    keep: if last { Keep::Last } else { Keep::First },
                    slots: if claimed { Slots::Claimed } else { Slots::Linear },
                    lane_buffers,
                    block_first,
                    block_count,
                    block_stride,
                    warp_mask,
                    slot_eighths,
                }
            },
        )
}

/// Random cases of these kernels.
pub fn cases(kernels: &'static [Kernel]) -> impl Strategy<Value = Case> {
    (
        programs(),
        prop::sample::select(kernels),
        grids(),
        blocks(),
        (1..3_u32, any::<u32>(), prop_oneof![4 => Just(300), 1 => 0..30_u32], 1..5_u32),
        options(),
    )
        .prop_map(
            |(program, kernel, grid, block, (launches, when, fuel, sm_count), session)| Case {
                program,
                kernel,
                grid,
                block,
                launches,
                when,
                fuel,
                sm_count,
                session,
            },
        )
}
