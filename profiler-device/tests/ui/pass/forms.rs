//! Names that a macro might stumble over, other attributes, and macros around macros.
#![deny(warnings, unsafe_op_in_unsafe_fn)]
#![allow(dead_code, reason = "compiled, not run")]

/// Names of the user's that are those of the language, of core, and of the runtime.
#[allow(non_camel_case_types, reason = "named like types of core")]
mod hygiene {
    mod core {}
    mod profiler_device {}
    struct Option;
    struct Some;
    struct None;
    struct Result;
    struct u8;
    struct u16;
    struct u32;
    struct u64;
    struct bool;
    struct Recorder;
    struct Region;
    struct State;
    struct Config;
    struct Payload;
    trait Clone {}
    trait Copy {}
    trait Drop {}
    fn drop() {}
    fn pin() {}

    #[allow(unused_macros, reason = "only its name matters")]
    macro_rules! assert {
        () => {};
    }
    #[allow(unused_macros, reason = "only its name matters")]
    macro_rules! line {
        () => {};
    }

    use ::profiler_device::{
        profile_mark, profile_names, profile_region, profiled, recorder, region_end, region_start,
    };

    profile_names!(TASK = ["a", "b"], unit = "bytes");

    const INDEX: ::core::primitive::u32 = 2;

    #[profiled(
        by = warp(INDEX), track = 1, max_threads = INDEX * 32, enabled = true, clock = cycles
    )]
    extern "ptx-kernel" fn kernel(state: i32, site: i32, config: i32) {
        // Names that a macro might have for its own locals; neither side may see the other's.
        let recorder = state + 1;
        let region = site + 2;
        let value = config + 3;
        let mut index = 4;
        profile_region!("statement", value = recorder + region + value + index);
        let _region = profile_region!("block", by = warp(INDEX), pin = index, wait, {
            index += recorder + region;
            value
        });
        profile_region!("guard", value = _region);
        profile_region!(TASK[index], by = when(recorder == site));
        profile_mark!("mark", recorder + site, by = when(region == site));
        let token = region_start!("token", track = 5);
        region_end!(token, value = value);
        device(recorder!(), value);
    }

    #[profiled]
    fn device(prof: ::profiler_device::Recorder<'_>, recorder: i32) -> i32 {
        let _region = recorder;
        profile_region!("inner", { _region + recorder })
    }
}

/// Items of the user's with the names that locals of the macros would have: patterns resolve to
/// constants, statics and unit structs even from inside a macro.
#[allow(non_camel_case_types, non_upper_case_globals, reason = "named like local variables")]
mod items_named_like_locals {
    use profiler_device::{
        Recorder, profile_mark, profile_names, profile_region, profile_signal, profile_wait, profiled,
        region_end, region_start, site,
    };

    const state: u32 = 1;
    const config: u32 = 2;
    const descriptor: u32 = 3;
    const value: u32 = 4;
    const index: u64 = 5;
    const bytes: u32 = 6;
    static recorder: u32 = 7;
    static region: u32 = 8;
    struct _region;
    struct leader;
    struct payload;
    struct entry;
    struct id;

    mod apart {
        #[allow(non_upper_case_globals, reason = "named like a local variable")]
        pub(crate) const site: u32 = 9;
    }
    use apart::*;

    profile_names!(TASK = ["a", "b"]);

    const WARP: u32 = 2;

    #[profiled(by = warp(WARP), track = state + config, max_threads = WARP * 32)]
    extern "ptx-kernel" fn kernel(count: u32) {
        let mut sum = count;
        profile_region!("statement", value = value + descriptor);
        profile_region!("block", pin = sum, wait, by = warp(WARP), {
            sum += site + bytes;
            sum
        });
        profile_region!("plain block", by = when(sum > recorder), { sum += region });
        profile_region!(TASK[index], value = sum, by = elected);
        profile_mark!("mark", value);
        profile_signal!("key", count);
        profile_wait!("key", count);
        let token = region_start!("token");
        region_end!(token, value = value);
    }

    #[profiled]
    fn device(prof: Recorder<'_>) {
        let _ended_at_once = prof.leader().region(site!(Region, "by hand"), 0, ());
        prof.leader_warp_index(1).mark(site!(Mark, "by hand", by = warp(1), unit = "rows"));
    }
}

/// `#[profiled]` above, below and between other attributes.
mod attributes {
    use profiler_device::{Recorder, profile_names, profile_region, profiled};

    profile_names!(
        #[cfg(any())]
        ABSENT = ["is not there"]
    );
    profile_names!(
        #[cfg(all())]
        PRESENT = ["is there"]
    );

