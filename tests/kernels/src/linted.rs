//! Each form of each macro in a module that denies what compilers and clippy can warn of.
//!
//! It is the test that generated code draws no lint: rustc's are checked wherever it compiles, for both targets, and
//! clippy's by `cargo clippy` over the workspace.
#![deny(
    warnings,
    keyword_idents,
    let_underscore,
    nonstandard_style,
    refining_impl_trait,
    rust_2018_idioms,
    unused,
    absolute_paths_not_starting_with_crate,
    ambiguous_negative_literals,
    closure_returning_async_block,
    deprecated_in_future,
    ffi_unwind_calls,
    impl_trait_redundant_captures,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]

pub use functions::{Pipeline, calls, calls_twice};
pub use kernels::*;
pub use launches::*;
pub use regions::*;

/// Regions, tokens, marks and names.
mod regions {
    use profiler_device::{
        profile_anchor, profile_mark, profile_names, profile_region, profile_signal, profile_wait,
        profiled, region_end, region_start,
    };

    const WARP: u32 = 2;

    profile_names!(
        /// Tasks.
        pub TASK = ["load", "mma"], unit = "bytes"
    );
    profile_names!(pub STEP = ["first_step", "Second"]);
    profile_names!(Phase = ["one"], crate = ::profiler_device);

    /// Each form of a region.
    ///
    /// # Safety
    ///
    /// `data` must be valid for four numbers.
    #[profiled]
    pub unsafe extern "ptx-kernel" fn every_form(data: *const f32, count: u32, _unused: u32) {
        profile_region!("statement");
        profile_region!("unit", value = count * 2, unit = "bytes");
        profile_region!("literal", value = 12_345, track = count);
        profile_region!("negative", value = -1, {});
        profile_region!("by block", by = block);
        profile_region!("by warp", by = warp);
        profile_region!("by one warp", by = warp(3));
        profile_region!("by a constant", by = warp(WARP));
        profile_region!("by warp group", by = warp_group);
        profile_region!("by elected", by = elected);
        profile_region!("by thread", by = thread);
        profile_region!("when", by = when(count > 3));
        // SAFETY: the caller's promise.
        let loaded = profile_region!("wait", wait, { unsafe { *data } });
        // SAFETY: likewise.
        let pair = profile_region!("wait for two", wait, { unsafe { (*data, *data.add(1)) } });
        let mut sum = loaded + pair.0;
        let mut sums = [sum; 2];
        profile_region!("pin", pin = sum, { sum *= pair.1 });
        let found = profile_region!("pins", pin = (sum, sums[0]), wait, {
            sums[0] += sum;
            if sums[0] > 3.0 {
                return;
            }
            sums[0]
        });
        for index in 0..count {
            profile_region!("iteration", value = index);
            profile_region!("leaves", {
                if index == 1 {
                    continue;
                }
                if index == 2 {
                    break;
                }
            });
        }
        match profile_region!("scrutinee", { count }) {
            0 => profile_region!("arm", {}),
            1 => {}
            _ => profile_region! { "braces", { sum = found; } },
        }
        let add = |y: u32| profile_region!("in a closure", { y + count });
        if profile_region!("condition", { add(1) > 3 }) {
            profile_mark!("sum", sum);
        }
        profile_region!("returns", { return });
    }

    /// Regions of lists.
    #[profiled]
    pub extern "ptx-kernel" fn every_name(small: u8, index: usize, signed: i32, wide: u64) {
        profile_region!(TASK[small]);
        let next = profile_region!(TASK[index], value = index, { index + 1 });
        profile_region!(Phase[0], by = thread);
        profile_region!(STEP[signed - 1], by = when(signed > 0), track = 3, {});
        profile_names!(LOCAL = ["here"]);
        profile_region!(LOCAL[wide % 2]);
        let token = region_start!(TASK[next]);
        region_end!(token);
    }

    /// Tokens.
    #[profiled]
    pub extern "ptx-kernel" fn crossing(count: u32) {
        let outer = region_start!("outer");
        let crossing = region_start!("crossing", by = warp_group, track = count);
        region_end!(outer);
        let mut stage = region_start!("stage", by = block);
        for index in 0..count {
            region_end!(stage, value = index);
            stage = region_start!("stage", by = thread);
        }
        region_end!(stage);
        region_end!(crossing, value = 2.5_f32);
    }

