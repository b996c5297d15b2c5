//! The CPU twin's side of [`ptx!`](super::ptx): a program that the emulator runs; and a few functions that differ
//! between GPU and twin.

#[cfg(feature = "enabled")]
use profiler_wire::{SiteKind, site::SiteEntry};

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
        use std::sync::LazyLock;

        use profiler_emulator::ptx::Program;

        static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
            Program::new(
                &[
                    $(stringify!($in),)* $(stringify!($through),)* $(stringify!($out),)*
                    $(stringify!($late),)* $(stringify!($constant),)*
                ],
                concat!($($line, "\n"),+),
            )
        });
        let operands = [
            $(<$in_class>::from($in).into(),)* $($through.into(),)* $(<$out_class>::MIN.into(),)*
            $(<$late_class>::MIN.into(),)* $($value.into(),)*
        ];
        // SAFETY: only the functions that are unsafe touch memory, and their callers answer for it.
        let operands = unsafe { PROGRAM.run(operands, $place) };
        #[allow(unused_variables, reason = "most operands are only read")]
        let [$($in,)* $($through,)* $($out,)* $($late,)* $($constant,)*] = operands;
        $(let $through = $through as $through_class;)*
        $(let $out = $out as $out_class;)*
        $(let $late = $late as $late_class;)*
        $($result)?
    }};
}
pub(super) use body;

/// The number of a site. There is no PTX to be numbered in, so the emulator numbers what is executed.
#[cfg(feature = "enabled")]
pub(crate) fn number_of<const KEY: u64, const HASHED: u32>(entry: &'static [u8]) -> u32 {
    number_of_entry(entry)
}

/// One for all sites: a copy of it in each would take long to compile.
#[cfg(feature = "enabled")]
#[inline(never)]
fn number_of_entry(entry: &'static [u8]) -> u32 {
    profiler_emulator::module::number_of(entry, || match SiteEntry::parse(entry) {
        Ok(site) => (site.kind == SiteKind::Kernel, site.ids),
        Err(_) => (false, 1),
    })
}

/// On the GPU the lanes of a warp come to a kernel's end together.
#[cfg(feature = "enabled")]
pub(crate) fn leave_with_warp() {
    profiler_emulator::leave();
}

/// A kernel that fails on the GPU ends where it is; its twin unwinds, and must record nothing more.
#[cfg(feature = "enabled")]
pub(crate) fn is_unwinding() -> bool {
    std::thread::panicking()
}

/// A kernel of the runtime's own.
#[cfg(feature = "enabled")]
macro_rules! kernel {
    ($(#[$meta:meta])* fn $name:ident($rounds:ident) $body:block) => {
        $(#[$meta])*
        pub fn $name($rounds: u32) $body
    };
}
#[cfg(feature = "enabled")]
pub(crate) use kernel;
