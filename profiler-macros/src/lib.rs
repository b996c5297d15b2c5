//! The macros of the profiler: `#[profiled]`, `profile_region!` and their family.
//!
//! Use them through `profiler_device`, which re-exports them and has the code that they expand into. If
//! that crate has another name, write `extern crate other_name as profiler_device;` in the root of the
//! crate, or give each macro the path, as `crate = path`.
//!
//! | macro | records |
//! |---|---|
//! | [`macro@profiled`] | a kernel, or a whole device function |
//! | [`profile_region!`] | a region: to the end of the enclosing block, or a block |
//! | [`region_start!`], [`region_end!`] | a region that spans iterations or crosses others |
//! | [`profile_mark!`] | an instant, with or without a value |
//! | [`profile_signal!`], [`profile_wait!`] | instants that the trace joins by an arrow |
//! | [`profile_anchor!`] | a reading of both clocks, in the loop of a long kernel |
//! | [`profile_names!`] | nothing: lists names; a region chooses one at run time |
//! | [`recorder!`] | nothing: gives the recorder, for a device function |
//!
//! # Who records: `by`
//!
//! | `by = ..` | records |
//! |---|---|
//! | `warp` | lane 0 of every warp; the default of kernels |
//! | `block` | lane 0 of warp 0 of the block |
//! | `warp(n)` | lane 0 of warp `n` of the block; `n` is a literal, or a path of a constant of type `u32` |
//! | `warp_group` | lane 0 of every fourth warp |
//! | `elected` | one active lane of the warp, right under any divergence |
//! | `thread` | every thread |
//! | `when(condition)` | the threads for which the condition holds |
//!
//! A region or mark without `by` records the way its kernel does.
//!
//! # Which recorder: `recorder`
//!
//! `#[profiled]` puts a recorder in scope for its body. It is hidden like a local of `macro_rules!`, so your
//! own `macro_rules!` do not see it: pass it to them, and to device functions, with [`recorder!`] and
//! `recorder = prof`.
//!
//! # When profiling is off
//!
//! Without the feature `enabled` of `profiler_device` the macros leave nothing behind. Expressions
//! that you give them (`value`, `track`, `key`, an index, a condition) are ordinary code and are
//! still evaluated; the compiler drops them if they have no side effect.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;

mod args;
#[cfg(doctest)]
mod edition_2021;
mod mark;
mod names;
mod profiled;
mod region;
mod report;
mod runtime;
mod strategy;
#[cfg(test)]
mod tests;

/* # The attribute */

