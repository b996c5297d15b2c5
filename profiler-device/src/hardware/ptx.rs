//! The intrinsics on the GPU: one PTX instruction each, or a few that LLVM and ptxas would not leave
//! together or in this form, through `asm!` with `reg32` and `reg64` operands only, so that rustc's own
//! nvptx64 target and Rust-CUDA's code generator both take them.
//!
//! What must stay where it is written (clock reads, stores, atomics, collectives) is `asm!` without
//! `nomem`: the compiler moves no memory access and no other such `asm!` across it.

#[cfg(feature = "enabled")]
mod together;

use core::arch::asm;

use profiler_wire::header::Dim3;

#[cfg(feature = "enabled")]
pub(crate) use together::{
    Place, all_together, are_alike, count_if, ending_together, store_range_if,
};

// The descriptor's memory. `.const` and not `.global`: its loads are then uniform loads that hit
// the constant cache, one for the whole warp.
#[cfg(feature = "enabled")]
core::arch::global_asm!(
    concat!(".visible .const .align 16 .b8 ", profiler_wire::descriptor_symbol!(), "[{bytes}];"),
    bytes = const profiler_wire::descriptor::BYTES,
);

// SAFETY: LLVM's intrinsic has this signature.
unsafe extern "C" {
    /// LLVM's own `activemask`, which unlike `asm!` is *convergent*: where it stands, LLVM neither
    /// copies code into both arms of a divergent branch nor sinks it. Its result is not used, and
    /// nothing of it is left in the machine code.
    #[link_name = "llvm.nvvm.activemask"]
    fn convergent_active_mask() -> u32;
}

/// Stands before every collective `asm!`: keeps LLVM from duplicating it.
#[inline(always)]
fn convergence_guard() {
    // SAFETY: reads which lanes are active; no memory, no other effect.
    unsafe {
        convergent_active_mask();
    }
}

