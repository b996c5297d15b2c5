//! Runs a launch: places blocks on SMs and gives warps their turns.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::stack::DefaultStack;

use crate::block::{Block, thread_index};
use crate::config::{Emulator, LaunchConfig};
use crate::context::{self, ThreadContext};
use crate::error::LaunchError;
use crate::fiber::{Fiber, Kernel, Suspender};
use crate::race::{self, Hidden, Order};
use crate::stacks;
use crate::state::State;
use crate::watchdog::Watch;

/// The shared data of a launch's threads.
///
/// Only one of them runs at a time, or the scheduler: on one operating-system thread with
/// coroutines, under the baton otherwise. Nobody suspends while `state` is borrowed.
pub(crate) struct Launch {
    pub(crate) config: LaunchConfig,
    /// The kernel's name in messages.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "faults end it without one there")
    )]
    pub(crate) kernel: &'static str,
    pub(crate) grid_id: u64,
    pub(crate) state: RefCell<State>,
}

/// The SM of each slot, and which block comes next on each SM.
struct Placement {
    sm_of_slot: Vec<u32>,
    next_block: Vec<u64>,
    stride: u64,
    blocks: u64,
}

impl Placement {
    /// One slot for each block that can be resident at once, SMs first.
    fn new(emulator: &Emulator, config: &LaunchConfig) -> Self {
        let blocks = config.grid_blocks();
        let stride = u64::from(emulator.sm_count());
        let slots = blocks.min(stride * u64::from(config.blocks_per_sm));
        // An SM's number is less than `sm_count`, a u32.
        let sm_of_slot = (0..slots).map(|slot| (slot % stride) as u32).collect();
        Self { sm_of_slot, next_block: (0..stride.min(blocks)).collect(), stride, blocks }
    }

    fn next(&mut self, slot: usize) -> Option<u64> {
        let next = &mut self.next_block[self.sm_of_slot[slot] as usize];
        let block = *next;
        (block < self.blocks).then(|| {
            *next += self.stride;
            block
        })
    }

    fn not_started(&self) -> u64 {
        let left = |&next: &u64| self.blocks.saturating_sub(next).div_ceil(self.stride);
        self.next_block.iter().map(left).sum()
    }
}

/// Runs a launch that begins at `start`; returns when it ended, and how.
pub(crate) fn run(
    emulator: &Emulator,
    config: &LaunchConfig,
    kernel: Kernel<'_>,
    name: &'static str,
    grid_id: u64,
    start: u64,
) -> (u64, Result<(), LaunchError>) {
    if context::is_inside() {
        return (start, Err(LaunchError::NotFromHere("a kernel cannot launch another")));
    }
    if std::thread::panicking() {
        return (start, Err(LaunchError::NotFromHere("the calling thread is panicking")));
    }
    race::release(Order::Begin(grid_id));
    let hidden = Hidden::new();
    let mut placement = Placement::new(emulator, config);
    let slots = placement.sm_of_slot.len();
    let launch = Launch {
        config: config.clone(),
        kernel: name,
        grid_id,
        state: RefCell::new(State::new(slots, start)),
    };
    // After `launch`, and so dropped before it: the threads refer to it.
    let mut runner = Runner {
        launch: &launch,
        kernel,
        fibers: (0..slots).map(|_| Vec::new()).collect(),
        pool: stacks::take(config.stack_bytes),
        watch: Watch::new(config, name),
    };
    let result = runner.run(&mut placement, start);
    stacks::keep(config.stack_bytes, std::mem::take(&mut runner.pool));
    drop(runner);
    let end = launch.state.borrow().latest;
    drop(hidden);
    race::acquire(Order::End(grid_id));
    (end, result)
}

struct Runner<'launch> {
    launch: &'launch Launch,
    kernel: Kernel<'launch>,
    /// The threads of the block in each slot.
    fibers: Vec<Vec<Fiber<'launch>>>,
    /// Stacks of threads that have ended.
    pool: Vec<DefaultStack>,
    watch: Watch,
}

impl Runner<'_> {
    fn run(&mut self, placement: &mut Placement, start: u64) -> Result<(), LaunchError> {
        for slot in 0..placement.sm_of_slot.len() {
            self.start_block(placement, slot, start)?;
        }
        loop {
            let turn = self.launch.state.borrow_mut().begin_turn();
            let Some((slot, warp)) = turn else {
                let waits = self.launch.state.borrow().waits();
                if waits.is_empty() {
                    return Ok(());
                }
                let blocks_not_started = placement.not_started();
                return Err(LaunchError::Deadlock { waits, blocks_not_started });
            };
            self.run_turn(slot, warp)?;
            let mut state = self.launch.state.borrow_mut();
            state.end_turn(slot, warp);
            if state.idle_yields > self.launch.config.yield_limit {
                return Err(LaunchError::Livelock {
                    yields: state.idle_yields,
                    waits: state.waits(),
                    blocks_not_started: placement.not_started(),
                });
            }
            let block = state.block(slot);
            if block.has_ended() {
                let end = block.latest();
                state.blocks[slot] = None;
                drop(state);
                for fiber in self.fibers[slot].drain(..) {
                    fiber.recycle(&mut self.pool);
                }
                self.start_block(placement, slot, end)?;
            }
        }
    }

    /// Gives the warp's threads their turns until none of them can go on.
    fn run_turn(&mut self, slot: usize, warp: usize) -> Result<(), LaunchError> {
        loop {
            let next = self.launch.state.borrow_mut().next_thread(slot, warp);
            let Some(thread) = next else { return Ok(()) };
            let fiber = &mut self.fibers[slot][thread];
            self.watch.runs(fiber.block_index(), thread);
            let ending = fiber.resume();
            self.watch.has_run();
            let mut state = self.launch.state.borrow_mut();
            state.has_run(slot, thread);
            match ending {
                None if self.launch.config.is_stopped() => return Err(LaunchError::Stopped),
                None => {}
                Some(Ok(())) => state.finish(slot, thread),
                Some(Err(payload)) => {
                    return Err(LaunchError::Panic {
                        block: state.block(slot).index,
                        thread: thread_index(thread, self.launch.config.block),
                        message: panic_message(&*payload),
                    });
                }
            }
        }
    }

    /// Puts the next block of the slot's SM there, if there is one.
    fn start_block(
        &mut self,
        placement: &mut Placement,
        slot: usize,
        start: u64,
    ) -> Result<(), LaunchError> {
        let Some(linear) = placement.next(slot) else { return Ok(()) };
        let config = &self.launch.config;
        let [x, y] = [u64::from(config.grid[0]), u64::from(config.grid[1])];
        // Each component is less than the grid's extent, a u32.
        let index = [(linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32];
        for thread in 0..config.block_threads() {
            let context = Rc::new(ThreadContext {
                launch: self.launch,
                grid_id: self.launch.grid_id,
                slot,
                thread,
                thread_index: thread_index(thread, config.block),
                block_index: index,
                sm: placement.sm_of_slot[slot],
                suspender: Suspender::new(config.threads),
                kernel: Cell::new(0),
                storage: RefCell::default(),
            });
            let fiber = Fiber::new(context, self.kernel, config.stack_bytes, &mut self.pool)
                .map_err(|error| LaunchError::Resources(error.to_string()))?;
            self.fibers[slot].push(fiber);
        }
        let block = Block::new(index, config.block, config.dynamic_shared_bytes as usize, start);
        self.launch.state.borrow_mut().place_block(slot, block, start);
        Ok(())
    }
}

/// The text of a panic.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("(a panic whose payload is no text)").to_owned()
}