/// Records a kernel, or a whole device function.
///
/// # On a kernel
///
/// A kernel is an `extern "ptx-kernel"` function. For nvptx64 it becomes that kernel, exported under
/// its name unless it is generic or has an export attribute; for every other target it becomes its
/// *CPU twin*, the same function without the ABI, so that the crate compiles for the host on stable.
/// The signature does not change.
///
/// ```
/// use profiler_device::{profile_region, profiled};
///
/// #[profiled]
/// pub unsafe extern "ptx-kernel" fn scale(data: *mut f32, factor: f32) {
///     profile_region!("multiply", {
///         // SAFETY: the caller gives a pointer to at least one element.
///         unsafe { *data *= factor }
///     });
/// }
/// ```
///
/// Rust-CUDA's `#[cuda_std::kernel]` marks a kernel as well, above or below `#[profiled]`; only the body of
/// its item changes.
///
/// # On a device function
///
/// The whole body becomes a region named after the function. It needs a recorder: a parameter of
/// type `Recorder`, by value or by reference, or the one that `recorder = ..` names. Generics, methods,
/// `unsafe`, `impl Trait` and early returns all work. The function is inlined into every caller, unless it
/// has an `#[inline]` attribute of its own.
///
/// ```
/// use profiler_device::{Recorder, recorder, profile_region, profiled};
///
/// #[profiled]
/// fn square<T: Copy + core::ops::Mul<Output = T>>(prof: Recorder<'_>, value: T) -> T {
///     profile_region!("multiply");
///     value * value
/// }
///
/// #[profiled]
/// pub unsafe extern "ptx-kernel" fn kernel(data: *mut f32) {
///     // SAFETY: the caller gives a pointer to at least one element.
///     let data = unsafe { &mut *data };
///     *data = square(recorder!(), *data);
/// }
/// ```
///
/// # Arguments
///
/// `name = "..."` replaces the function's name:
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(name = "softmax, first pass")]
/// pub extern "ptx-kernel" fn softmax_1() {}
/// ```
///
/// `by = ..` says [who records](crate#who-records-by): on a kernel for all annotations without `by`, on a
/// device function for its region.
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(by = warp_group)]
/// pub extern "ptx-kernel" fn gemm() {}
///
/// #[profiled(by = when(index % 2 == 0))]
/// pub extern "ptx-kernel" fn odd_ones_out(index: u32) {}
/// ```
///
/// `track = expr`, of type `u32`, puts the records on a track of your own choosing instead of the
/// warp's. On a kernel it is evaluated once, on entry. The largest number is 16 777 213, as a record has 24
/// bits for it. Larger numbers, such as `(block << 16) | tile` from block 256 on, share one track, and the
/// trace says so.
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(track = tile)]
/// pub extern "ptx-kernel" fn persistent(tile: u32) {}
/// ```
///
/// `recorder = expr` on a device function is a recorder under another type or name:
///
/// ```
/// # use profiler_device::{Recorder, profiled};
/// struct Pipeline<'a> {
///     prof: Recorder<'a>,
/// }
/// impl Pipeline<'_> {
///     #[profiled(recorder = self.prof)]
///     fn advance(&self) {}
/// }
/// ```
///
/// The other arguments are those of kernels. `clock = cycles` (the default) stamps with the SM's clock, which the host maps to nanoseconds;
/// `clock = globaltimer` stamps with the GPU's nanosecond timer, which is coarser.
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(clock = globaltimer, by = block)]
/// pub extern "ptx-kernel" fn coarse() {}
/// ```
///
/// `buffer = global` (the default) keeps records in global memory; a region is one record, written when it
/// ends. `buffer = host` writes them to host memory that the GPU can reach; a region is a record when it
/// begins, and a whole one when it ends. The host can read them while the kernel runs (`Session::watch` of
/// profiler-host), and after the kernel trapped, hung or touched an illegal address, when all device memory
/// is gone (`Error::salvaged`). Regions that had not ended show as open.
///
/// It is for kernels that fail or never end. It needs the feature `host-buffer` of profiler-device; without
/// the feature, other kernels pay nothing for it. A record crosses the bus to the host, and a region is two
/// records. What that costs depends on what else is on the bus, so that it cannot be subtracted from times. If one
/// kernel of a module asks for it, the records of the module's other kernels are in host
/// memory, too, in their own form. A warp that has not left has read both clocks only once: give
/// `clock = globaltimer` as well, or [`profile_anchor!`] with `every`, so that nanoseconds are right.
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(buffer = global)]
/// pub extern "ptx-kernel" fn ordinary() {}
///
/// #[profiled(buffer = host, clock = globaltimer)]
/// pub extern "ptx-kernel" fn suspect() {}
/// ```
///
/// `enabled = CONSTANT` switches one kernel on or off when it is compiled; off, nothing is left.
///
/// ```
/// # use profiler_device::profiled;
/// const TUNING: bool = false;
///
/// #[profiled(enabled = TUNING)]
/// pub extern "ptx-kernel" fn sometimes() {}
/// ```
///
/// `single_body` compiles the kernel's body once. By default it is compiled twice, after one branch that is
/// the same for the whole launch: with recording, and without any profiling for launches without a session. The second copy makes the kernel's code about twice as long.
/// Shared memory and registers that an `asm!` in it declares are the same in both; a label that is
/// defined outside of braces is refused when the device crate is built. The copies are a function inside the
/// kernel: it cannot name `Self` or the generics of an `impl` around the kernel, and a parameter that is a
/// pattern must be `Copy` if `by` or `track` names a part of it. With a single body, a launch without a
/// session stores nothing, but reads the clocks.
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// #[profiled(single_body)]
/// pub extern "ptx-kernel" fn large() {
///     profile_region!("work");
/// }
/// ```
///
/// `max_threads = n`, `min_blocks = n` and `max_registers = n` are launch bounds, constants of type
/// `u32` and at least 1: threads of a block, blocks that an SM holds at once, and registers of a
/// thread (PTX ISA, performance-tuning directives). The build step writes them into the PTX. Give
/// `min_blocks` if you know it: without it ptxas guesses the registers of a thread, and the recording copy of
/// the body, which needs some ten more, may give up loads that overlapped.
///
/// ```
/// # use profiler_device::profiled;
/// const THREADS: u32 = 256;
///
/// #[profiled(max_threads = THREADS, min_blocks = 2)]
/// pub extern "ptx-kernel" fn bounded() {}
///
/// #[profiled(max_registers = 96)]
/// pub extern "ptx-kernel" fn lean() {}
/// ```
///
/// `crate = path` is the path of `profiler_device`, if it is not `::profiler_device`:
///
/// ```
/// mod reexports {
///     pub use profiler_device as prof;
/// }
///
/// #[reexports::prof::profiled(crate = crate::reexports::prof)]
/// pub extern "ptx-kernel" fn renamed() {}
/// # fn main() {}
/// ```
///
/// # Errors
///
/// An unknown or repeated argument, or one without effect, does not compile; all mistakes of one annotation
/// are reported at once. A clock cannot be read at compile time, so a `const fn`
/// is refused:
///
/// ```compile_fail
/// # use profiler_device::{Recorder, profiled};
/// #[profiled]
/// const fn answer(prof: Recorder<'_>) -> u32 { 42 }
/// ```
#[proc_macro_attribute]
pub fn profiled(arguments: TokenStream, item: TokenStream) -> TokenStream {
    profiled::expand(arguments.into(), item.into()).into()
}

