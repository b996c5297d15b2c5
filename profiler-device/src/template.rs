//! The runtime's entry, record and exit as kernels of their own, whose PTX `profiler-ptx` puts into kernels
//! that nobody annotated. It is the code of annotated kernels: the functions of [`State`], compiled by themselves.
//!
//! Comments in the PTX say where values come from and go to: `// profiler-in A B ..` stands where the
//! registers A, B, .. are to be given the recorder's values, `// profiler-out A B ..` where the recorder is to be given
//! theirs; `// profiler-plain` stands where a block goes on without records. The order of the values is that of the
//! functions below. 723408365 stands for the number of a site.

use core::arch::asm;
use core::mem::forget;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::Buffer;

use super::State;
use crate::buffer::{LaneBuffer, WriteBudget};
use crate::config::{BufferChoice, Config};
use crate::recorder::Recorder;
use crate::site::SiteId;

const CONFIG: Config = Config {
    enabled: true,
    strategy: Strategy::Warp,
    when: false,
    clock: Clock::Cycles,
    buffer: BufferChoice::new(Buffer::Global),
    track: 0,
};

/// The site that a rewriter puts in.
#[inline(always)]
fn site() -> SiteId {
    let number: u32;
    // SAFETY: it reads and writes nothing but the register.
    unsafe {
        asm!(
            "mov.u32 {number}, 723408365;",
            number = out(reg32) number,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    SiteId { number }
}

/// Which of the recorded blocks this is, if it is one.
#[unsafe(no_mangle)]
extern "ptx-kernel" fn __profiler_recorded() {
    match State::recorded_block(CONFIG) {
        // SAFETY: comments.
        None => unsafe { asm!("// profiler-plain", options(nostack, preserves_flags)) },
        Some(block) => unsafe {
            asm!("// profiler-out {block}", block = in(reg64) block, options(nostack, preserves_flags));
        },
    }
}

/// Enters a kernel.
#[unsafe(no_mangle)]
extern "ptx-kernel" fn __profiler_enter() {
    let block: u64;
    // SAFETY: a comment, in whose place a rewriter puts what gives the register its value.
    unsafe {
        asm!("// profiler-in {block}", block = out(reg64) block, options(nostack, preserves_flags));
    }
    // SAFETY: it is where the recording copy of a rewritten kernel begins, and the block is that of
    // `recorded_block`.
    let state = unsafe { State::enter_block(site(), CONFIG, block) };
    // SAFETY: a comment.
    unsafe {
        asm!(
            "// profiler-out {slot} {address} {mask} {limit} {step}",
            slot = in(reg32) state.slot,
            address = in(reg64) state.buffer.address,
            mask = in(reg32) state.buffer.mask,
            limit = in(reg32) state.leader.limit,
            step = in(reg32) state.leader.step,
            options(nostack, preserves_flags)
        );
    }
    forget(state);
}

/// Records a region that ends here and began at `start`. `last` are the words of the units before that stay in registers
/// (see `State::address`).
#[unsafe(no_mangle)]
extern "ptx-kernel" fn __profiler_record() {
    let (start, address): (u64, u64);
    let (mask, limit, step, cursor): (u32, u32, u32, u32);
    let (last_0, last_1, last_2): (u32, u32, u32);
    // SAFETY: as above.
    unsafe {
        asm!(
            "// profiler-in {start} {address} {mask} {limit} {step} {cursor} {last_0} {last_1} {last_2}",
            start = out(reg64) start,
            address = out(reg64) address,
            mask = out(reg32) mask,
            limit = out(reg32) limit,
            step = out(reg32) step,
            cursor = out(reg32) cursor,
            last_0 = out(reg32) last_0,
            last_1 = out(reg32) last_1,
            last_2 = out(reg32) last_2,
            options(nostack, preserves_flags)
        );
    }
    let budget = WriteBudget { limit, step };
    let mut state = State::silent(CONFIG);
    state.slot = 0;
    state.buffer = LaneBuffer { address, mask, budget };
    state.leader = budget;
    state.cursor.set(cursor);
    state.last.set([last_0, last_1, last_2]);
    Recorder::new(&state).leader().resumed(site(), start).end();
    let [last_0, last_1, last_2] = state.last.get();
    // SAFETY: a comment.
    unsafe {
        asm!(
            "// profiler-out {cursor} {last_0} {last_1} {last_2}",
            cursor = in(reg32) state.cursor.get(),
            last_0 = in(reg32) last_0,
            last_1 = in(reg32) last_1,
            last_2 = in(reg32) last_2,
            options(nostack, preserves_flags)
        );
    }
    forget(state);
}

/// Leaves a kernel.
#[unsafe(no_mangle)]
extern "ptx-kernel" fn __profiler_leave() {
    let (slot, cursor): (u32, u32);
    // SAFETY: as above.
    unsafe {
        asm!(
            "// profiler-in {slot} {cursor}",
            slot = out(reg32) slot,
            cursor = out(reg32) cursor,
            options(nostack, preserves_flags)
        );
    }
    let mut state = State::silent(CONFIG);
    state.slot = slot;
    state.cursor.set(cursor);
    drop(state);
}
