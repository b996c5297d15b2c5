//! The functions that kernels call.
//!
//! Each function panics outside a kernel, with a message that says how to launch one. While a
//! thread unwinds, be it from its own panic or because the launch is being abandoned, nothing here
//! waits: destructors run through.

use std::any::{Any, TypeId};
use std::panic::Location;
use std::thread::panicking;

use crate::block::warp_and_lane;
use crate::call_site::{CallSite, Source};
use crate::config::{CLOCK_READ_TICKS, ClockMode, Emulator, WARP_SIZE, globaltimer_at};
use crate::context::{self, with};
use crate::race::{self, Order};

/// Whether the caller is a thread of a kernel.
#[must_use]
pub fn is_in_kernel() -> bool {
    context::is_inside()
}

/// The thread in its block (`%tid`): x, y, z.
#[must_use]
pub fn thread_index() -> [u32; 3] {
    with("thread_index", |context, _| context.thread_index)
}

/// The block in the grid (`%ctaid`): x, y, z.
#[must_use]
pub fn block_index() -> [u32; 3] {
    with("block_index", |context, _| context.block_index)
}

/// Threads of a block (`%ntid`): x, y, z.
#[must_use]
pub fn block_dim() -> [u32; 3] {
    with("block_dim", |_, launch| launch.config.block)
}

/// Blocks of the grid (`%nctaid`): x, y, z.
#[must_use]
pub fn grid_dim() -> [u32; 3] {
    with("grid_dim", |_, launch| launch.config.grid)
}

/// The lane in its warp (`%laneid`).
#[must_use]
pub fn lane_id() -> u32 {
    with("lane_id", |context, _| warp_and_lane(context.thread).1)
}

/// The warp in its block: the linear thread index divided by 32.
#[must_use]
pub fn warp_index() -> u32 {
    // A block has at most 32 warps.
    with("warp_index", |context, _| warp_and_lane(context.thread).0 as u32)
}

/// The SM that the block runs on (`%smid`).
#[must_use]
pub fn sm_id() -> u32 {
    with("sm_id", |context, _| context.sm)
}

/// The number of the launch (`%gridid`).
#[must_use]
pub fn grid_id() -> u64 {
    with("grid_id", |_, launch| launch.grid_id)
}

/// Dynamic shared memory of the block: its address, aligned to 1024, and its bytes. It begins with
/// all bits set.
#[must_use]
pub fn dynamic_shared() -> (*mut u8, usize) {
    with("dynamic_shared", |context, launch| {
        launch.state.borrow_mut().block(context.slot).shared.dynamic()
    })
}

/// A shared array of the block, made at the first call with this key and freed with the block. It
/// begins with all bits set.
///
/// # Panics
///
/// If the array does not fit into shared memory, `align` is no power of two, or the key was used
/// with another size or alignment.
#[must_use]
pub fn shared_memory(key: usize, bytes: usize, align: usize) -> *mut u8 {
    with("shared_memory", |context, launch| {
        let array = launch.state.borrow_mut().block(context.slot).shared.array(key, bytes, align);
        array.unwrap_or_else(|message| panic!("{message}"))
    })
}

fn constant_bytes<const N: usize>(what: &str, offset: usize) -> [u8; N] {
    with(what, |_, launch| {
        let bytes = launch.config.constant.get(offset..).and_then(<[u8]>::first_chunk);
        bytes.copied().unwrap_or([0; N])
    })
}

/// Four little-endian bytes of constant memory; 0 where there is none.
#[must_use]
pub fn constant_u32(offset: usize) -> u32 {
    u32::from_le_bytes(constant_bytes("constant_u32", offset))
}

/// Eight little-endian bytes of constant memory; 0 where there is none.
#[must_use]
pub fn constant_u64(offset: usize) -> u64 {
    u64::from_le_bytes(constant_bytes("constant_u64", offset))
}

/// The device's time in ticks; the read costs the thread virtual time.
fn read_ticks(what: &str) -> (u64, u32) {
    with(what, |context, launch| {
        let mut state = launch.state.borrow_mut();
        let time = &mut state.block(context.slot).threads[context.thread].time;
        let now = *time;
        *time += CLOCK_READ_TICKS;
        let ticks = match launch.config.clock {
            ClockMode::Virtual => now,
            ClockMode::Serial => state.next_reading(now),
        };
        (ticks, context.sm)
    })
}

/// The cycle counter of the SM (`%clock64`).
#[must_use]
pub fn clock64() -> u64 {
    let (ticks, sm) = read_ticks("clock64");
    ticks + Emulator::clock_offset(sm)
}

