//! The macros of the profiler: `#[profiled]`, `profile_region!` and their family.
//!
//! Use them through `profiler_device`, which re-exports them and holds what they expand into. Where
//! that crate has another name, `extern crate other_name as profiler_device;` in the root of the
//! crate is all it takes; or each macro takes the path, as `crate = path`.
//!
//! | macro | records |
//! |---|---|
//! | [`macro@profiled`] | a kernel, or a whole device function |
//! | [`profile_region!`] | a region: to the end of the enclosing block, or a block |
//! | [`region_start!`], [`region_end!`] | a region that spans iterations or crosses others |
//! | [`profile_mark!`] | an instant, with or without a value |
//! | [`profile_signal!`], [`profile_wait!`] | instants that the trace joins by an arrow |
//! | [`profile_anchor!`] | a reading of both clocks, in the loop of a long kernel |
//! | [`profile_names!`] | nothing: lists names of which a region chooses one at run time |
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
//! `#[profiled]` puts a recorder in scope for what is written in its body. It is hidden like a local
//! of `macro_rules!`, so a `macro_rules!` of your own does not see it: pass it there, and to device
//! functions, with [`recorder!`] and `recorder = prof`.
//!
//! # When profiling is off
//!
//! Without the feature `enabled` of `profiler_device` the macros leave nothing behind. Expressions
//! that you give them (`value`, `track`, `key`, an index, a condition) are ordinary code and are
//! still evaluated; the compiler drops them where they have no side effect.
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
/// its name unless it is generic or says how it is exported; for every other target it becomes its
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
/// Rust-CUDA's `#[cuda_std::kernel]` marks a kernel as well, above or below `#[profiled]`; its item
/// is left as it is but for the body.
///
/// # On a device function
///
/// The whole body becomes a region named after the function. It needs a recorder: a parameter of
/// type `Recorder`, by value or by reference, or whatever `recorder = ..` says. Generics, methods,
/// `unsafe`, `impl Trait` and early returns all work. The function is inlined wherever it is called, unless
/// it says by `#[inline]` or another of its forms what it wants instead.
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
/// `by = ..` says [who records](crate#who-records-by): on a kernel for all that does not say it
/// itself, on a device function for its region.
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
/// bits for it: what goes beyond, as `(block << 16) | tile` does from block 256 on, lies on one track of its
/// own, and the trace says so.
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
/// The other arguments are those of kernels. `recorder = parameter` names the parameter of type
/// `DescriptorPtr` that holds the launch descriptor, for a kernel that is profiled apart from others
/// of its module. It trusts the pointer, so it must be an `unsafe fn`.
///
/// ```
/// # use profiler_device::{DescriptorPtr, profiled};
/// #[profiled(recorder = prof)]
/// pub unsafe extern "ptx-kernel" fn apart(prof: DescriptorPtr) {}
/// ```
///
/// `clock = cycles` (the default) stamps with the SM's clock, which the host maps to nanoseconds;
/// `clock = globaltimer` with the GPU's nanosecond timer, which is coarser.
///
/// ```
/// # use profiler_device::profiled;
/// #[profiled(clock = globaltimer, by = block)]
/// pub extern "ptx-kernel" fn coarse() {}
/// ```
///
/// `buffer = global` (the default) keeps records in global memory, a region as one record that is
/// written when it ends. `buffer = host` writes them to memory of the host that the GPU can reach, a
/// region as a record when it begins, and as a whole one when it ends: the host reads what
/// there is while the kernel runs (`Session::watch` of profiler-host), and after the kernel trapped,
/// hung or touched an illegal address, when all device memory is gone (`Error::salvaged`). Regions
/// that had not ended by then show as open.
///
/// It is for kernels that fail or never end. It needs the feature `host-buffer` of profiler-device,
/// without which the other kernels' machine code is as if this did not exist. A record crosses the bus
/// to the host, and a region is two of them; what can be subtracted from times is what that costs while
/// the bus is idle, and one that is full holds up stores for longer. Where one
/// kernel of a module asks for it, the records of the module's other kernels lie in the memory of the
/// host too, in their own form. A warp that has not left has read both clocks but once: give
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
/// `single_body` compiles the kernel's body once. By default it is compiled twice, after one branch
/// that is the same for the whole launch: with recording, and without anything of profiling for
/// launches that no session looks at. The second copy makes the kernel's code about twice as long.
/// Shared memory and registers that an `asm!` in it declares are the same in both; a label that is
/// defined outside of braces is refused when the device crate is built. The copies are a
/// function inside the kernel: what `Self` and the generics of an `impl` around the kernel are is
/// not known there, and a parameter that is a pattern, of which `by` or `track` names a part, must
/// be `Copy`. With a single body a launch without a session stores nothing, but reads the clocks.
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
/// thread (PTX ISA, performance-tuning directives). The build step writes them into the PTX. Say
/// `min_blocks` where you know it: without it ptxas guesses how many registers a thread needs, and
/// the copy of the body that records, which needs some ten more, was seen to give up loads that
/// overlapped for them.
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
/// `crate = path` says where `profiler_device` is, if not at `::profiler_device`:
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
/// An unknown or repeated argument, or one that would have no effect, does not compile; all mistakes
/// of one annotation are reported at once. A clock cannot be read at compile time, so a `const fn`
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
/// As a statement it lasts to the end of the enclosing block. With a block as its last argument it
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
/// shows when a load has completed, not when it was issued. The words of a
/// larger value are added up before the stamp, within the region: 5 cycles for two or three, 10 for
/// four or five.
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
/// their fields, elements at literal indices (`sums[0]`), and what they refer to (`*sum`).
/// They are pinned right before the begin stamp, so that what they hold on entry is computed
/// outside; right after it; and, when the block comes to its end, right before the end stamp.
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
/// `value = expr` attaches a number, any integer or float, evaluated on entry; `unit = ".."` names
/// its unit, of which the statistics then show how many per second. An integer of up to 16 bits, or a
/// `bool`, is a part of the region's record and costs an instruction or two, and so is a literal without a suffix
/// that fits one. Any other is a record more, which costs twice a region's. So is a short one of a region with a `track`
/// or with `buffer = host`. With a value in its record a region's begin is known for 2^40 ticks (9 minutes) from the kernel's entry, as with a track; the trace says where that
/// leaves a doubt.
///
/// ```
/// # use profiler_device::{profile_region, profiled};
/// # #[profiled] extern "ptx-kernel" fn kernel(rows: u32) {
/// profile_region!("copy", value = rows * 512, unit = "bytes");
/// profile_region!("step", value = rows as u16);
/// # }
/// ```
///
/// `recorder = expr` is the recorder where none is in scope, and `crate = path` where
/// `profiler_device` is:
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
/// regions. Gives a token.
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
/// `value = expr` attaches a number that is known only now, and costs what it does in
/// [`profile_region!`]; `crate = path` says where `profiler_device` is. The example is at [`region_start!`].
#[proc_macro]
pub fn region_end(tokens: TokenStream) -> TokenStream {
    region::expand_end(tokens.into()).into()
}

