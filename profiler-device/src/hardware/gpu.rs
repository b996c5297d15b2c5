//! What [`ptx!`](super::ptx) makes on the GPU of what it is given: `asm!`. With `reg32` and `reg64` operands
//! only, so that rustc's own nvptx64 target and Rust-CUDA's code generator both take it.

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
        let _: Place = $place;
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

/// Where lanes ask which of them are together: here, as they do.
#[derive(Clone, Copy)]
pub(crate) struct Place;

impl Place {
    /// Of what asks nothing.
    pub(super) const NOWHERE: Self = Self;

    #[inline(always)]
    pub(super) const fn here() -> Self {
        Self
    }

    /// Where a region of a site begins.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn of(_site: u32) -> Self {
        Self
    }

    /// Where it ends, for one of the questions that are asked there.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn at_end(self, _question: u8) -> Self {
        self
    }
}

/// Whether the thread is being ended from outside: never while it runs here.
#[cfg(feature = "enabled")]
#[inline(always)]
pub(crate) const fn is_unwinding() -> bool {
    false
}