/// The global timer (`%globaltimer`) in nanoseconds: one axis for all SMs, in steps of 32.
#[must_use]
pub fn globaltimer() -> u64 {
    globaltimer_at(read_ticks("globaltimer").0)
}

/// Work that takes `ticks` cycles.
pub fn advance(ticks: u64) {
    with("advance", |context, launch| {
        if panicking() {
            return;
        }
        let stopped = launch.config.is_stopped();
        let pause = launch.state.borrow_mut().advance(context.slot, context.thread, ticks, stopped);
        if pause {
            context.suspender.suspend();
        }
    });
}

/// Publishes the thread's write to an address, at its time, for threads that wait for it. Threads in
/// [`yield_now`] look at it before this one goes on.
pub fn publish(address: usize) {
    publish_as("publish", address, |_, time| time);
}

/// [`publish`] for writes of several threads that add up, such as arrivals: complete at the time of the last.
pub fn publish_beside_others(address: usize) {
    publish_as("publish_beside_others", address, u64::max);
}

fn publish_as(what: &str, address: usize, time_of: impl FnOnce(u64, u64) -> u64) {
    with(what, |context, launch| {
        if panicking() {
            return;
        }
        let mut state = launch.state.borrow_mut();
        let waits = state.publish(context.slot, context.thread, address, time_of);
        drop(state);
        if waits {
            context.suspender.suspend();
        }
    });
}

/// Observes a [published](publish) write at an address: the thread goes on no earlier than the write.
pub fn observe(address: usize) {
    with("observe", |context, launch| {
        launch.state.borrow_mut().observe(context.slot, context.thread, address);
    });
}

/// Leaves the kernel: other threads do not wait for this one any more. It goes on when the last lane of its warp
/// has left, at that time, and must not wait for others then; it may still record the exit.
pub fn leave() {
    with("leave", |context, launch| {
        if panicking() {
            return;
        }
        let waits = launch.state.borrow_mut().leave(context.slot, context.thread);
        if waits {
            context.suspender.suspend();
        }
    });
}

/// The lanes of the warp that execute this call together (`activemask`).
///
/// The lane waits until every other lane of its warp asks too, waits for something, has yielded
/// since, or has finished. The lanes that asked at the same place in the source are the mask. Lanes
/// at different places are answered one place after the other, first the first in the source, and
/// those that come later join the places that have not been answered: arms of a branch end before
/// what follows the branch, as converging hardware has it.
///
/// The place is that of the call, or of the call of the function around it if that too is
/// `#[track_caller]`. Where source places do not tell arms apart, use [`active_mask_at`].
#[must_use]
#[track_caller]
pub fn active_mask() -> u32 {
    active_mask_in(Location::caller())
}

/// [`active_mask`] as if it were called at a place.
pub(crate) fn active_mask_in(place: &'static Location<'static>) -> u32 {
    let source = Source { file: place.file(), line: place.line(), column: place.column() };
    ask_mask("active_mask", CallSite::Source(source))
}

/// [`active_mask`], with a number in place of the place in the source; smaller numbers are answered
/// first, and all of them before places in the source.
#[must_use]
pub fn active_mask_at(place: u64) -> u32 {
    ask_mask("active_mask_at", CallSite::Numbered(place))
}

fn ask_mask(what: &str, place: CallSite) -> u32 {
    with(what, |context, launch| {
        if panicking() {
            return 1 << warp_and_lane(context.thread).1;
        }
        launch.state.borrow_mut().ask_mask(context.slot, context.thread, place);
        context.suspender.suspend();
        launch.state.borrow_mut().block(context.slot).threads[context.thread].mask
    })
}

/// Waits at barrier `id` (`bar.sync`) until as many threads as `thread_count` says have arrived, or
/// all threads of the block that have not left the kernel. With a count, a warp arrives when all its
/// lanes have that have not left, and counts for 32 threads, however many it has.
///
/// # Panics
///
/// If there is no barrier `id` (0 to 15), if the count is no multiple of 32, or if the threads
/// disagree on it.
pub fn barrier(id: u32, thread_count: Option<u32>) {
    arrive("barrier", id, thread_count, true);
}

/// Arrives at barrier `id` (`bar.arrive`), and waits only for the lanes of its own warp that have not left
/// the kernel, with which it counts for 32 threads.
///
/// # Panics
///
/// As [`barrier`].
pub fn barrier_arrive(id: u32, thread_count: u32) {
    arrive("barrier_arrive", id, Some(thread_count), false);
}

fn arrive(what: &str, id: u32, thread_count: Option<u32>, wait: bool) {
    let meeting = with(what, |context, launch| Order::Barrier {
        launch: launch.grid_id,
        slot: context.slot,
        id,
    });
    race::release(meeting);
    arrive_hidden(what, id, thread_count, wait);
    if wait {
        race::acquire(meeting);
    }
}