    /// Makes functions with the attribute in each place among others.
    macro_rules! in_every_order {
        ($($module:ident: $(#[$before:meta])* , $(#[$after:meta])*;)*) => {$(
            mod $module {
                #[allow(unused_imports, reason = "unused where the functions are configured out")]
                use super::*;

                $(#[$before])*
                #[profiled]
                $(#[$after])*
                pub extern "ptx-kernel" fn kernel(x: u32) {
                    profile_region!("region", value = x);
                }

                $(#[$before])*
                #[profiled]
                $(#[$after])*
                pub fn device(prof: Recorder<'_>, x: u32) -> u32 {
                    profile_region!("region", { x + 1 })
                }
            }
        )*};
    }

    in_every_order! {
        inline_before: #[inline(never)], ;
        inline_after: , #[inline(always)];
        doc_before: #[doc = "A kernel."], ;
        doc_after: , #[doc = "A kernel."];
        allow_before: #[allow(clippy::all, reason = "another attribute")], ;
        allow_after: , #[allow(unused_variables, reason = "another attribute")];
        cold_before: #[cold], ;
        cold_after: , #[cold];
        cfg_before: #[cfg(all())], ;
        cfg_after: , #[cfg(all())];
        cfg_attr_before: #[cfg_attr(all(), inline)], ;
        cfg_attr_after: , #[cfg_attr(all(), doc = "A kernel.", inline)];
        around: #[doc = "A kernel."] #[inline], #[cfg(all())] #[allow(unused_mut, reason = "another")];
        not_there: #[cfg(any())], ;
        not_there_either: , #[cfg(any())];
    }

    #[must_use]
    #[profiled]
    fn must_use_before(prof: Recorder<'_>) -> u32 {
        1
    }

    #[profiled]
    #[must_use = "it is one"]
    #[track_caller]
    fn must_use_after(prof: Recorder<'_>) -> u32 {
        1
    }

    #[deprecated = "another"]
    #[profiled]
    fn deprecated_before(prof: Recorder<'_>) {}

    #[profiled]
    #[deprecated(since = "0.1.0", note = "another")]
    fn deprecated_after(prof: Recorder<'_>) {}

    #[cfg(target_arch = "x86_64")]
    mod with_features {
        use super::*;

        #[target_feature(enable = "sse4.2")]
        #[profiled]
        fn before(prof: Recorder<'_>, x: u32) -> u32 {
            profile_region!("region", { x.count_ones() })
        }

        #[profiled]
        #[target_feature(enable = "sse4.2")]
        unsafe fn after(prof: Recorder<'_>, x: u32) -> u32 {
            profile_region!("region", { x.count_ones() })
        }
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    #[profiled]
    pub extern "ptx-kernel" fn exported_first() {}

    #[profiled]
    #[inline(never)]
    #[unsafe(no_mangle)]
    pub extern "ptx-kernel" fn exported_last() {}

    #[doc(hidden)]
    #[unsafe(export_name = "of_another_name")]
    #[profiled(max_threads = 64)]
    #[cold]
    pub extern "ptx-kernel" fn exported_under_another_name() {}

    /// Operations that are unsafe need a block of their own in the body, as everywhere.
    ///
    /// # Safety
    ///
    /// `output` must be valid for writes.
    #[profiled]
    #[allow(clippy::missing_safety_doc, reason = "another attribute")]
    pub unsafe extern "ptx-kernel" fn writes(output: *mut u32) {
        profile_region!("write", {
            // SAFETY: the caller's promise.
            unsafe { *output = 1 };
        });
    }
}

/// Macros inside a user's own `macro_rules!`.
mod in_macro_rules {
    use profiler_device::{
        Recorder, profile_mark, profile_names, profile_region, profiled, recorder, region_end,
        region_start,
    };

    /// Regions in a macro's own body need the recorder passed.
    macro_rules! timed {
        ($prof:expr, $name:literal, $body:block) => {
            profile_region!($name, recorder = $prof, $body)
        };
    }

    macro_rules! stage {
        ($prof:ident, $name:expr, $value:expr) => {{
            let token = region_start!($name, recorder = $prof);
            profile_mark!("at", $value, recorder = $prof, unit = "bytes");
            region_end!(token, value = $value);
        }};
    }

    /// A whole kernel from a macro, with regions of the macro's.
    macro_rules! kernel {
        ($name:ident, $label:literal, $bound:expr, $by:ident) => {
            #[profiled(name = $label, by = $by, max_threads = $bound)]
            pub extern "ptx-kernel" fn $name(x: u32) {
                profile_region!("from the macro", value = x);
                let _next = profile_region!("block from the macro", by = $by, { x + 1 });
                helper(recorder!(), x);
            }
        };
    }
    kernel!(first, "the first", 128, warp);
    kernel!(second, "the second", 64 * 2, block);

    /// A kernel whose body was written by the caller of the macro.
    macro_rules! with_body {
        ($name:ident, $body:block) => {
            #[profiled]
            extern "ptx-kernel" fn $name() $body
        };
    }
    with_body!(third, {
        profile_region!("from the caller");
        profile_region!("block from the caller", {});
    });

    /// Arguments as tokens.
    macro_rules! region {
        ($($arguments:tt)*) => { profile_region!($($arguments)*) };
    }

    macro_rules! list {
        ($list:ident, [$($name:expr),*]) => { profile_names!($list = [$($name),*]); };
    }
    list!(LIST, ["a", "b"]);

    #[profiled]
    fn helper(prof: Recorder, x: u32) -> u32 {
        stage!(prof, "stage", x);
        let place = &prof;
        let sum = timed!(place, "timed", { x + 1 });
        timed!(prof, "unit", {});
        let mut pinned = sum;
        region!(LIST[sum], recorder = prof, wait, pin = pinned, {
            pinned += 1;
            pinned
        })
    }
}

fn main() {}
