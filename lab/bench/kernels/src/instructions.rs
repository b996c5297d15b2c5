//! Single PTX instructions, as volatile `asm!`: the compiler neither drops nor reorders them.

use core::arch::asm;

macro_rules! clocks {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $class:ident, $instruction:literal;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name() -> $type {
            let ticks: $type;
            // SAFETY: reads a clock. Not `nomem`: memory accesses stay on their side of it.
            unsafe {
                asm!($instruction, ticks = out($class) ticks, options(nostack, preserves_flags));
            }
            ticks
        })*
    };
}

clocks! {
    /// The SM's cycles.
    clock64: u64, reg64, "mov.u64 {ticks}, %clock64;";
    /// The GPU's nanoseconds.
    globaltimer: u64, reg64, "mov.u64 {ticks}, %globaltimer;";
    /// The low half of the GPU's nanoseconds.
    globaltimer_low: u32, reg32, "mov.u32 {ticks}, %globaltimer_lo;";
}

/// The SM's cycles once a number is there, which is waited for as the profiler's own `wait` waits: the
/// predicate holds for every number, of which ptxas knows nothing.
#[inline(always)]
pub(crate) fn clock64_after(number: u32) -> u64 {
    let ticks: u64;
    // SAFETY: reads a clock and computes. Not `nomem`: memory accesses stay on their side of it.
    unsafe {
        asm!(
            "{{ .reg .pred %p_there; .reg .f32 %f_number;",
            "mov.b32 %f_number, {number};",
            "abs.f32 %f_number, %f_number;",
            "setp.leu.f32 %p_there, %f_number, 0f7F800000;",
            "mov.u64 {ticks}, 0;",
            "@%p_there mov.u64 {ticks}, %clock64; }}",
            number = in(reg32) number,
            ticks = out(reg64) ticks,
            options(nostack, preserves_flags),
        );
    }
    ticks
}

macro_rules! special_registers {
    ($($(#[$doc:meta])* $name:ident: $register:literal;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name() -> u32 {
            let value: u32;
            // SAFETY: moves a special register that does not change while a thread runs.
            unsafe {
                asm!(
                    concat!("mov.u32 {value}, %", $register, ";"),
                    value = out(reg32) value,
                    options(pure, nomem, nostack, preserves_flags),
                );
            }
            value
        })*
    };
}

special_registers! {
    /// The lane of the warp, where blocks have one dimension.
    lane: "laneid";
    /// The thread of the block.
    thread: "tid.x";
    /// Threads of the block.
    threads: "ntid.x";
    /// The block of the grid.
    block: "ctaid.x";
    /// The multiprocessor.
    multiprocessor: "smid";
}

/// Which of an SM's four schedulers issues for the warp: they take warps in turn.
#[inline(always)]
pub(crate) fn scheduler() -> u32 {
    profiler_device::hardware::warp_id() % 4
}

/// The same value, in a register: to the compilers it has nothing to do with what it was made of.
#[inline(always)]
pub(crate) fn hold(mut value: u32) -> u32 {
    // SAFETY: an empty template: the register keeps its value.
    unsafe {
        asm!("// {value}", value = inlateout(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// One more, in a way that does not let the compiler count the iterations of a loop and unroll it.
#[inline(always)]
pub(crate) fn opaque_increment(mut value: u32) -> u32 {
    // SAFETY: arithmetic on a register.
    unsafe {
        asm!("add.u32 {value}, {value}, 1;", value = inout(reg32) value, options(nostack));
    }
    value
}

macro_rules! fences {
    ($($(#[$doc:meta])* $name:ident: $instruction:literal;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub(crate) fn $name() {
            // SAFETY: orders memory accesses; touches none.
            unsafe { asm!($instruction, options(nostack, preserves_flags)) }
        })*
    };
}

fences! {
    /// What CUDA's fence of a block is: `fence.acq_rel.cta`.
    fence_block: "fence.acq_rel.cta;";
    /// The stronger fence of a block (PTX ISA, "membar/fence").
    fence_block_sequential: "fence.sc.cta;";
}

macro_rules! atomic_adds {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $class:ident, $instruction:literal;)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        ///
        /// `address` must be that of such a counter in global memory, aligned to its size.
        #[inline(always)]
        pub(crate) unsafe fn $name(address: u64, value: $type) -> $type {
            let before: $type;
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    concat!($instruction, " {before}, [{address}], {value};"),
                    before = out($class) before,
                    address = in(reg64) address,
                    value = in($class) value,
                    options(nostack, preserves_flags),
                );
            }
            before
        })*
    };
}

atomic_adds! {
    /// A relaxed atomic add to a counter of 4 bytes; the value before it.
    atomic_add: u32, reg32, "atom.relaxed.gpu.global.add.u32";
    /// The same of a counter of 8 bytes, as a slot is claimed.
    atomic_add_u64: u64, reg64, "atom.relaxed.gpu.global.add.u64";
}

/// A store of one record's words.
pub(crate) trait Store {
    /// What is stored.
    type Words;
    /// How many bytes that is.
    const BYTES: u32;

    /// Stores, where `leader` holds or the store has no predicate.
    ///
    /// # Safety
    ///
    /// `address` must be that of `BYTES` bytes of the state space that the store is for, aligned to
    /// `BYTES`, that no other warp writes; where every lane stores, `address` and `words` must be
    /// the same in all.
    unsafe fn store(leader: bool, address: u64, words: Self::Words);
}