/* # Regions */

/// Records a region.
///
/// As a statement, it lasts to the end of the enclosing block. With a block as its last argument, it
/// is an expression with the block's value; variables flow in and out, and `return`, `break`,
/// `continue` and `?` close the region.
///
/// ```
/// use profiler_device::{profile_region, profiled};
///
/// #[profiled]
/// pub extern "ptx-kernel" fn kernel(count: u32) {
///     for index in 0..count {
///         profile_region!("iteration");
///         let twice = profile_region!("double", {
///             if index == 7 {
///                 break;
///             }
///             index * 2
///         });
///         let _ = twice;
///     }
/// }
/// ```
///
/// `cfg` on the statement leaves a region out of a build:
///
/// ```
/// # #![allow(unexpected_cfgs)]
/// # use profiler_device::{profile_region, profiled};
/// # fn add(left: u32, right: u32) -> u32 { left + right }
/// # #[profiled] extern "ptx-kernel" fn kernel(left: u32, right: u32) {
/// let sum = {
///     #[cfg(feature = "steps")]
///     profile_region!("sum");
///     add(left, right)
/// };
/// # let _ = sum;
/// # }
/// ```
///
/// Memory operations, barriers and `asm!` stay between the stamps. Arithmetic on values that are not
/// pinned may be moved by the compiler, and a load is only *issued* inside: see `pin` and `wait`.
/// Temporaries of the block's last expression are dropped inside the region, as in edition 2024.
///
/// # The name
///
/// A string literal, or `LIST[index]` of a [`profile_names!`] list, with an index of any integer type.
///
/// # Arguments
///
/// `by = ..` says [who records](crate#who-records-by), `track = expr` (of type `u32`) on which track:
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// # #[profiled] extern "ptx-kernel" fn kernel(tile: u32) {
/// profile_region!("tile", by = block, track = tile);
/// # }
/// ```
///
/// The largest number of a track is 16 777 213 (see [`macro@profiled`]).
///
/// `wait`, a flag of the block form: the end stamp waits for the block's value, so that the region
/// shows when a load has completed, not when it was issued. The words of a larger value are added up before
/// the stamp, within the region: 5 cycles for two or three words, 10 for four or five.
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// # #[profiled] unsafe extern "ptx-kernel" fn kernel(data: *const f32) {
/// // SAFETY: the caller gives a pointer to at least one element.
/// let first = profile_region!("load", wait, { unsafe { data.read_volatile() } });
/// # let _ = first;
/// # }
/// ```
///
/// `pin = a` or `pin = (a, b)`, of the block form: mutable variables whose computation stays inside, or
/// their fields, elements at literal indices (`sums[0]`), and referents (`*sum`). They are pinned right before
/// the begin stamp, so that their values on entry are computed outside; right after it; and, when the block
/// comes to its end, right before the end stamp.
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// # #[profiled] extern "ptx-kernel" fn kernel(x: f32) {
/// let mut sum = x;
/// profile_region!("sum", pin = sum, {
///     for _ in 0..64 {
///         sum = sum * 0.5 + 1.0;
///     }
/// });
/// # }
/// ```
///
/// `value = expr` attaches a number, any integer or float, evaluated on entry; `unit = ".."` names its unit,
/// and the statistics show it per second. An integer of up to 16 bits, a `bool`, or a literal without a suffix
/// that fits 16 bits is a part of the region's record and costs an instruction or two. Any other value is one
/// more record, which costs twice a region's; so is a short value of a region with a `track` or with
/// `buffer = host`. With a value in its record, a region's begin is known for 2^40 ticks (9 minutes) from the
/// kernel's entry, as with a track; the trace says if that leaves a doubt.
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// # #[profiled] extern "ptx-kernel" fn kernel(rows: u32) {
/// profile_region!("copy", value = rows * 512, unit = "bytes");
/// profile_region!("step", value = rows as u16);
/// # }
/// ```
///
/// `recorder = expr` gives the recorder if none is in scope, and `crate = path` the path of
/// `profiler_device`:
///
/// ```
/// # use profiler_device::{Recorder, profile_region};
/// #[inline(always)]
/// fn helper(prof: &Recorder<'_>) {
///     profile_region!("helper", recorder = prof, crate = ::profiler_device);
/// }
/// ```
#[proc_macro]
pub fn profile_region(tokens: TokenStream) -> TokenStream {
    region::expand_region(tokens.into()).into()
}