macro_rules! special_register {
    ($($name:ident: $register:literal;)*) => {
        $(#[inline(always)]
        pub(super) fn $name() -> u32 {
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

special_register! {
    lane_id: "laneid";
    lane_mask_lt: "lanemask_lt";
    tid_x: "tid.x";
    tid_y: "tid.y";
    tid_z: "tid.z";
    ntid_x: "ntid.x";
    ntid_y: "ntid.y";
    ntid_z: "ntid.z";
    ctaid_x: "ctaid.x";
    ctaid_y: "ctaid.y";
    ctaid_z: "ctaid.z";
    nctaid_x: "nctaid.x";
    nctaid_y: "nctaid.y";
    nctaid_z: "nctaid.z";
}

#[inline(always)]
pub(super) fn thread_index() -> Dim3 {
    [tid_x(), tid_y(), tid_z()]
}

#[inline(always)]
pub(super) fn block_dim() -> Dim3 {
    [ntid_x(), ntid_y(), ntid_z()]
}

#[inline(always)]
pub(super) fn block_index() -> Dim3 {
    [ctaid_x(), ctaid_y(), ctaid_z()]
}

#[inline(always)]
pub(super) fn grid_dim() -> Dim3 {
    [nctaid_x(), nctaid_y(), nctaid_z()]
}

/// Volatile: after a preemption a block may go on on another SM.
#[inline(always)]
pub(super) fn sm_id() -> u32 {
    let value: u32;
    // SAFETY: moves a special register.
    unsafe {
        asm!("mov.u32 {value}, %smid;", value = out(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// Volatile: the hardware may move a warp.
#[inline(always)]
pub(super) fn warp_id() -> u32 {
    let value: u32;
    // SAFETY: moves a special register.
    unsafe {
        asm!("mov.u32 {value}, %warpid;", value = out(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

#[inline(always)]
pub(super) fn grid_id() -> u64 {
    let value: u64;
    // SAFETY: moves a special register that does not change while a thread runs.
    unsafe {
        asm!(
            "mov.u64 {value}, %gridid;",
            value = out(reg64) value,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

/// The rank of the block in its cluster. The register exists from sm_90 on; the build step says by
/// a cfg that the target has it.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn cluster_rank() -> Option<u32> {
    #[cfg(profiler_cluster)]
    {
        let value: u32;
        // SAFETY: moves a special register that does not change while a thread runs.
        unsafe {
            asm!(
                "mov.u32 {value}, %cluster_ctarank;",
                value = out(reg32) value,
                options(pure, nomem, nostack, preserves_flags),
            );
        }
        Some(value)
    }
    #[cfg(not(profiler_cluster))]
    None
}

macro_rules! stamps {
    ($($name:ident, $after:ident: $register:literal;)*) => {
        $(
            /// Reads the clock, in every lane: ptxas 13.0 turns a read under a predicate into a
            /// read without one and two selects behind it. All 64 bits: a 32-bit read costs three
            /// times as much on an H200.
            #[inline(always)]
            pub(crate) fn $name() -> u64 {
                let ticks: u64;
                // SAFETY: reads a clock. Not `nomem`: memory accesses stay on their side of it.
                unsafe {
                    asm!(
                        concat!("mov.u64 {ticks}, %", $register, ";"),
                        ticks = out(reg64) ticks,
                        options(nostack, preserves_flags),
                    );
                }
                ticks
            }

            /// The same, once `value` is there. The predicate holds for every value (no magnitude
            /// exceeds infinity, and a comparison with a NaN that is "or unordered" holds too), but
            /// ptxas does not know that, also where it knows that the value is small. An integer
            /// comparison does not do: of a `u8` ptxas 13.0 knows how it ends.
            #[cfg(feature = "enabled")]
            #[inline(always)]
            pub(crate) fn $after(value: u32) -> u64 {
                let ticks: u64;
                // SAFETY: as above.
                unsafe {
                    asm!(
                        "{{ .reg .pred %p_there; .reg .f32 %f_value;",
                        "mov.b32 %f_value, {value};",
                        "abs.f32 %f_value, %f_value;",
                        "setp.leu.f32 %p_there, %f_value, 0f7F800000;",
                        "mov.u64 {ticks}, 0;",
                        concat!("@%p_there mov.u64 {ticks}, %", $register, "; }}"),
                        value = in(reg32) value,
                        ticks = out(reg64) ticks,
                        options(nostack, preserves_flags),
                    );
                }
                ticks
            }
        )*
    };
}

stamps! {
    clock64, clock64_after: "clock64";
    globaltimer, globaltimer_after: "globaltimer";
}

#[inline(always)]
pub(super) fn active_mask() -> u32 {
    convergence_guard();
    let mask: u32;
    // SAFETY: reads which lanes are active. Not `nomem`, so that it stays where it is written.
    unsafe {
        asm!("activemask.b32 {mask};", mask = out(reg32) mask, options(nostack, preserves_flags));
    }
    mask
}

/// Lane 0's `value`, in all lanes of `mask`. It waits for them, so that they need not arrive
/// together, but all of them and lane 0 among them must arrive ("shfl.sync").
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn broadcast(mask: u32, value: u32) -> u32 {
    convergence_guard();
    let received: u32;
    // SAFETY: all lanes that the caller's mask names come here.
    unsafe {
        asm!(
            "shfl.sync.idx.b32 {received}, {value}, 0, 31, {mask};",
            received = out(reg32) received,
            value = in(reg32) value,
            mask = in(reg32) mask,
            options(nostack, preserves_flags),
        );
    }
    received
}

/// Where the lanes of a warp meet again, though nothing is left to wait for. ptxas then takes what follows
/// for code in which no warp is parted, and keeps in uniform registers what all lanes compute alike
/// (docs/how-it-costs.md, "Entry"). Lanes that a warp does not have, or that have ended, are not waited
/// for.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn converge() {
    convergence_guard();
    // SAFETY: callers come here with all lanes of the warp; no memory is touched. Not `nomem`, so that
    // it stays where it is written.
    unsafe { asm!("bar.warp.sync 0xffffffff;", options(nostack, preserves_flags)) };
}

/// `pure`: the descriptor does not change while a kernel runs.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(super) fn constant_u32<const OFFSET: u32>() -> u32 {
    let value: u32;
    // SAFETY: reads the module's own constant memory, inside its bounds.
    unsafe {
        asm!(
            concat!("ld.const.u32 {value}, [", profiler_wire::descriptor_symbol!(), "+{offset}];"),
            value = out(reg32) value,
            offset = const OFFSET,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

#[cfg(feature = "enabled")]
#[inline(always)]
pub(super) fn constant_u64<const OFFSET: u32>() -> u64 {
    let value: u64;
    // SAFETY: as above.
    unsafe {
        asm!(
            concat!("ld.const.u64 {value}, [", profiler_wire::descriptor_symbol!(), "+{offset}];"),
            value = out(reg64) value,
            offset = const OFFSET,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

/// Keeps the computation of a value before what is written behind this call, at no instruction.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn hold(mut value: u32) -> u32 {
    // SAFETY: an empty template: the register keeps its value. Volatile, so that it keeps its place
    // among clock reads and stores.
    unsafe {
        asm!("// {value}", value = inlateout(reg32) value, options(nomem, nostack, preserves_flags));
    }
    value
}

/// The same value, of which the compilers know nothing; unlike [`hold`] nothing is left of it where it is
/// not used.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn opaque(mut value: u32) -> u32 {
    // SAFETY: an empty template: the register keeps its value.
    unsafe {
        asm!(
            "// {value}",
            value = inlateout(reg32) value,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

/// Stores a unit where `condition` holds: data, and the stamp of tag and ticks as
/// [`profiler_wire::record::stamp`] puts it together. Predicated, and not branched around.
///
/// # Safety
///
/// Where `condition` holds, the halves of `address` must be those of 16 bytes of global memory,
/// aligned to 16, that no other thread writes.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn store_unit_if(
    condition: bool,
    address: u64,
    data: u64,
    tag: u32,
    ticks: u64,
) -> u32 {
    let stamp: u32;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .pred %p_store; .reg .b32 %r_stamp<5>;",
            "setp.ne.u32 %p_store, {condition}, 0;",
            "mov.b64 {{%r_stamp0, %r_stamp1}}, {data};",
            "mov.b64 {{%r_stamp2, %r_stamp3}}, {ticks};",
            // Shift and sum, and not a bitwise or: ptxas makes one LEA of them.
            "shl.b32 %r_stamp3, %r_stamp3, 24;",
            "add.u32 %r_stamp4, %r_stamp3, {tag};",
            "@%p_store st.global.v4.b32 [{address}], {{%r_stamp0, %r_stamp1, %r_stamp2, %r_stamp4}};",
            "mov.b32 {stamp}, %r_stamp4; }}",
            condition = in(reg32) u32::from(condition),
            address = in(reg64) address,
            data = in(reg64) data,
            tag = in(reg32) tag,
            ticks = in(reg64) ticks,
            stamp = lateout(reg32) stamp,
            options(nostack, preserves_flags),
        );
    }
    stamp
}

/// The lower half of a unit's address, `room | (cursor & mask)`: the byte in a ring that is aligned to its
/// size.
///
/// The instruction is written out for the order of its operands, which ptxas leaves as it stands. On an
/// H200 `room, mask, cursor` takes 3.6 cycles more at 32 warps (docs/how-it-costs.md, "Up to eight warps").
/// Not `pure`, so that it stays behind the stamp.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn unit_low(room: u32, cursor: u32, mask: u32) -> u32 {
    let low: u32;
    // SAFETY: arithmetic alone. 0xf8 is the truth table of a | (b & c).
    unsafe {
        asm!(
            "lop3.b32 {low}, {room}, {cursor}, {mask}, 0xf8;",
            low = out(reg32) low,
            room = in(reg32) room,
            cursor = in(reg32) cursor,
            mask = in(reg32) mask,
            options(nomem, nostack, preserves_flags),
        );
    }
    low
}

/// The address whose lower half is `low` and whose upper one is that of `room`.
///
/// Nothing of `kept` comes into it (0xf0 is the truth table of the first of three operands), but
/// ptxas leaves the instruction as it stands: the register of `kept` is taken up to here, and the
/// upper half is made in this place.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn unit_address(room: u64, low: u32, kept: u32) -> u64 {
    let address: u64;
    // SAFETY: arithmetic alone.
    unsafe {
        asm!(
            "{{ .reg .b32 %r_half<3>;",
            "mov.b64 {{%r_half0, %r_half1}}, {room};",
            "lop3.b32 %r_half2, %r_half1, {kept}, {kept}, 0xf0;",
            "mov.b64 {address}, {{{low}, %r_half2}}; }}",
            room = in(reg64) room,
            low = in(reg32) low,
            kept = in(reg32) kept,
            address = lateout(reg64) address,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    address
}

/// One 16-byte store.
///
/// # Safety
///
/// `address` must be that of 16 bytes of global memory, aligned to 16, that no other thread writes.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn store_unit(address: u64, words: [u64; 2]) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "st.global.v2.u64 [{address}], {{{first}, {second}}};",
            address = in(reg64) address,
            first = in(reg64) words[0],
            second = in(reg64) words[1],
            options(nostack, preserves_flags),
        );
    }
}

/// One 8-byte store.
///
/// # Safety
///
/// `address` must be that of 8 bytes of global memory, aligned to 8, that no other thread writes.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn store_word(address: u64, word: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "st.global.u64 [{address}], {word};",
            address = in(reg64) address,
            word = in(reg64) word,
            options(nostack, preserves_flags),
        );
    }
}

/// [`store_unit_if`] to memory that the host reads meanwhile: relaxed, at the scope of the system.
///
/// The memory consistency model takes a vector for its elements, stored in no given order, each of
/// 64 bits whole ("Vector Data-types"). ptxas makes one 16-byte store of them, the very instruction
/// that it makes of one scalar of type `.b128` (a test of the SASS compares the two), which would need
/// PTX 8.4 of all modules. The host need not rely on that: see `profiler_wire::header`.
///
/// # Safety
///
/// As for [`store_unit_if`]; and the host reads it by whole words only.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn publish_unit_if(
    condition: bool,
    address: u64,
    data: u64,
    tag: u32,
    ticks: u64,
) -> u32 {
    let stamp: u32;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "{{ .reg .pred %p_store; .reg .b32 %r_stamp<3>; .reg .b64 %rd_unit;",
            "setp.ne.u32 %p_store, {condition}, 0;",
            "mov.b64 {{%r_stamp0, %r_stamp1}}, {ticks};",
            "shl.b32 %r_stamp1, %r_stamp1, 24;",
            "add.u32 %r_stamp2, %r_stamp1, {tag};",
            "mov.b64 %rd_unit, {{%r_stamp0, %r_stamp2}};",
            "@%p_store st.relaxed.sys.global.v2.b64 [{address}], {{{data}, %rd_unit}};",
            "mov.b32 {stamp}, %r_stamp2; }}",
            condition = in(reg32) u32::from(condition),
            address = in(reg64) address,
            data = in(reg64) data,
            tag = in(reg32) tag,
            ticks = in(reg64) ticks,
            stamp = lateout(reg32) stamp,
            options(nostack, preserves_flags),
        );
    }
    stamp
}

/// [`store_unit`] to memory that the host reads meanwhile: see [`publish_unit_if`].
///
/// # Safety
///
/// As for [`store_unit`]; and the host reads it by whole words only.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn publish_unit(address: u64, words: [u64; 2]) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "st.relaxed.sys.global.v2.b64 [{address}], {{{first}, {second}}};",
            address = in(reg64) address,
            first = in(reg64) words[0],
            second = in(reg64) words[1],
            options(nostack, preserves_flags),
        );
    }
}

/// [`store_word`] to memory that the host reads meanwhile.
///
/// # Safety
///
/// As for [`store_word`]; and the host reads it as one word only.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn publish_word(address: u64, word: u64) {
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "st.relaxed.sys.global.b64 [{address}], {word};",
            address = in(reg64) address,
            word = in(reg64) word,
            options(nostack, preserves_flags),
        );
    }
}

/// Whoever on the host sees what this thread publishes behind this sees what it published before it.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn order_before_host() {
    // SAFETY: orders memory operations; touches none.
    unsafe { asm!("fence.acq_rel.sys;", options(nostack, preserves_flags)) }
}

/// Whether the thread is being ended from outside: never while it runs here.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) const fn is_unwinding() -> bool {
    false
}

/// A relaxed atomic add at GPU scope; the value before it.
///
/// Relaxed does: adds of one scope to one word are morally strong to each other, so that none is lost
/// and none gets another's number (PTX ISA, "Memory Consistency Model": "Atomicity"), and by neither
/// claims nor losses is anything published. The host reads counters behind the end of the kernel.
///
/// # Safety
///
/// `address` must be that of a counter of 8 bytes in global memory, aligned to 8.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) unsafe fn atomic_add_u64(address: u64, value: u64) -> u64 {
    let before: u64;
    // SAFETY: the caller's.
    unsafe {
        asm!(
            "atom.relaxed.gpu.global.add.u64 {before}, [{address}], {value};",
            before = out(reg64) before,
            address = in(reg64) address,
            value = in(reg64) value,
            options(nostack, preserves_flags),
        );
    }
    before
}
