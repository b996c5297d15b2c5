//! The operations as PTX instructions.
//!
//! The functions have the contracts of the public functions of the same names; each SAFETY comment here argues
//! for the instruction alone.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use core::arch::{asm, global_asm};

// SAFETY: LLVM's intrinsic has this signature.
unsafe extern "C" {
    #[link_name = "llvm.nvvm.activemask"]
    fn llvm_active_mask() -> u32;
}

/// Keeps LLVM from moving the collective that follows into, out of or across control flow.
///
/// LLVM treats `asm!` as work of single threads, and copies it into both arms of a branch if that saves a jump.
/// It knows that this intrinsic is convergent, and does not copy or move code that contains it. ptxas removes it,
/// since its result is unused.
#[inline(always)]
pub(crate) fn convergent() {
    // SAFETY: reads which lanes are active; no operands, no effect.
    unsafe { llvm_active_mask() };
}

/// Functions of one statement of PTX each, which names its operands. The kinds: `warp` is for a whole warp
/// and may change memory; `lanes` is for a whole warp and touches registers only; `memory` may change memory;
/// `pure` computes a result of its operands alone.
macro_rules! instructions {
    ($(
        $(#[$attribute:meta])*
        $kind:ident $([$unsafe:ident])? fn $name:ident $(<$constant:ident: $count:ty>)?
            ($($operand:ident: $type:ty as $register:ident),*)
            $(out ($result:ident as $out:ident) -> $returned:ty)?
        { $($text:expr),+ $(,)? }
    )*) => {$(
        $(#[$attribute])*
        #[inline(always)]
        pub(crate) $($unsafe)? fn $name $(<const $constant: $count>)? ($($operand: $type),*) $(-> $returned)? {
            $(let $result: $returned;)?
            // SAFETY: the statement does no more than its kind says, and the caller of an `unsafe` function
            // vouches for its operands.
            unsafe {
                $crate::platform::statement!(
                    $kind $($text,)+
                    $($result = out($out) $result,)?
                    $($operand = in($register) $operand,)*
                    $($constant = const $constant,)?
                );
            }
            $($result)?
        }
    )*};
}
pub(crate) use instructions;

/// One `asm!` of a kind, for [`instructions`].
macro_rules! statement {
    (warp $($asm:tt)*) => {{
        $crate::platform::convergent();
        core::arch::asm!($($asm)* options(nostack))
    }};
    (lanes $($asm:tt)*) => {{
        $crate::platform::convergent();
        core::arch::asm!($($asm)* options(nomem, nostack))
    }};
    (memory $($asm:tt)*) => { core::arch::asm!($($asm)* options(nostack)) };
    (pure $($asm:tt)*) => { core::arch::asm!($($asm)* options(pure, nomem, nostack, preserves_flags)) };
}
pub(crate) use statement;

/// A special register of 32 bits that does not change while the thread runs.
macro_rules! constant_register {
    ($register:literal) => {{
        let value: u32;
        // SAFETY: reads a special register.
        unsafe {
            asm!(
                concat!("mov.u32 {}, %", $register, ";"),
                out(reg32) value,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        value
    }};
}

macro_rules! axis_register {
    ($($function:ident: $x:literal, $y:literal, $z:literal;)*) => {$(
        #[inline(always)]
        pub(crate) fn $function<const AXIS: usize>() -> u32 {
            match AXIS {
                0 => constant_register!($x),
                1 => constant_register!($y),
                _ => constant_register!($z),
            }
        }
    )*};
}

axis_register! {
    thread_idx: "tid.x", "tid.y", "tid.z";
    block_idx: "ctaid.x", "ctaid.y", "ctaid.z";
    block_dim: "ntid.x", "ntid.y", "ntid.z";
    grid_dim: "nctaid.x", "nctaid.y", "nctaid.z";
}

#[inline(always)]
pub(crate) fn lane_id() -> u32 {
    constant_register!("laneid")
}

#[inline(always)]
pub(crate) fn trap() -> ! {
    // SAFETY: ends the kernel.
    unsafe { asm!("trap;", options(noreturn, nostack)) }
}

instructions! {
    warp fn sync_threads() { "bar.sync 0;" }

    warp [unsafe] fn barrier_sync(id: u32 as reg32, count: u32 as reg32) { "bar.sync {id}, {count};" }

    warp [unsafe] fn barrier_arrive(id: u32 as reg32, count: u32 as reg32) { "bar.arrive {id}, {count};" }

    memory fn block_fence() { "fence.acq_rel.cta;" }

    memory fn device_fence() { "fence.acq_rel.gpu;" }

    memory fn system_fence() { "fence.acq_rel.sys;" }

    warp [unsafe] fn sync_warp(mask: u32 as reg32) { "bar.warp.sync {mask};" }
}

#[inline(always)]
pub(crate) fn active_mask() -> u32 {
    // SAFETY: reads which lanes are active.
    unsafe { llvm_active_mask() }
}

/// Shuffles of 32 bits; `segments` is the instruction's operand c: the clamp in its low bits, and a mask of the
/// lane bits that tell segments apart from bit 8 on.
macro_rules! shuffles {
    ($($function:ident: $mode:literal;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $function(mask: u32, value: u32, other: u32, segments: u32) -> u32 {
            convergent();
            let result: u32;
            // SAFETY: the caller vouches for the mask; registers only.
            unsafe {
                asm!(
                    concat!("shfl.sync.", $mode, ".b32 {}, {}, {}, {}, {};"),
                    out(reg32) result,
                    in(reg32) value,
                    in(reg32) other,
                    in(reg32) segments,
                    in(reg32) mask,
                    options(nomem, nostack),
                );
            }
            result
        }
    )*};
}

shuffles! {
    shuffle: "idx";
    shuffle_up: "up";
    shuffle_down: "down";
    shuffle_xor: "bfly";
}

// Predicates come and go as numbers, since `asm!` has no registers for them.
instructions! {
    lanes [unsafe] fn ballot(mask: u32 as reg32, predicate: u32 as reg32) out (result as reg32) -> u32 {
        "{{ .reg .pred holds;",
        "setp.ne.u32 holds, {predicate}, 0;",
        "vote.sync.ballot.b32 {result}, holds, {mask}; }}",
    }

    lanes [unsafe] fn match_any(mask: u32 as reg32, value: u32 as reg32) out (result as reg32) -> u32 {
        "match.any.sync.b32 {result}, {value}, {mask};"
    }

    lanes [unsafe] fn match_all(mask: u32 as reg32, value: u32 as reg32) out (result as reg32) -> u32 {
        "match.all.sync.b32 {result}, {value}, {mask};"
    }

    warp fn sync_threads_count(predicate: u32 as reg32) out (result as reg32) -> u32 {
        "{{ .reg .pred holds;",
        "setp.ne.u32 holds, {predicate}, 0;",
        "bar.red.popc.u32 {result}, 0, holds; }}",
    }

    warp fn sync_threads_and(predicate: u32 as reg32) out (result as reg32) -> u32 {
        "{{ .reg .pred holds;",
        "setp.ne.u32 holds, {predicate}, 0;",
        "bar.red.and.pred holds, 0, holds;",
        "selp.u32 {result}, 1, 0, holds; }}",
    }

    warp fn sync_threads_or(predicate: u32 as reg32) out (result as reg32) -> u32 {
        "{{ .reg .pred holds;",
        "setp.ne.u32 holds, {predicate}, 0;",
        "bar.red.or.pred holds, 0, holds;",
        "selp.u32 {result}, 1, 0, holds; }}",
    }
}

/// The twin checks indices; here the caller's promise is relied on.
#[inline(always)]
pub(crate) fn check_index(_index: usize, _length: usize) {}

/// An address in the shared state space.
pub type Address = u32;

#[inline(always)]
pub(crate) fn generic_pointer(address: Address) -> *mut u8 {
    let pointer: *mut u8;
    // SAFETY: converts an address and touches no memory.
    unsafe {
        asm!(
            "cvta.shared.u64 {}, {};",
            out(reg64) pointer,
            in(reg64) u64::from(address),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    pointer
}

/// A number that one `ld.shared` or `st.shared` moves.
pub trait Element: Copy {
    /// Reads element `index` of the array at `array`.
    ///
    /// # Safety
    ///
    /// The element is in the array and initialised, and nobody writes it.
    unsafe fn load(array: Address, index: usize) -> Self;

    /// Writes element `index` of the array at `array`.
    ///
    /// # Safety
    ///
    /// The element is in the array, and nobody else accesses it.
    unsafe fn store(self, array: Address, index: usize);
}

/// The address of element `index` of an array of `T`; shared memory has less than 2^32 bytes.
#[inline(always)]
pub(crate) fn element_address<T>(array: Address, index: usize) -> Address {
    array + index as u32 * size_of::<T>() as u32
}

/// The array of one place in the source, for each instance of the function that the place is in. The type `P`
/// stands for the place.
///
/// An array that is declared in a function exists once, however often the function is called. That must hold
/// for the machine code too, so this one is not inlined; it computes nothing, and is called once for all uses
/// that LLVM sees together.
#[inline(never)]
pub(crate) fn local_array<T, const N: usize, const ALIGN: usize, P>() -> Address {
    let address: Address;
    // SAFETY: declares an array, reads its address and touches no memory.
    unsafe {
        asm!(
            "{{ .shared .align {align} .b8 array[{bytes}];",
            "mov.u32 {address}, array; }}",
            align = const ALIGN,
            bytes = const { size_of::<[T; N]>() },
            address = out(reg32) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address
}

macro_rules! elements {
    ($($type:ty: $bits:ty, $register:ident, $suffix:literal;)*) => {$(
        impl Element for $type {
            #[inline(always)]
            unsafe fn load(array: Address, index: usize) -> Self {
                let value: $bits;
                // SAFETY: the caller vouches for the element.
                unsafe {
                    asm!(
                        concat!("ld.shared.", $suffix, " {}, [{}];"),
                        out($register) value,
                        in(reg32) element_address::<Self>(array, index),
                        options(pure, readonly, nostack, preserves_flags),
                    );
                }
                value as Self
            }

            #[inline(always)]
            unsafe fn store(self, array: Address, index: usize) {
                // SAFETY: the caller vouches for the element; memory is taken to change.
                unsafe {
                    asm!(
                        concat!("st.shared.", $suffix, " [{}], {};"),
                        in(reg32) element_address::<Self>(array, index),
                        in($register) self as $bits,
                        options(nostack, preserves_flags),
                    );
                }
            }
        }
    )*};
}

elements! {
    u8: u16, reg16, "u8";
    u16: u16, reg16, "b16";
    u32: u32, reg32, "b32";
    i32: i32, reg32, "b32";
    f32: f32, reg32, "f32";
    u64: u64, reg64, "b64";
    i64: i64, reg64, "b64";
    f64: f64, reg64, "f64";
}

global_asm!(".extern .shared .align 128 .b8 profiler_kernel_dynamic_shared[];");

#[inline(always)]
pub(crate) fn dynamic_shared() -> *mut u8 {
    let address: *mut u8;
    // SAFETY: reads the address of the array declared above and touches no memory.
    unsafe {
        asm!(
            "mov.u64 {0}, profiler_kernel_dynamic_shared;",
            "cvta.shared.u64 {0}, {0};",
            out(reg64) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address
}

#[inline(always)]
pub(crate) fn dynamic_shared_bytes() -> u32 {
    constant_register!("dynamic_smem_size")
}

instructions! {
    memory [unsafe] fn load_acquire_u32(address: *const u32 as reg64) out (value as reg32) -> u32 {
        "ld.acquire.gpu.u32 {value}, [{address}];"
    }

    memory [unsafe] fn store_release_u32(address: *mut u32 as reg64, value: u32 as reg32) {
        "st.release.gpu.u32 [{address}], {value};"
    }
}

#[inline(always)]
pub(crate) fn spin_hint() {}

/// Reads the time only if the condition does not hold at first.
#[inline(always)]
pub(crate) fn spin_until_or_trap(limit_ns: u64, mut condition: impl FnMut() -> bool) {
    if condition() {
        return;
    }
    let begin = global_timer();
    while !condition() {
        if global_timer() - begin > limit_ns {
            trap();
        }
    }
}

/// Nanoseconds of the GPU's own timer.
#[inline(always)]
fn global_timer() -> u64 {
    let now: u64;
    // SAFETY: reads a special register.
    unsafe { asm!("mov.u64 {}, %globaltimer;", out(reg64) now, options(nomem, nostack)) };
    now
}

instructions! {
    memory [unsafe] fn cp_async_16(target: *mut u8 as reg64, source: *const u8 as reg64) {
        "{{ .reg .u64 target, source;",
        "cvta.to.shared.u64 target, {target};",
        "cvta.to.global.u64 source, {source};",
        "cp.async.cg.shared.global [target], [source], 16; }}",
    }

    memory fn cp_async_commit() { "cp.async.commit_group;" }

    memory fn cp_async_wait<PENDING: usize>() { "cp.async.wait_group {PENDING};" }
}

/// An instruction on an mbarrier, whose shared address it can name as `barrier`.
macro_rules! mbarrier {
    ($barrier:expr, $($rest:tt)*) => {
        asm!(
            "{{ .reg .u64 barrier;",
            "cvta.to.shared.u64 barrier, {barrier};",
            $($rest)*
            barrier = in(reg64) $barrier,
            options(nostack),
        )
    };
}

#[inline(always)]
pub(crate) unsafe fn cp_async_arrive(barrier: *mut u64) {
    // SAFETY: the caller vouches for the mbarrier; memory is taken to change.
    unsafe {
        mbarrier!(barrier, "cp.async.mbarrier.arrive.noinc.shared.b64 [barrier]; }}",);
    }
}

#[inline(always)]
pub(crate) unsafe fn mbarrier_init(barrier: *mut u64, arrivals: u32) {
    // SAFETY: the caller vouches for the mbarrier; memory is taken to change.
    unsafe {
        mbarrier!(
            barrier,
            "mbarrier.init.shared.b64 [barrier], {arrivals}; }}",
            arrivals = in(reg32) arrivals,
        );
    }
}

#[inline(always)]
pub(crate) unsafe fn mbarrier_arrive(barrier: *mut u64) {
    // SAFETY: the caller vouches for the mbarrier; memory is taken to change.
    unsafe {
        mbarrier!(barrier, ".reg .b64 state;", "mbarrier.arrive.shared.b64 state, [barrier]; }}",);
    }
}

/// `try_wait` lets the hardware suspend the thread for a while, but needs sm_90.
#[inline(always)]
pub(crate) unsafe fn mbarrier_test_parity(barrier: *mut u64, parity: u32) -> bool {
    let complete: u32;
    // SAFETY: the caller vouches for the mbarrier; memory is taken to change.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        mbarrier!(
            barrier,
            ".reg .pred complete;",
            "mbarrier.try_wait.parity.shared.b64 complete, [barrier], {parity};",
            "selp.u32 {complete}, 1, 0, complete; }}",
            complete = lateout(reg32) complete,
            parity = in(reg32) parity,
        );
    }
    // SAFETY: as above.
    #[cfg(not(target_feature = "sm_90"))]
    unsafe {
        mbarrier!(
            barrier,
            ".reg .pred complete;",
            "mbarrier.test_wait.parity.shared.b64 complete, [barrier], {parity};",
            "selp.u32 {complete}, 1, 0, complete; }}",
            complete = lateout(reg32) complete,
            parity = in(reg32) parity,
        );
    }
    complete != 0
}

#[inline(always)]
pub(crate) unsafe fn mbarrier_invalidate(barrier: *mut u64) {
    // SAFETY: the caller vouches for the mbarrier; memory is taken to change.
    unsafe {
        mbarrier!(barrier, "mbarrier.inval.shared.b64 [barrier]; }}",);
    }
}

instructions! {
    pure fn exp2(x: f32 as reg32) out (result as reg32) -> f32 { "ex2.approx.ftz.f32 {result}, {x};" }

    pure fn log2(x: f32 as reg32) out (result as reg32) -> f32 { "lg2.approx.ftz.f32 {result}, {x};" }

    pure fn rsqrt(x: f32 as reg32) out (result as reg32) -> f32 { "rsqrt.approx.ftz.f32 {result}, {x};" }

    pure fn rcp(x: f32 as reg32) out (result as reg32) -> f32 { "rcp.approx.ftz.f32 {result}, {x};" }

    pure fn sin(x: f32 as reg32) out (result as reg32) -> f32 { "sin.approx.ftz.f32 {result}, {x};" }

    pure fn cos(x: f32 as reg32) out (result as reg32) -> f32 { "cos.approx.ftz.f32 {result}, {x};" }

    pure fn tanh(x: f32 as reg32) out (result as reg32) -> f32 { "tanh.approx.f32 {result}, {x};" }

    pure fn fma(a: f32 as reg32, b: f32 as reg32, c: f32 as reg32) out (result as reg32) -> f32 {
        "fma.rn.f32 {result}, {a}, {b}, {c};"
    }
}