/// Starts a region that [`region_end!`] ends, for work that spans iterations or crosses other
/// regions. Returns a token.
///
/// A token that goes out of scope leaves the region open, and the trace says so. Arguments are `by`,
/// `track`, `recorder` and `crate`, as in [`profile_region!`].
///
/// ```
/// use profiler_device::{profiled, region_end, region_start};
///
/// #[profiled]
/// pub extern "ptx-kernel" fn kernel(count: u32) {
///     let mut stage = region_start!("stage", by = block);
///     for index in 0..count {
///         region_end!(stage, value = index);
///         stage = region_start!("stage", by = block);
///     }
///     region_end!(stage);
/// }
/// ```
#[proc_macro]
pub fn region_start(tokens: TokenStream) -> TokenStream {
    region::expand_start(tokens.into()).into()
}

/// Ends the region of a token that [`region_start!`] gave.
///
/// `value = expr` attaches a number that is known only now, at the same cost as in [`profile_region!`];
/// `crate = path` is the path of `profiler_device`. [`region_start!`] has an example.
#[proc_macro]
pub fn region_end(tokens: TokenStream) -> TokenStream {
    region::expand_end(tokens.into()).into()
}

/// Returns the recorder that `#[profiled]` put in scope, to pass it to a device function or to your own
/// `macro_rules!`. It is a `Recorder`, which is `Copy`. `crate = path` is the path of `profiler_device`.
///
/// A function that takes one should have [`#[profiled]`](macro@profiled) or `#[inline(always)]`: in a call
/// the recorder's registers go through memory, even without a session.
///
/// ```
/// use profiler_device::{Recorder, recorder, profile_region, profiled};
///
/// macro_rules! twice {
///     ($recorder:expr, $work:expr) => {
///         for _ in 0..2 {
///             profile_region!("work", recorder = $recorder, { $work });
///         }
///     };
/// }
///
/// #[inline(always)]
/// fn helper(prof: Recorder<'_>) {
///     profile_region!("helper", recorder = prof);
/// }
///
/// #[profiled]
/// pub extern "ptx-kernel" fn kernel() {
///     let prof = recorder!();
///     twice!(prof, helper(prof));
/// }
/// ```
#[proc_macro]
pub fn recorder(tokens: TokenStream) -> TokenStream {
    region::expand_recorder(tokens.into()).into()
}

/* # Marks */

