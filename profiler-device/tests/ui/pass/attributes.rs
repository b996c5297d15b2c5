//! `#[profiled]` above, below and between other attributes.
#![deny(warnings, unsafe_op_in_unsafe_fn)]
#![allow(dead_code, reason = "compiled, not run")]

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

fn main() {}
