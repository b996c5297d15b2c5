//! Kernels of a crate that knows `profiler-device` under another name, in the edition before, beside
//! items that are named like those of the language.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![deny(warnings, unsafe_op_in_unsafe_fn)]

/// The other name, given to each macro.
pub mod by_path {
    use ::profiler_kernel::thread;
    use prof::{
        profile_anchor, profile_mark, profile_names, profile_region, profile_signal, profile_wait,
        profiled, recorder, region_end, region_start, Recorder,
    };

    profile_names!(TASK = ["even", "odd"], crate = ::prof);

    /// Everything that there is. Writes each thread's sum.
    ///
    /// # Safety
    ///
    /// `output` must be valid for one number a thread of the grid.
    #[profiled(crate = ::prof)]
    pub unsafe extern "ptx-kernel" fn path(output: *mut u32, rounds: u32) {
        let token = region_start!("token", crate = ::prof);
        profile_region!("statement", crate = ::prof);
        let mut sum = 0;
        let mut round = 0;
        while round < rounds {
            sum += profile_region!(TASK[round % 2], crate = ::prof, { round });
            round += 1;
        }
        profile_mark!("mark", sum, crate = ::prof);
        profile_signal!("arrow", 1, crate = ::prof);
        profile_wait!("arrow", 1, crate = ::prof);
        profile_anchor!(crate = ::prof);
        sum = helper(recorder!(crate = ::prof), sum);
        region_end!(token, value = sum, crate = ::prof);
        let index = thread::index_1d();
        // SAFETY: the caller's promise.
        unsafe { *output.add(index as usize) = sum };
    }

    #[profiled(crate = ::prof)]
    fn helper(prof: Recorder<'_>, x: u32) -> u32 {
        x + 1
    }
}

extern crate prof as profiler_device;

/// The usual name, given once in the root of the crate; everything else that a macro might name is
/// something else here.
pub mod by_extern_crate {
    use ::profiler_device::{profile_mark, profile_names, profile_region, profiled, recorder};

    #[allow(non_camel_case_types, dead_code, reason = "only their names matter")]
    mod shadows {
        pub(super) mod core {}
        pub(super) mod profiler_device {}
        pub(super) struct Option;
        pub(super) struct Some;
        pub(super) struct None;
        pub(super) struct u32;
        pub(super) struct u64;
        pub(super) struct u8;
        pub(super) struct usize;
        pub(super) struct bool;
        pub(super) struct str;
        pub(super) struct Recorder;
        pub(super) trait Copy {}
        pub(super) trait Clone {}
        pub(super) trait Drop {}
        pub(super) trait Fn {}
        pub(super) trait FnOnce {}
        pub(super) trait Sized {}
        pub(super) trait Sync {}
        pub(super) trait From {}
        pub(super) trait Into {}
        pub(super) fn drop() {}
    }
    #[allow(unused_imports, reason = "only their names matter")]
    use shadows::*;

    type Number = ::core::primitive::u32;

    profile_names!(TASK = ["even", "odd"]);

    /// A device function, generic over a type and a constant.
    #[profiled]
    fn helper<T: ::core::marker::Copy, const N: ::core::primitive::usize>(
        recorder: ::profiler_device::Recorder<'_>,
        values: [T; N],
    ) -> T {
        profile_region!("generic", value = N as ::core::primitive::u64);
        values[N - 1]
    }

    /// Writes each thread's last round.
    ///
    /// # Safety
    ///
    /// `output` must be valid for one number a thread of the grid.
    #[profiled(by = warp, max_threads = 64)]
    pub unsafe extern "ptx-kernel" fn shadowed(output: *mut Number, rounds: Number) {
        let mut last = 0;
        let mut round = 0;
        while round < rounds {
            last = profile_region!(TASK[round % 2], wait, pin = last, {
                helper(recorder!(), [last, round])
            });
            profile_mark!("mark", last, by = when(round == 1));
            round += 1;
        }
        let index = ::profiler_kernel::thread::index_1d();
        // SAFETY: the caller's promise.
        unsafe { *output.add(index as ::core::primitive::usize) = last };
    }
}

macro_rules! kernel {
    ($name:ident, $region:literal) => {
        /// A kernel of a macro, around a region of the macro's.
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the grid.
        #[::prof::profiled(crate = ::prof)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, rounds: u32) {
            let index = ::profiler_kernel::thread::index_1d();
            ::prof::profile_region!($region, crate = ::prof, {
                // SAFETY: the caller's promise.
                unsafe { *output.add(index as usize) = rounds };
            });
        }
    };
}
kernel!(of_a_macro, "region of the macro");

/// Names that are no words.
pub mod any_name {
    use ::profiler_device::{profile_names, profile_region, profiled};

    /// Names of regions: what PTX, JSON, formats and terminals have a meaning for, and other scripts.
    pub const NAMES: [&str; 6] = [
        "\"quotes\" 'single' {braces} {{}} \0 nul \u{1F600} \\ \t",
        r#"raw "string" // .b8 /* .visible"#,
        "};\n.visible .entry x() { ret; }",
        "größe ✓ 大きさ",
        "%s%n <script>",
        " ",
    ];

    profile_names!(r#loop = ["größe ✓ 大きさ", "%s%n <script>", " "]);

    /// A region for each name. Writes each thread's `rounds`.
    ///
    /// # Safety
    ///
    /// `output` must be valid for one number a thread of the grid.
    #[profiled(name = "r#match \"{}\" \0 ✓")]
    pub unsafe extern "ptx-kernel" fn r#match(r#type: *mut u32, rounds: u32) {
        profile_region!("\"quotes\" 'single' {braces} {{}} \0 nul \u{1F600} \\ \t", {});
        profile_region!(r#"raw "string" // .b8 /* .visible"#, {});
        profile_region!("};\n.visible .entry x() { ret; }", {});
        let mut r#fn = 0;
        while r#fn < r#loop::LEN {
            profile_region!(r#loop[r#fn], {});
            r#fn += 1;
        }
        let index = ::profiler_kernel::thread::index_1d();
        // SAFETY: the caller's promise.
        unsafe { *r#type.add(index as usize) = rounds };
    }
}