/// Records an instant, with or without a value.
///
/// The value, any integer or float, comes second. Arguments are `by`, `unit = ".."` (the unit of the
/// value), `recorder` and `crate`, as in [`profile_region!`].
///
/// ```
/// use profiler_device::{profile_mark, profiled};
///
/// #[profiled]
/// pub extern "ptx-kernel" fn kernel(depth: u32) {
///     profile_mark!("begin");
///     profile_mark!("depth", depth);
///     profile_mark!("queue", depth * 4, unit = "bytes", by = elected);
/// }
/// ```
#[proc_macro]
pub fn profile_mark(tokens: TokenStream) -> TokenStream {
    mark::expand_mark(tokens.into()).into()
}

/// Records that something is ready: the start of an arrow in the trace.
///
/// The arrow goes to the [`profile_wait!`] of the same name and the same key, any number that tells
/// one hand-over from the next. Arguments are those of [`profile_mark!`].
///
/// ```
/// use profiler_device::{profile_signal, profile_wait, profiled};
///
/// #[profiled]
/// pub extern "ptx-kernel" fn kernel(producer: bool, stage: u32) {
///     if producer {
///         profile_signal!("full", stage);
///     } else {
///         profile_wait!("full", stage, by = elected);
///     }
/// }
/// ```
#[proc_macro]
pub fn profile_signal(tokens: TokenStream) -> TokenStream {
    mark::expand_signal(tokens.into()).into()
}

/// Records that a wait is over: the end of an arrow in the trace. See [`profile_signal!`].
#[proc_macro]
pub fn profile_wait(tokens: TokenStream) -> TokenStream {
    mark::expand_wait(tokens.into()).into()
}

/// Records the time on the axis of all SMs, in the middle of a kernel.
///
/// Every warp reads both clocks when it enters and leaves the kernel, and its records lie on straight lines
/// between those readings. The clocks of SMs wander by up to a few tenths of a percent. If a warp runs for many
/// milliseconds, put this into a loop, with `every = CYCLES`: it reads both clocks only after so many cycles,
/// and otherwise compares the cycle counter with its last reading. `every = 200_000` is every tenth of a
/// millisecond; if load changes the GPU's clock meanwhile, 50 000 is better. Without `every` it reads both
/// clocks each time, which costs about as much as two regions.
///
/// Each reading is a record of two words in the warp's buffer, which must be large enough
/// (`records_per_warp`): at `every = 200_000` it fills the default buffer in 50 ms. The first one comes when the
/// thread first passes, or up to `every` cycles later. Each thread counts the cycles since its last reading over
/// all `profile_anchor!` with `every` that it passes, whether it records there or not: give them one `by`. After
/// a pause of 2^32 cycles (two seconds) a reading may be that much late.
///
/// `every` is any expression of type `u32`; 0 at run time means each time. The other arguments are `by`,
/// `recorder` and `crate`, as in [`profile_region!`]. With `clock = globaltimer` there is nothing to record: in
/// such a kernel it is an error, and in a function that it calls it does nothing.
///
/// ```
/// use profiler_device::{profile_anchor, profile_region, profiled};
///
/// #[profiled]
/// pub extern "ptx-kernel" fn persistent(tiles: u32) {
///     for _ in 0..tiles {
///         profile_anchor!(every = 200_000);
///         profile_region!("tile", { /* the work */ });
///     }
/// }
/// ```
#[proc_macro]
pub fn profile_anchor(tokens: TokenStream) -> TokenStream {
    mark::expand_anchor(tokens.into()).into()
}

/* # Names */

/// Lists names; a region chooses one of them at run time.
///
/// It defines a unit struct, so visibility and attributes may stand in front, in a module or in a function.
/// `LEN` is the number of names. An index out of range is recorded as `TASK[out of range]`. The regions of a
/// list share one unit, `unit = ".."`; `crate = path` is the path of `profiler_device`.
///
/// ```
/// use profiler_device::{profile_names, profile_region, profiled};
///
/// profile_names!(pub TASK = ["load", "mma", "store"], unit = "bytes");
///
/// #[profiled]
/// pub extern "ptx-kernel" fn persistent(task: usize, size: u32) {
///     profile_region!(TASK[task], value = size, { /* the work */ });
/// }
/// # fn main() { assert_eq!(TASK::LEN, 3); }
/// ```
#[proc_macro]
pub fn profile_names(tokens: TokenStream) -> TokenStream {
    names::expand(tokens.into()).into()
}
