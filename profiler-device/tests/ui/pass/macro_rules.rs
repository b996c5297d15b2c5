//! Macros inside a user's own `macro_rules!`.
#![deny(warnings)]
#![allow(dead_code, reason = "compiled, not run")]

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

fn main() {}
