//! The GPU's side of [`ptx!`](super::ptx): `asm!`, with operands of the classes `reg16`, `reg32` and `reg64`
//! only, which both rustc's own nvptx64 target and Rust-CUDA's code generator take; and a few functions that
//! differ between GPU and twin.

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
pub(super) fn convergence_guard() {
    // SAFETY: reads which lanes are active; no memory, no other effect.
    unsafe {
        convergent_active_mask();
    }
}

/// The body of a function of [`ptx!`](super::ptx).
macro_rules! body {
    (
        $guard:tt, $place:expr, [$($option:ident),+], [$($line:expr),+], [$($result:expr)?],
        in $($in:ident as $in_class:ident)*,
        through $($through:ident as $through_class:ident)*,
        out $($out:ident as $out_class:ident)*,
        lateout $($late:ident as $late_class:ident)*,
        const $($constant:ident = $value:expr;)*
    ) => {{
        let _: Option<&'static core::panic::Location<'static>> = $place;
        side::guard!($guard);
        $(let mut $through = $through;)*
        $(let $out: $out_class;)*
        $(let $late: $late_class;)*
        // SAFETY: only the functions that are unsafe touch memory that is not the module's own constants,
        // and their callers answer for it; and a collective names no lanes but those that its callers say
        // come here. All else reads registers and clocks, or computes.
        unsafe {
            core::arch::asm!(
                $($line,)+
                $($in = in($in_class) <$in_class>::from($in),)*
                $($through = inlateout($through_class) $through,)*
                $($out = out($out_class) $out,)*
                $($late = lateout($late_class) $late,)*
                $($constant = const $value,)*
                options($($option),+),
            );
        }
        $($result)?
    }};
}
pub(super) use body;

/// The guard of a collective, and none.
macro_rules! guard {
    (guarded) => {
        side::convergence_guard()
    };
    (unguarded) => {};
}
pub(super) use guard;

// The descriptor's memory. `.const` and not `.global`: its loads are then uniform loads that hit
// the constant cache, one for the whole warp.
#[cfg(feature = "enabled")]
core::arch::global_asm!(
    concat!(".visible .const .align 16 .b8 ", profiler_wire::descriptor_symbol!(), "[{bytes}];"),
    bytes = const profiler_wire::descriptor::BYTES,
);

/// The number of a site: an immediate operand that the build step replaces.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn number_of<const KEY: u64, const HASHED: u32>(_entry: &'static [u8]) -> u32 {
    let number: u32;
    // SAFETY: moves a constant into a register; no memory, no other effect.
    unsafe {
        core::arch::asm!(
            concat!("mov.u32 {number}, {hashed}; // ", profiler_wire::site_marker!(), " {key}"),
            number = out(reg32) number,
            hashed = const HASHED,
            key = const KEY,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    number
}

/// The lanes of a warp come to a kernel's end together, as that is one place in the code.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) fn leave_with_warp() {}

/// Whether the thread is being ended from outside: never while it runs here.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) const fn is_unwinding() -> bool {
    false
}

/// A kernel of the runtime's own.
#[cfg(feature = "calibration")]
macro_rules! kernel {
    ($(#[$meta:meta])* fn $name:ident($rounds:ident) $body:block) => {
        $(#[$meta])*
        #[unsafe(no_mangle)]
        pub extern "ptx-kernel" fn $name($rounds: u32) $body
    };
}
#[cfg(feature = "calibration")]
pub(crate) use kernel;