    /// Marks, arrows and anchors.
    #[profiled]
    pub extern "ptx-kernel" fn marks(depth: u32, key: u64) {
        profile_mark!("plain");
        profile_mark!("by thread", by = thread);
        profile_mark!("value", depth, unit = "rows", by = elected);
        profile_mark!("when", -3, by = when(depth > 3));
        profile_anchor!();
        profile_anchor!(every = 200_000);
        profile_anchor!(every = depth << 10, by = elected);
        profile_signal!("full", key);
        profile_wait!("full", key, by = warp(WARP));
        match depth {
            0 => profile_mark!("arm"),
            1 => {}
            _ => profile_wait!("empty", key + 1, unit = "stage"),
        }
    }
}

/// Kernels of every shape, with every argument.
mod kernels {
    use profiler_device::{profile_region, profiled};

    const WARP: u32 = 1;
    const THREADS: u32 = 64;
    const TUNING: bool = WARP == 1;

    /// A kernel of nothing.
    #[profiled]
    pub extern "ptx-kernel" fn nothing() {}

    /// Writes a number.
    ///
    /// # Safety
    ///
    /// `output` must be valid for a number.
    #[profiled(name = "writes a number")]
    pub unsafe extern "ptx-kernel" fn writes(output: *mut u32, mut number: u32) {
        profile_region!("write");
        number += 1;
        // SAFETY: the caller's promise.
        unsafe { *output = number };
    }

    /// Has as many parameters as clippy allows, of which it uses none.
    #[profiled]
    #[inline(never)]
    pub extern "ptx-kernel" fn seven(
        _a: u32,
        _b: u32,
        _c: u32,
        _d: u32,
        _e: u32,
        _f: u32,
        _g: u32,
    ) {
    }

    /// Is generic.
    ///
    /// # Safety
    ///
    /// `output` must be valid for a number.
    #[profiled]
    pub unsafe extern "ptx-kernel" fn generic<'a, T, const N: usize>(
        output: *mut T,
        input: &'a [T; N],
    ) where
        T: Copy + core::ops::Add<Output = T> + 'a,
    {
        profile_region!("sum", {
            // SAFETY: the caller's promise.
            unsafe { *output = input[0] + input[N - 1] };
        });
    }

    /// Is compiled once.
    #[profiled(single_body, track = tile + 1, by = block)]
    pub extern "ptx-kernel" fn single(tile: u32) {
        profile_region!("of a track", value = tile);
    }

    /// Has launch bounds.
    #[profiled(max_threads = THREADS, min_blocks = 2, max_registers = 128, enabled = TUNING)]
    pub extern "ptx-kernel" fn bounded() {}

    /// Is stamped by the other clock.
    #[profiled(by = warp_group, clock = globaltimer, buffer = global)]
    pub extern "ptx-kernel" fn of_the_timer() {}

    /// Writes records where the host reads them.
    #[profiled(buffer = host, clock = cycles)]
    pub extern "ptx-kernel" fn watched() {
        profile_region!("watched");
    }

    /// Is recorded under a condition.
    #[profiled(by = when(lane == 0 || tile % 2 == 1))]
    pub extern "ptx-kernel" fn conditional(lane: u32, tile: u32) {
        if lane > tile {
            return;
        }
        profile_region!("rest", by = when(lane > 3));
    }

    /// Two numbers.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct Tile {
        /// The one.
        pub x: u32,
        /// The other.
        pub y: u32,
    }

    impl Tile {
        /// Belongs to a type.
        #[profiled(single_body)]
        pub extern "ptx-kernel" fn recorded(self) {
            profile_region!("of a type", value = self.x);
        }
    }

    /// Takes its parameters apart.
    ///
    /// # Safety
    ///
    /// `output` must be valid for a number.
    #[profiled(by = when(x == 0), track = y)]
    pub unsafe extern "ptx-kernel" fn in_parts(
        Tile { mut x, y }: Tile,
        whole @ Tile { .. }: Tile,
        _: u32,
        output: *mut u32,
    ) {
        profile_region!("rest");
        x += whole.x + y;
        // SAFETY: the caller's promise.
        unsafe { *output = x };
    }

    /// Is not for nvptx64 alone.
    #[profiled(by = elected)]
    #[unsafe(no_mangle)]
    pub extern "ptx-kernel" fn to_no_one() {}

    /// Kernels that nobody calls, by each way to record.
    pub mod strategies {
        use super::{WARP, profiled};

        /// Each warp.
        #[profiled(by = warp)]
        pub extern "ptx-kernel" fn by_warp() {}

        /// One warp of each block.
        #[profiled(by = warp(WARP))]
        pub extern "ptx-kernel" fn by_one_warp() {}

        /// Each thread.
        #[profiled(by = thread)]
        pub extern "ptx-kernel" fn by_thread() {}

        #[profiled]
        extern "ptx-kernel" fn private() {}
    }

    /// A kernel in a macro.
    macro_rules! kernel {
        ($name:ident, $region:literal) => {
            /// A kernel of a macro.
            ///
            /// # Safety
            ///
            /// `output` must be valid for a number.
            #[profiled(crate = ::profiler_device)]
            pub unsafe extern "ptx-kernel" fn $name(output: *mut u32) {
                profile_region!($region, crate = ::profiler_device, {
                    // SAFETY: the caller's promise.
                    unsafe { *output = 1 };
                });
            }
        };
    }
    kernel!(methods, "of a macro");

    /// Without `unsafe`.
    pub mod safe {
        #![deny(unsafe_code)]

        use super::{profile_region, profiled};

        /// Is safe, and says nothing of `unsafe`.
        #[profiled]
        pub extern "ptx-kernel" fn safe() {
            profile_region!("safe");
        }
    }
}