fn arrive_hidden(what: &str, id: u32, thread_count: Option<u32>, wait: bool) {
    with(what, |context, launch| {
        if panicking() {
            return;
        }
        let mut state = launch.state.borrow_mut();
        state.idle_yields = 0;
        let arrival = state.block(context.slot).arrive(context.thread, id, thread_count, wait);
        match arrival {
            Err(message) => {
                drop(state);
                panic!("{message}");
            }
            Ok(released) => {
                let thread = context.thread;
                let goes_on = released.iter().any(|released| released.threads.contains(&thread));
                for released in released {
                    state.release(context.slot, released, Some(thread));
                }
                if !goes_on {
                    drop(state);
                    context.suspender.suspend();
                }
            }
        }
    });
}

/// Waits until every lane in `mask` has come, and gives each the values of all; 0 for lanes that
/// are not in the mask. Lanes that have left the kernel are not waited for, and give 0.
///
/// The base of shuffles, votes and `bar.warp.sync`.
///
/// # Panics
///
/// If the calling lane is not in `mask`, or lanes meet in exchanges of different widths.
#[must_use]
pub fn warp_exchange(mask: u32, value: u64) -> [u64; 32] {
    warp_exchange_words(mask, [value]).map(|[value]| value)
}

/// [`warp_exchange`] of `N` words from each lane.
///
/// # Panics
///
/// As [`warp_exchange`].
#[must_use]
pub fn warp_exchange_words<const N: usize>(mask: u32, words: [u64; N]) -> [[u64; N]; 32] {
    let meeting = with("warp_exchange", |context, launch| Order::Warp {
        launch: launch.grid_id,
        slot: context.slot,
        warp: warp_and_lane(context.thread).0,
    });
    race::release(meeting);
    let result = exchange_hidden(mask, words);
    race::acquire(meeting);
    result
}

/// The lanes of `mask` whose predicate holds, bit i for lane i; what `vote.sync.ballot` answers.
///
/// # Panics
///
/// As [`warp_exchange`].
#[must_use]
pub fn ballot(mask: u32, predicate: bool) -> u32 {
    let votes = warp_exchange(mask, u64::from(predicate));
    votes.iter().enumerate().fold(0, |ballot, (lane, &vote)| ballot | (vote as u32) << lane)
}

fn exchange_hidden<const N: usize>(mask: u32, words: [u64; N]) -> [[u64; N]; 32] {
    with("warp_exchange", |context, launch| {
        let mut result = [[0; N]; WARP_SIZE as usize];
        if panicking() {
            result[warp_and_lane(context.thread).1 as usize] = words;
            return result;
        }
        let mut state = launch.state.borrow_mut();
        state.idle_yields = 0;
        match state.block(context.slot).exchange(context.thread, mask, &words) {
            Err(message) => {
                drop(state);
                panic!("{message}");
            }
            Ok(Some(released)) => state.release(context.slot, released, Some(context.thread)),
            Ok(None) => {
                drop(state);
                context.suspender.suspend();
                state = launch.state.borrow_mut();
            }
        }
        let answer = state.block(context.slot).threads[context.thread].words.take();
        if let Some(answer) = answer {
            result.as_flattened_mut().copy_from_slice(&answer);
        }
        result
    })
}

/// Lets other threads run: to be called in every turn of a waiting loop.
///
/// # Panics
///
/// While the thread unwinds: what a destructor waits for would never come.
pub fn yield_now() {
    with("yield_now", |context, launch| {
        assert!(!panicking(), "a destructor waits for another thread while its thread unwinds");
        launch.state.borrow_mut().yield_thread(context.slot, context.thread);
        context.suspender.suspend();
    });
}

/// Calls `use_it` with a value of type `T` that belongs to the calling GPU thread alone and begins
/// as its default. It is dropped on the thread of the operating system that made it.
///
/// # Panics
///
/// If `use_it` asks for a stored value itself.
pub fn with_thread_storage<T: Any + Default, R>(use_it: impl FnOnce(&mut T) -> R) -> R {
    with("with_thread_storage", |context, _| {
        let mut storage = context.storage.borrow_mut();
        let id = TypeId::of::<T>();
        let at = match storage.iter().position(|(stored, _)| *stored == id) {
            Some(at) => at,
            None => {
                storage.push((id, Box::new(T::default())));
                storage.len() - 1
            }
        };
        let value = storage[at].1.downcast_mut::<T>();
        use_it(value.expect("a value is stored under the id of its own type"))
    })
}
