//! The instructions of the runtime: functions of PTX, one instruction each, or a few that LLVM
//! and ptxas would not leave together or in this form.
//!
//! The text is written once. [`ptx!`] gives it to `asm!` on the GPU (`gpu.rs`) and to the emulator, which runs
//! it instruction by instruction, in the twin (`twin.rs`).

/// Functions whose bodies are PTX, as `asm!` takes it. Before `fn` stands what the compiler may do with it:
///
/// | | |
/// |---|---|
/// | `pure` | leave it out, repeat or move it: the same operands give the same result |
/// | `placed` | nothing of it; it keeps its place among all below, and memory accesses may pass it |
/// | `ordered` | they may not: clock reads and what must stay with them |
/// | `collective` | as `ordered`, and the lanes that execute it together stay together |
/// | `vote` | as `collective`; it asks which lanes these are, at a place in the source that the caller gives |
/// | `memory` | as `ordered`; an unsafe function, which stores where the caller says |
///
/// Parameters are registers of a class, `through` those that are written too, `out` what is only written,
/// `lateout` what is written once all else is read, `const` immediates; what the function gives stands after `=>`.
macro_rules! ptx {
    ($(
        $(#[$meta:meta])*
        $kind:ident fn $name:ident $(<$generic:ident>)? ($($in:ident: $in_type:ty as $in_class:ident),*)
        $(through ($($through:ident as $through_class:ident),+))?
        $(out ($($out:ident as $out_class:ident),+))?
        $(lateout ($($late:ident as $late_class:ident),+))?
        $(const ($($constant:ident = $value:expr),+))?
        $(-> $type:ty)?
        { $($line:expr),+ $(,)? $(=> $result:expr)? }
    )+) => {$(
        ptx! {
            @$kind
            { $(#[$meta])* }
            { $name $(<$generic>)? }
            { $($in: $in_type,)* $($($through: $through_class,)+)? }
            { $(-> $type)? }
            {
                [$($line),+], [$($result)?],
                in $($in as $in_class)*,
                through $($($through as $through_class)+)?,
                out $($($out as $out_class)+)?,
                lateout $($($late as $late_class)+)?,
                const $($($constant = $value;)+)?
            }
        }
    )+};
    (@pure $($rest:tt)+) => {
        ptx! { @safe $($rest)+ {} {unguarded, None, [pure, nomem, nostack, preserves_flags],} }
    };
    (@placed $($rest:tt)+) => {
        ptx! { @safe $($rest)+ {} {unguarded, None, [nomem, nostack, preserves_flags],} }
    };
    (@ordered $($rest:tt)+) => {
        ptx! { @safe $($rest)+ {} {unguarded, None, [nostack, preserves_flags],} }
    };
    (@collective $($rest:tt)+) => {
        ptx! { @safe $($rest)+ {} {guarded, None, [nostack, preserves_flags],} }
    };
    (@vote $($rest:tt)+) => {
        ptx! { @safe $($rest)+ {place} {guarded, Some(place), [nostack, preserves_flags],} }
    };
    (
        @safe
        { $(#[$meta:meta])* }
        { $name:ident $(<$generic:ident>)? }
        { $($parameters:tt)* }
        { $($type:tt)* }
        { $($body:tt)+ }
        { $($place:ident)? }
        { $($how:tt)+ }
    ) => {
        $(#[$meta])*
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
        pub(crate) fn $name $(<const $generic: u32>)? ($($parameters)* $($place: &'static Location<'static>)?) $($type)* {
            side::body!($($how)+ $($body)+)
        }
    };
    (
        @memory
        { $(#[$meta:meta])* }
        { $name:ident }
        { $($parameters:tt)* }
        { $($type:tt)* }
        { $($body:tt)+ }
    ) => {
        $(#[$meta])*
        #[cfg_attr(target_arch = "nvptx64", inline(always))]
        #[cfg_attr(not(target_arch = "nvptx64"), inline(never))]
        // SAFETY: the section of this name that each of these functions has says what its callers see to.
        pub(crate) unsafe fn $name($($parameters)*) $($type)* {
            side::body!(unguarded, None, [nostack, preserves_flags], $($body)+)
        }
    };
}

#[cfg(all(feature = "enabled", any(feature = "calibration", not(target_arch = "nvptx64"))))]
mod pause;
#[cfg(feature = "enabled")]
mod record;

use core::panic::Location;

use super::side;

#[cfg(all(feature = "enabled", any(feature = "calibration", not(target_arch = "nvptx64"))))]
pub(crate) use pause::*;
#[cfg(feature = "enabled")]
pub(crate) use record::*;

/// The classes of registers, as the types of what is in them.
#[allow(non_camel_case_types, reason = "as `asm!` has them")]
type reg16 = u16;
#[allow(non_camel_case_types, reason = "as `asm!` has them")]
type reg32 = u32;
#[allow(non_camel_case_types, reason = "as `asm!` has them")]
type reg64 = u64;

/// Functions that read a special register.
macro_rules! special_registers {
    ($($(#[$meta:meta])* $kind:ident $name:ident: $type:ident as $class:ident = $register:literal;)+) => {
        ptx! {$(
            $(#[$meta])*
            $kind fn $name() out (value as $class) -> $type {
                concat!("mov.", stringify!($type), " {value}, %", $register, ";") => value
            }
        )+}
    };
}

special_registers! {
    pure lane_id: u32 as reg32 = "laneid";
    pure lane_mask_lt: u32 as reg32 = "lanemask_lt";
    pure tid_x: u32 as reg32 = "tid.x";
    pure tid_y: u32 as reg32 = "tid.y";
    pure tid_z: u32 as reg32 = "tid.z";
    pure ntid_x: u32 as reg32 = "ntid.x";
    pure ntid_y: u32 as reg32 = "ntid.y";
    pure ntid_z: u32 as reg32 = "ntid.z";
    pure ctaid_x: u32 as reg32 = "ctaid.x";
    pure ctaid_y: u32 as reg32 = "ctaid.y";
    pure ctaid_z: u32 as reg32 = "ctaid.z";
    pure nctaid_x: u32 as reg32 = "nctaid.x";
    pure nctaid_y: u32 as reg32 = "nctaid.y";
    pure nctaid_z: u32 as reg32 = "nctaid.z";
    /// After a preemption a block may go on on another SM.
    placed sm_id: u32 as reg32 = "smid";
    /// The hardware may move a warp.
    placed warp_id: u32 as reg32 = "warpid";
    pure grid_id: u64 as reg64 = "gridid";
    /// From sm_90 on; the build step says by a cfg that the target has it.
    #[cfg(all(feature = "enabled", profiler_cluster))]
    pure cluster_ctarank: u32 as reg32 = "cluster_ctarank";
    /// In every lane: ptxas 13.0 turns a read under a predicate into a read without one and two selects
    /// after it. All 64 bits: a 32-bit read costs three times as much on an H200.
    ///
    /// Whoever reads it must use 32 bits of it or more: where only a conversion to 16 bits is left, the same in
    /// all lanes, ptxas 13.0 (V13.0.88, sm_90 and sm_100) makes an instruction of zeros, at which the GPU stops.
    ordered clock64: u64 as reg64 = "clock64";
    /// In every lane, as [`clock64`].
    ordered globaltimer: u64 as reg64 = "globaltimer";
}

ptx! {
    /// Which lanes execute this together.
    vote fn active_mask() out (mask as reg32) -> u32 {
        "activemask.b32 {mask};" => mask
    }

    /// Keeps the computation of a value before what is written after this call, at no instruction.
    placed fn hold() through (value as reg32) -> u32 {
        "// {value}" => value
    }

    /// [`hold`] of 16 bits.
    placed fn hold_16() through (value as reg16) -> u16 {
        "// {value}" => value
    }

    /// [`hold`] of 64 bits.
    placed fn hold_64() through (value as reg64) -> u64 {
        "// {value}" => value
    }

    /// Returns an offset that is zero, without the compilers knowing it, once an address is there. Added to a
    /// pointer, it holds the pointer back, and keeps its provenance and its address space known.
    placed fn offset_after(address: u64 as reg64) through (offset as reg64) -> u64 {
        "// {offset} {address}" => offset
    }
}