/// Device functions.
mod functions {
    use profiler_device::{Payload, Recorder, profile_region, profiled, recorder, site};
    use profiler_kernel::thread;

    /// Calls all of them.
    #[profiled]
    pub extern "ptx-kernel" fn calls(x: u32) {
        let mut prof = recorder!();
        let sum = by_value(prof, x)
            + by_reference(&prof, x)
            + by_mutable_reference(&mut prof, recorder!());
        let mut pipeline = Pipeline { prof, value: sum };
        pipeline.set(generic(prof, [x, sum]));
        let mut closure = |value| pipeline.set(by_value(recorder!(), value));
        closure(unannotated(prof, x));
        by_hand(prof, fallible(&prof, Some(sum)).is_some());
    }

    #[profiled]
    fn by_value(prof: Recorder<'_>, x: u32) -> u32 {
        x + 1
    }

    #[profiled(name = "by reference", by = elected, track = x)]
    fn by_reference(prof: &Recorder<'_>, x: u32) -> u32 {
        if x == 0 {
            return 7;
        }
        x
    }

    #[profiled(recorder = prof, crate = ::profiler_device)]
    #[inline(never)]
    fn by_mutable_reference<'a>(prof: &mut Recorder<'a>, other: Recorder<'a>) -> u32 {
        *prof = other;
        3
    }

    #[profiled]
    fn generic<T, const N: usize>(prof: Recorder<'_>, values: [T; N]) -> T
    where
        T: Copy + Default + core::ops::Add<Output = T>,
    {
        let mut sum = T::default();
        for value in values {
            profile_region!("add", value = N);
            sum = sum + value;
        }
        sum
    }

    #[profiled]
    fn fallible(prof: &Recorder<'_>, x: Option<u32>) -> Option<u32> {
        let x = x?;
        let y = profile_region!("inner", { Some(x)? + 1 });
        Some(y)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a recorder goes through registers")]
    fn unannotated(prof: Recorder<'_>, x: u32) -> u32 {
        profile_region!("unannotated", recorder = prof);
        x + 2
    }

    fn by_hand(prof: Recorder<'_>, early: bool) {
        let region = prof.leader_block().region(
            site!(Region, "by hand", by = block, unit = "rows"),
            0,
            Payload(4_u16),
        );
        if early {
            region.end();
            prof.leader_elected().mark(site!(Mark, "early", by = elected));
        }
    }

    /// Holds a recorder.
    #[allow(missing_debug_implementations, reason = "a recorder has no text")]
    #[derive(Clone, Copy)]
    pub struct Pipeline<'a> {
        prof: Recorder<'a>,
        value: u32,
    }

    impl Pipeline<'_> {
        /// Sets the value.
        #[profiled(recorder = self.prof)]
        pub fn set(&mut self, value: u32) {
            self.value = value;
        }
    }

    /// Calls a large function twice, from both copies of its own body.
    ///
    /// # Safety
    ///
    /// `data` must be valid for `turns` numbers more than there are threads.
    #[profiled]
    pub unsafe extern "ptx-kernel" fn calls_twice(data: *mut f32, turns: u32) {
        // SAFETY: the caller's promise.
        unsafe { step(recorder!(), data, turns) };
        thread::sync_threads();
        // SAFETY: the caller's promise.
        unsafe { step(recorder!(), data, turns - 1) };
    }

    #[profiled]
    unsafe fn step(prof: Recorder<'_>, data: *mut f32, turns: u32) {
        let index = thread::index_1d() as usize;
        for turn in 0..turns {
            profile_region!("turn", value = turn);
            // SAFETY: the caller gives as many numbers.
            let (own, next) = unsafe { (&mut *data.add(index), *data.add(index + turn as usize)) };
            profile_region!("divide", { *own += next / (*own + 1.0) });
            profile_region!("divide again", { *own += next / (*own + 2.0) });
            profile_region!("multiply", { *own *= next });
        }
    }
}

