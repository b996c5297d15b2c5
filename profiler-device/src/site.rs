//! Sites: the numbers by which records name kernels, regions and marks.

use profiler_wire::site::{Buffer, Names, SiteEntry, SiteKind};

#[cfg(feature = "enabled")]
use crate::hardware;

/// The number of a site, 20 bits; a constant in the machine code. Made by [`site!`](crate::site!).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteId {
    pub(crate) number: u32,
}

impl SiteId {
    /// The `index`-th id of a name list of `len` names; an index out of range gives the id after
    /// the last, whose name says so.
    #[inline(always)]
    #[must_use]
    pub fn nth(self, index: u32, len: u32) -> Self {
        Self { number: self.number + if index < len { index } else { len } }
    }
}

/// Makes an entry of the site table; `__site!` calls it at compile time.
#[doc(hidden)]
#[must_use]
#[expect(
    clippy::too_many_arguments,
    reason = "one argument for each thing that a macro knows of a site"
)]
pub const fn entry(
    kind: SiteKind,
    name: &'static str,
    unit: &'static str,
    strategy: u16,
    buffer: Buffer,
    symbol: &'static str,
    launch_bounds: [u32; 3],
    names: &'static [&'static str],
    file: &'static str,
    module: &'static str,
    line: u32,
    column: u32,
) -> SiteEntry<'static> {
    let mut entry = SiteEntry::new(kind, name, file, module, line, column);
    entry.unit = unit;
    entry.strategy = strategy;
    entry.buffer = buffer;
    entry.symbol = symbol;
    entry.max_threads = launch_bounds[0];
    entry.min_blocks = launch_bounds[1];
    entry.max_registers = launch_bounds[2];
    entry.ids = if names.is_empty() { 1 } else { names.len() as u32 + 1 };
    entry.names = Names::Given(names);
    entry
}

/// Leaves a site in the compiled module and gives its [`SiteId`], for the methods of a
/// [`LaneRecorder`](crate::LaneRecorder).
///
/// The kind is `Region`, `Mark`, `Signal` or `Wait`; the name is a constant `&str`. `by` says which
/// `leader_` method the site is used with, as in [`profile_region!`](crate::profile_region!):
/// `block`, `warp`, `warp(n)`, `warp_group`, `elected`, `thread` or `when`. It may be left out for
/// [`Recorder::leader`](crate::Recorder::leader) and wherever only lane 0 records; without it the
/// host gives the other lanes no buffer, and what they record is counted as lost. `unit` names the
/// unit of the value that goes with it.
///
/// One use is one site. With profiling off nothing is left behind.
///
/// ```
/// use profiler_device::{Payload, Recorder, site};
///
/// /// Macros cannot do this: the guard is a variable, and ends under a condition.
/// #[inline(always)]
/// fn copy(prof: Recorder<'_>, rows: u32, early: bool) {
///     let region = prof.leader_block().region(
///         site!(Region, "copy", by = block, unit = "rows"),
///         0,
///         Payload(rows),
///     );
///     if early {
///         region.end();
///         prof.leader_elected().mark(site!(Mark, "early", by = elected));
///         return;
///     }
///     prof.leader().mark_value(site!(Signal, "copied"), rows);
/// }
/// ```
#[macro_export]
macro_rules! site {
    (Region, $($rest:tt)+) => { $crate::__named_site!(Region, $($rest)+) };
    (Mark, $($rest:tt)+) => { $crate::__named_site!(Mark, $($rest)+) };
    (Signal, $($rest:tt)+) => { $crate::__named_site!(Signal, $($rest)+) };
    (Wait, $($rest:tt)+) => { $crate::__named_site!(Wait, $($rest)+) };
}

/// The expansion of [`site!`](crate::site!), for the kinds that it allows.
#[doc(hidden)]
#[macro_export]
macro_rules! __named_site {
    (
        $kind:ident, $name:expr
        $(, by = $by:ident $(($index:expr))?)? $(, unit = $unit:expr)? $(,)?
    ) => {
        $crate::__site!(
            kind = $kind,
            name = $name,
            unit = [$($unit,)? ""][0],
            strategy = [
                $($crate::__strategy!($by $(($index))?).code(),)?
                $crate::__private::wire::site::STRATEGY_OF_KERNEL
            ][0],
            symbol = "",
            max_threads = 0,
            min_blocks = 0,
            max_registers = 0,
            names = []
        )
    };
}