macro_rules! stores {
    ($($(#[$doc:meta])* $name:ident: $kind:ident, $predicate:ident, $instruction:literal;)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name;
            impl Store for $name {
                stores!(@const $kind);

                // SAFETY: callers see to what the trait's function asks for.
                #[inline(always)]
                unsafe fn store(leader: bool, address: u64, words: Self::Words) {
                    stores!(@body $kind, $predicate, $instruction, leader, address, words);
                }
            }
        )*
    };
    (@const pair) => { type Words = [u64; 2]; const BYTES: u32 = 16; };
    (@const single) => { type Words = u64; const BYTES: u32 = 8; };
    (@body pair, leader, $instruction:literal, $leader:ident, $address:ident, $words:ident) => {
        // SAFETY: the caller's.
        unsafe {
            asm!(
                "{{ .reg .pred %p_store; setp.ne.u32 %p_store, {leader}, 0;",
                concat!("@%p_store ", $instruction, " [{address}], {{{first}, {second}}}; }}"),
                leader = in(reg32) u32::from($leader),
                address = in(reg64) $address,
                first = in(reg64) $words[0],
                second = in(reg64) $words[1],
                options(nostack, preserves_flags),
            );
        }
    };
    (@body pair, all, $instruction:literal, $leader:ident, $address:ident, $words:ident) => {
        let _every_lane_stores = $leader;
        // SAFETY: the caller's.
        unsafe {
            asm!(
                concat!($instruction, " [{address}], {{{first}, {second}}};"),
                address = in(reg64) $address,
                first = in(reg64) $words[0],
                second = in(reg64) $words[1],
                options(nostack, preserves_flags),
            );
        }
    };
    (@body single, leader, $instruction:literal, $leader:ident, $address:ident, $words:ident) => {
        // SAFETY: the caller's.
        unsafe {
            asm!(
                "{{ .reg .pred %p_store; setp.ne.u32 %p_store, {leader}, 0;",
                concat!("@%p_store ", $instruction, " [{address}], {word}; }}"),
                leader = in(reg32) u32::from($leader),
                address = in(reg64) $address,
                word = in(reg64) $words,
                options(nostack, preserves_flags),
            );
        }
    };
    (@body single, all, $instruction:literal, $leader:ident, $address:ident, $words:ident) => {
        let _every_lane_stores = $leader;
        // SAFETY: the caller's.
        unsafe {
            asm!(
                concat!($instruction, " [{address}], {word};"),
                address = in(reg64) $address,
                word = in(reg64) $words,
                options(nostack, preserves_flags),
            );
        }
    };
}

stores! {
    /// 16 bytes of global memory by lane 0.
    Global16Leader: pair, leader, "st.global.v2.u64";
    /// 16 bytes of global memory by every lane.
    Global16All: pair, all, "st.global.v2.u64";
    /// The same by lane 0, likely read once ("Cache Operators": `.cs`).
    Global16Streaming: pair, leader, "st.global.cs.v2.u64";
    /// The same by lane 0, cached in L2 alone (`.cg`).
    Global16L2: pair, leader, "st.global.cg.v2.u64";
    /// The same by lane 0, written through to memory (`.wt`).
    Global16Through: pair, leader, "st.global.wt.v2.u64";
    /// The same by lane 0, without a line in L1 ("Cache Eviction Priority Hints").
    Global16NoAllocate: pair, leader, "st.global.L1::no_allocate.v2.u64";
    /// 8 bytes of global memory by lane 0.
    Global8Leader: single, leader, "st.global.u64";
    /// 8 bytes of global memory by every lane.
    Global8All: single, all, "st.global.u64";
    /// 16 bytes of shared memory by lane 0.
    Shared16Leader: pair, leader, "st.shared.v2.u64";
    /// 16 bytes of shared memory by every lane.
    Shared16All: pair, all, "st.shared.v2.u64";
    /// 8 bytes of shared memory by every lane.
    Shared8All: single, all, "st.shared.u64";
}

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $class:ident, $instruction:literal;)*) => {
        $($(#[$doc])*
        ///
        /// # Safety
        ///
        /// `address` must be that of such a number, aligned to its size, that no other thread
        /// writes.
        #[inline(always)]
        pub(crate) unsafe fn $name(address: u64) -> $type {
            let value: $type;
            // SAFETY: the caller's.
            unsafe {
                asm!(
                    concat!($instruction, " {value}, [{address}];"),
                    value = out($class) value,
                    address = in(reg64) address,
                    options(nostack, preserves_flags),
                );
            }
            value
        })*
    };
}

loads! {
    /// 8 bytes of global memory.
    load: u64, reg64, "ld.global.u64";
    /// 4 bytes of global memory.
    load_u32: u32, reg32, "ld.global.u32";
    /// 8 bytes of the calling block's shared memory.
    load_shared: u64, reg64, "ld.shared.u64";
}

/// A store of 4 bytes of global memory.
///
/// # Safety
///
/// `address` must be that of 4 bytes of global memory, aligned to 4, that no other thread writes.
#[inline(always)]
pub(crate) unsafe fn store_u32(address: u64, value: u32) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "st.global.u32 [{address}], {value};",
            address = in(reg64) address,
            value = in(reg32) value,
            options(nostack, preserves_flags),
        );
    }
}