/// Kernels whose parameters or names a launch might get wrong.
mod launches {
    use profiler_device::{Recorder, profile_region, profiled, recorder};
    use profiler_kernel::thread;

    /// Takes references and slices. Each thread adds one element of `input` to one of `output`, and doubles
    /// one of `raw`; thread 0 counts.
    ///
    /// # Safety
    ///
    /// `raw` must be valid, and each slice has an element for each thread.
    #[profiled]
    #[allow(improper_ctypes_definitions, reason = "Rust launches it")]
    pub unsafe extern "ptx-kernel" fn of_slices(
        output: &mut [u32],
        count: &mut u32,
        input: &[u32],
        raw: *mut [u32],
    ) {
        let index = thread::index_1d() as usize;
        profile_region!("add", { output[index] += input[index] });
        // SAFETY: the caller's promise; no other thread has this element.
        unsafe { *raw.cast::<u32>().add(index) *= 2 };
        if index == 0 {
            *count += 1;
        }
    }

    macro_rules! many {
        ($($parameter:ident)*) => {
            /// Has 32 parameters, and writes their sum, each times the one before.
            ///
            /// # Safety
            ///
            /// `output` must be valid for a number.
            #[profiled]
            #[allow(clippy::too_many_arguments, reason = "so many are the test")]
            pub unsafe extern "ptx-kernel" fn of_many(output: *mut u64, $($parameter: u32),*) {
                let mut sum = 0;
                $(sum = sum * 2 + u64::from($parameter);)*
                // SAFETY: the caller's promise.
                unsafe { *output = sum };
            }
        };
    }
    many! {
        p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16
        p17 p18 p19 p20 p21 p22 p23 p24 p25 p26 p27 p28 p29 p30 p31
    }

    /// Multiplies `N` numbers.
    #[profiled]
    unsafe fn scale<T, const N: usize>(prof: Recorder<'_>, data: *mut T, factor: T)
    where
        T: Copy + core::ops::Mul<Output = T>,
    {
        for index in 0..N {
            profile_region!("scale one");
            // SAFETY: the caller gives a pointer to N numbers.
            unsafe { *data.add(index) = *data.add(index) * factor };
        }
    }

    macro_rules! scale_kernels {
        ($($name:ident: $type:ty, $n:literal;)*) => {$(
            /// An instance of a generic function.
            ///
            /// # Safety
            ///
            /// `data` must be valid for as many numbers.
            #[profiled]
            pub unsafe extern "ptx-kernel" fn $name(data: *mut $type, factor: $type) {
                // SAFETY: the caller's promise.
                unsafe { scale::<$type, $n>(recorder!(), data, factor) }
            }
        )*};
    }
    scale_kernels! {
        scale_f32_4: f32, 4;
        scale_u64_2: u64, 2;
    }
}