/// Gives the recorder that `#[profiled]` put in scope, to hand it to a device function or to a
/// `macro_rules!` of your own. It is a `Recorder`, which is `Copy`. `crate = path` says where
/// `profiler_device` is.
///
/// A function that takes one should bear [`#[profiled]`](macro@profiled) or `#[inline(always)]`: in a call
/// the recorder's registers go through memory, also while nobody records.
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

/// Records that something was made ready: the start of an arrow in the trace.
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

/// Records that something was waited for and came: the end of an arrow in the trace. See
/// [`profile_signal!`].
#[proc_macro]
pub fn profile_wait(tokens: TokenStream) -> TokenStream {
    mark::expand_wait(tokens.into()).into()
}

/// Records what time it is on the axis of all SMs, in the middle of a kernel.
///
/// Every warp does so when it enters and leaves the kernel, and its records lie on straight lines
/// between those readings. The clocks of SMs wander by up to a few tenths of a percent, so where one
/// warp runs for many milliseconds, put this into a loop, with `every = CYCLES`: it then reads both clocks
/// only where so many cycles have passed since it last did, and otherwise compares a
/// reading of the cycles with the last one. `every = 200_000` is every tenth of a millisecond; where load
/// changes the GPU's clock meanwhile, 50 000 is better. Without `every` it reads them each time, which costs about as much as two regions.
///
/// Each reading is a record of two words in the warp's buffer, of which the session has to have enough
/// (`records_per_warp`): at `every = 200_000` the default buffer is full of them after 50 ms. The first one
/// comes when the thread first passes, or up to `every` cycles later. Each thread counts the cycles since its
/// last one over all `profile_anchor!` with `every` that it passes, whether it is the one that records there
/// or not: give them one `by`. A loop that is away for 2^32 cycles (two seconds) may be that much late.
///
/// `every` is any expression of type `u32`; one that is 0 at run time is each time. The further arguments
/// are `by`, `recorder` and `crate`, as in [`profile_region!`]. Where the kernel's records hold `%globaltimer` (`clock = globaltimer`) there is
/// nothing to record: in such a kernel itself it is an error, in a function that it calls nothing.
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

/// Lists names of which a region chooses one at run time.
///
/// Makes a unit struct, so visibility and attributes are allowed in front, and it can stand in a
/// module or in a function. `LEN` is the number of names. An index out of range is recorded as
/// `TASK[out of range]`. The regions of a list share one unit, `unit = ".."`; `crate = path` says
/// where `profiler_device` is.
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
