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
/// and may change memory; `memory` may change memory; `pure` computes a result of its operands alone.
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

    warp [unsafe] fn sync_warp(mask: u32 as reg32) { "bar.warp.sync {mask};" }
}

#[inline(always)]
pub(crate) fn active_mask() -> u32 {
    // SAFETY: reads which lanes are active.
    unsafe { llvm_active_mask() }
}

macro_rules! shuffle {
    ($($function:ident: $mode:literal;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $function(mask: u32, value: u32, other: u32) -> u32 {
            convergent();
            let result: u32;
            // SAFETY: the caller vouches for the mask; registers only. 31 (no segments, clamp at the
            // warp's end) suits all three modes.
            unsafe {
                asm!(
                    concat!("shfl.sync.", $mode, ".b32 {}, {}, {}, 31, {};"),
                    out(reg32) result,
                    in(reg32) value,
                    in(reg32) other,
                    in(reg32) mask,
                    options(nomem, nostack),
                );
            }
            result
        }
    )*};
}

shuffle! {
    shuffle: "idx";
    shuffle_xor: "bfly";
    shuffle_down: "down";
}

#[inline(always)]
pub(crate) unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    convergent();
    let result: u32;
    // SAFETY: the caller vouches for the mask; registers only.
    unsafe {
        asm!(
            "{{ .reg .pred holds;",
            "setp.ne.u32 holds, {1}, 0;",
            "vote.sync.ballot.b32 {0}, holds, {2}; }}",
            out(reg32) result,
            in(reg32) u32::from(predicate),
            in(reg32) mask,
            options(nomem, nostack),
        );
    }
    result
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

/// The address of an element of `bytes` bytes; shared memory has less than 2^32 bytes.
#[inline(always)]
fn element_address(array: Address, index: usize, bytes: usize) -> Address {
    array + index as u32 * bytes as u32
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
                        in(reg32) element_address(array, index, size_of::<Self>()),
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
                        in(reg32) element_address(array, index, size_of::<Self>()),
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
    memory [unsafe] fn atomic_add_u32(address: *mut u32 as reg64, value: u32 as reg32)
        out (before as reg32) -> u32
    { "atom.relaxed.gpu.add.u32 {before}, [{address}], {value};" }

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
    pure fn pack_bf16(low: f32 as reg32, high: f32 as reg32) out (packed as reg32) -> u32 {
        "cvt.rn.bf16x2.f32 {packed}, {high}, {low};"
    }

    pure fn exp2(x: f32 as reg32) out (result as reg32) -> f32 { "ex2.approx.ftz.f32 {result}, {x};" }

    pure fn rsqrt(x: f32 as reg32) out (result as reg32) -> f32 { "rsqrt.approx.ftz.f32 {result}, {x};" }

    pure fn fma(a: f32 as reg32, b: f32 as reg32, c: f32 as reg32) out (result as reg32) -> f32 {
        "fma.rn.f32 {result}, {a}, {b}, {c};"
    }
}

#[inline(always)]
pub(crate) unsafe fn mma_m16n8k16_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    convergent();
    let [mut d0, mut d1, mut d2, mut d3] = c;
    // SAFETY: the caller vouches for the warp; registers only.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "{{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) d0,
            inout(reg32) d1,
            inout(reg32) d2,
            inout(reg32) d3,
            in(reg32) a[0],
            in(reg32) a[1],
            in(reg32) a[2],
            in(reg32) a[3],
            in(reg32) b[0],
            in(reg32) b[1],
            options(nomem, nostack),
        );
    }
    [d0, d1, d2, d3]
}

macro_rules! ldmatrix {
    ($($function:ident: $variant:literal;)*) => {$(
        #[inline(always)]
        pub(crate) unsafe fn $function(row: *const u8) -> [u32; 4] {
            convergent();
            let (r0, r1, r2, r3): (u32, u32, u32, u32);
            // SAFETY: the caller vouches for the warp and the address; memory is read, and taken to
            // change.
            unsafe {
                asm!(
                    "{{ .reg .u64 row;",
                    "cvta.to.shared.u64 row, {4};",
                    concat!(
                        "ldmatrix.sync.aligned.m8n8.x4",
                        $variant,
                        ".shared.b16 {{{0}, {1}, {2}, {3}}}, [row]; }}",
                    ),
                    lateout(reg32) r0,
                    lateout(reg32) r1,
                    lateout(reg32) r2,
                    lateout(reg32) r3,
                    in(reg64) row,
                    options(nostack),
                );
            }
            [r0, r1, r2, r3]
        }
    )*};
}

ldmatrix! {
    ldmatrix_x4: "";
    ldmatrix_x4_trans: ".trans";
}

#[inline(always)]
pub(crate) unsafe fn stmatrix_x4(row: *mut u8, parts: [u32; 4]) {
    convergent();
    // SAFETY: the caller vouches for the warp and the address; memory is taken to change.
    unsafe {
        asm!(
            "{{ .reg .u64 row;",
            "cvta.to.shared.u64 row, {0};",
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [row], {{{1}, {2}, {3}, {4}}}; }}",
            in(reg64) row,
            in(reg32) parts[0],
            in(reg32) parts[1],
            in(reg32) parts[2],
            in(reg32) parts[3],
            options(nostack),
        );
    }
}
