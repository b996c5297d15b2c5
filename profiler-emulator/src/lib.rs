//! Runs the CPU twin of a CUDA kernel.
//!
//! The kernel is an ordinary function that asks this crate for its thread index, barriers, shared
//! memory and so on. [`launch`] calls it once for each thread of the grid. Each of these threads is
//! a stackful coroutine (or, with [`Threads::Os`], a thread of the operating system); one runs at
//! any time, until it waits, yields or ends. Results and virtual clock readings are therefore the
//! same in every run.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering};
//! use profiler_emulator::{LaunchConfig, block_dim, block_index, launch, thread_index};
//!
//! let sum = AtomicU32::new(0);
//! launch(&LaunchConfig::new([4, 1, 1], [64, 1, 1]), || {
//!     let index = block_index()[0] * block_dim()[0] + thread_index()[0];
//!     sum.fetch_add(index, Ordering::Relaxed);
//! })?;
//! assert_eq!(sum.into_inner(), (0..256).sum());
//! # Ok::<(), profiler_emulator::LaunchError>(())
//! ```
//!
//! # Blocks
//!
//! Block b (counted x first) runs on SM b modulo [`Emulator::sm_count`]. An SM holds
//! [`LaunchConfig::blocks_per_sm`] blocks at once; the next begins when one of them ends.
//!
//! # Waiting
//!
//! A loop that waits for another thread must call [`yield_now`] in every turn: an atomic alone lets no other
//! thread run. A thread that runs for [`LaunchConfig::spin_limit`] without suspending ends the process, with a
//! message that names it and, on Linux, its place in the source. A launch in which every thread waits ends with
//! [`LaunchError::Deadlock`], one in which threads only yield with [`LaunchError::Livelock`]. Another thread of the
//! host ends a launch by a [`Stop`].
//!
//! # Failures
//!
//! A panic in one thread ends the launch with [`LaunchError::Panic`]; the other threads are unwound, so that what
//! they hold is dropped (with `panic = "abort"` they are left as they are, and a panic ends the process).
//!
//! A thread that overflows its stack hits a guard page, which ends the process, as does one that accesses memory
//! that is not there, or a buffer beyond its ends ([`GuardedMemory`]); on Linux a message on standard error names
//! the thread first. Code that is not optimised takes much more of the stack; [`LaunchConfig::stack_bytes`] says
//! how much a thread has.
//!
//! # Limits
//!
//! * Votes and elections tell places apart by their line in the source, so two inlined copies, or
//!   generic instances, of one function in both arms of a branch are one place: `by = elected` of the
//!   profiler records once there, where a GPU records twice.
//! * Only sites that some lane executed are known: a region that no lane reached is not in the
//!   profiler's note of sites that never recorded.
//!
//! # Virtual time
//!
//! Each thread has its own time, in cycles of a nominal 2000 MHz. It is a model that makes order
//! and durations repeatable, not a prediction of a GPU:
//!
//! * a clock read costs 8 cycles, [`advance`] costs what it says, everything else costs nothing;
//! * barriers and warp exchanges set all participants to the time of the last to arrive;
//! * [`active_mask`] sets the lanes that it finds together to the latest time in their warp, so
//!   that arms of a branch follow each other in time;
//! * [`yield_now`] costs 16 cycles. A thread that waits for what another [publishes](publish) goes on at
//!   the time of that once it [observes](observe) it, however often it looked before; the atomic operations
//!   and mbarriers of `profiler-kernel` say so. One that waits for a plain store continues no earlier than
//!   the threads that ran in the meantime, and so somewhat later than on a GPU. The warp that is furthest
//!   after always runs next, and [`advance`] lets the others catch up before it returns;
//! * a block begins when the block before it in its place on the SM ended, a launch after the one
//!   before it on the same [`Emulator`].
//!
//! [`clock64`] shows this time plus an offset of the SM, since SM clocks are not synchronised on
//! hardware; [`globaltimer`] shows it in nanoseconds, in steps of 32, the same on all SMs.

mod block;
mod call_site;
mod config;
mod context;
mod error;
mod fiber;
mod kernel;
mod memory;
pub mod module;
mod overflow;
mod place;
pub mod ptx;
mod race;
mod scheduler;
mod shared;
mod stacks;
mod state;
mod watchdog;

pub use config::{
    ClockMode, Emulator, LaunchConfig, MAX_BLOCK_THREADS, MAX_SHARED_BYTES, Stop, TICKS_PER_NS,
    Threads, WARP_SIZE, launch,
};
pub use error::{LaunchError, Wait, WaitFor};
pub use kernel::{
    active_mask, active_mask_at, advance, ballot, barrier, barrier_arrive, block_dim, block_index,
    clock64, constant_u32, constant_u64, dynamic_shared, globaltimer, grid_dim, grid_id,
    is_in_kernel, lane_id, leave, observe, publish, publish_beside_others, shared_memory, sm_id,
    thread_index, warp_exchange, warp_exchange_words, warp_index, with_thread_storage, yield_now,
};
pub use memory::GuardedMemory;