/// The strategy that `by = ..` of [`site!`](crate::site!) names.
#[doc(hidden)]
#[macro_export]
macro_rules! __strategy {
    (block) => {
        $crate::__private::wire::Strategy::Block
    };
    (warp) => {
        $crate::__private::wire::Strategy::Warp
    };
    (warp($index:expr)) => {
        $crate::__private::wire::Strategy::WarpIndex($index)
    };
    (warp_group) => {
        $crate::__private::wire::Strategy::WarpGroup
    };
    (elected) => {
        $crate::__private::wire::Strategy::Elected
    };
    (thread) => {
        $crate::__private::wire::Strategy::Thread
    };
    (when) => {
        $crate::__private::wire::Strategy::When
    };
}

/// The buffer of a kernel; only kernels name one.
#[doc(hidden)]
#[macro_export]
macro_rules! __buffer {
    () => {
        $crate::__private::wire::site::Buffer::Global
    };
    ($buffer:ident) => {
        $crate::__private::wire::site::Buffer::$buffer
    };
}

/// Leaves a site entry in the compiled module and gives its [`SiteId`].
#[cfg(feature = "enabled")]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    (
        kind = $kind:ident, name = $name:expr, unit = $unit:expr, strategy = $strategy:expr,
        symbol = $symbol:expr, max_threads = $max_threads:expr, min_blocks = $min_blocks:expr,
        max_registers = $max_registers:expr, names = [$($list:expr),* $(,)?]
        $(, buffer = $buffer:ident)? $(,)?
    ) => {{
        const __PROFILER_ENTRY: $crate::__private::wire::SiteEntry<'static> =
            $crate::__private::entry(
                $crate::__private::wire::SiteKind::$kind,
                $name,
                $unit,
                $strategy,
                $crate::__buffer!($($buffer)?),
                $symbol,
                [$max_threads, $min_blocks, $max_registers],
                &[$($list),*],
                $crate::__private::core::file!(),
                $crate::__private::core::module_path!(),
                $crate::__private::core::line!(),
                $crate::__private::core::column!(),
            );
        const __PROFILER_LENGTH: $crate::__private::primitive::usize =
            __PROFILER_ENTRY.encoded_len();
        #[used]
        static __PROFILER_SITE: [$crate::__private::primitive::u8; __PROFILER_LENGTH] =
            __PROFILER_ENTRY.encode();
        const __PROFILER_KEY: $crate::__private::primitive::u64 = {
            let __profiler_bytes: [$crate::__private::primitive::u8; __PROFILER_LENGTH] =
                __PROFILER_ENTRY.encode();
            $crate::__private::wire::site::key_of(&__profiler_bytes)
        };
        const __PROFILER_ID: $crate::__private::primitive::u32 =
            $crate::__private::wire::site::hashed_id(__PROFILER_KEY, __PROFILER_ENTRY.ids);
        $crate::__private::site_id::<__PROFILER_KEY, __PROFILER_ID>(&__PROFILER_SITE)
    }};
}

/// Profiling is off: no entry is left behind. The arguments are still type-checked.
#[cfg(not(feature = "enabled"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    (
        kind = $kind:ident, name = $name:expr, unit = $unit:expr, strategy = $strategy:expr,
        symbol = $symbol:expr, max_threads = $max_threads:expr, min_blocks = $min_blocks:expr,
        max_registers = $max_registers:expr, names = [$($list:expr),* $(,)?]
        $(, buffer = $buffer:ident)? $(,)?
    ) => {{
        const _: $crate::__private::wire::SiteEntry<'static> = $crate::__private::entry(
            $crate::__private::wire::SiteKind::$kind,
            $name,
            $unit,
            $strategy,
            $crate::__buffer!($($buffer)?),
            $symbol,
            [$max_threads, $min_blocks, $max_registers],
            &[$($list),*],
            "",
            "",
            0,
            0,
        );
        $crate::__private::site_id::<0, 0>(&[])
    }};
}

/// The id of a site in the code: an immediate operand that the build step replaces by the dense
/// number of the site. `KEY` finds the site's entry; `HASHED` is the id until then.
#[cfg(feature = "enabled")]
#[doc(hidden)]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
#[must_use]
pub fn site_id<const KEY: u64, const HASHED: u32>(entry: &'static [u8]) -> SiteId {
    SiteId { number: hardware::number_of::<KEY, HASHED>(entry) }
}

#[cfg(not(feature = "enabled"))]
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn site_id<const KEY: u64, const HASHED: u32>(_entry: &'static [u8]) -> SiteId {
    SiteId { number: HASHED }
}
