//! A crate without `unsafe` that is strict with itself, with names of every kind in it, and macros
//! that it hands on to crates that do not know `profiler-device`.
#![forbid(unsafe_code)]
#![deny(
    warnings,
    absolute_paths_not_starting_with_crate,
    elided_lifetimes_in_paths,
    let_underscore_drop,
    missing_docs,
    non_ascii_idents,
    single_use_lifetimes,
    trivial_numeric_casts,
    unit_bindings,
    unreachable_pub,
    unused_lifetimes,
    unused_qualifications,
    unused_results
)]
#![allow(dead_code, reason = "compiled, not run")]

use profiler_device::{
    Recorder, profile_mark, profile_names, profile_region, profiled, recorder, region_end,
    region_start,
};

#[doc(hidden)]
pub use profiler_device as __prof;

/// All that a macro of this crate's needs is reached through the crate.
#[macro_export]
macro_rules! timed {
    ($prof:expr, $name:literal, $($body:tt)*) => {
        $crate::__prof::profile_region!(
            $name, crate = $crate::__prof, recorder = $prof, { $($body)* }
        )
    };
}

/// A kernel from a macro, of whatever crate.
#[macro_export]
macro_rules! traced_kernel {
    ($name:ident) => {
        #[$crate::__prof::profiled(crate = $crate::__prof)]
        extern "ptx-kernel" fn $name(x: u32) {
            $crate::__prof::profile_names!(LIST = ["a", "b"], crate = $crate::__prof);
            $crate::__prof::profile_region!("inside", crate = $crate::__prof, value = x);
            let token = $crate::__prof::region_start!(LIST[x], crate = $crate::__prof);
            $crate::__prof::profile_mark!("mark", x, crate = $crate::__prof);
            $crate::__prof::profile_signal!("key", x, crate = $crate::__prof);
            $crate::__prof::profile_wait!("key", x, crate = $crate::__prof);
            $crate::__prof::profile_anchor!(crate = $crate::__prof);
            $crate::__prof::region_end!(token, value = x, crate = $crate::__prof);
        }
    };
}
traced_kernel!(of_a_macro);

fn of_no_recorder_in_scope(prof: Recorder<'_>, limit: u32) -> u32 {
    timed!(prof, "timed", let next = limit; if next == 4 { return 3; } next + 1)
}

profile_names!(r#match = ["r#match", "\"quoted\"", "{}", "\\", "\n", "größe ✓", "a\0b"]);

#[profiled(name = "r#type \"{}\" \0 ✓")]
extern "ptx-kernel" fn r#type(r#fn: u32, r#loop: u32) {
    profile_region!("\"quotes\" 'single' {braces} {{}} \0 nul \u{1F600} \\ \t", value = r#fn);
    profile_region!(r#"raw "string" // .b8 /* .visible"#, by = when(r#loop == 3));
    profile_mark!("};\n.visible .entry x() { ret; }");
    let mut r#struct = r#loop;
    profile_region!("pinned", pin = r#struct, { r#struct += 1 });
    let r#impl = region_start!(r#match[r#struct]);
    region_end!(r#impl, value = r#fn);
    r#dyn(recorder!(), 1);
}

#[profiled]
fn r#dyn(r#prof: Recorder<'_>, count: u32) {
    profile_region!("inside", value = count);
}

#[profiled]
fn leaves_closures(prof: Recorder<'_>, text: &str) -> Result<u32, core::num::ParseIntError> {
    let first = |x: u32| -> Option<u32> { Some(profile_region!("closure ?", { Some(x)? })) };
    let second = move |x: u32| -> u32 {
        profile_region!("closure return", {
            if x == 1 {
                return 7;
            }
            x
        })
    };
    let whole = profile_region!("function ?", { text.parse::<u32>()? });
    Ok(first(whole).unwrap_or(0) + second(whole))
}

trait Stage {
    #[profiled]
    fn run(&self, prof: Recorder<'_>) -> u32 {
        profile_region!("in a default method", { 3 })
    }

    #[profiled(name = "another")]
    fn run_with<'a>(&mut self, prof: &Recorder<'_>, value: &'a u32) -> &'a u32
    where
        Self: Sized,
    {
        value
    }
}

struct Tiles<const N: u32>;
impl<const N: u32> Stage for Tiles<N> {}
impl<const N: u32> Tiles<N> {
    #[profiled]
    fn shared(self: std::rc::Rc<Self>, prof: Recorder<'_>) -> u32 {
        profile_region!("of a constant", value = N, { N })
    }

    #[profiled(track = N, single_body)]
    extern "ptx-kernel" fn of_a_constant(x: u32) {
        profile_region!("of a constant", value = N + x);
    }
}

#[profiled]
extern "ptx-kernel" fn items(count: u32) {
    fn inner() -> u32 {
        4
    }
    profile_region!("items", {
        use core::mem::swap as exchange;
        struct Local(u32);
        static START: u32 = 3;
        const STEP: u32 = 2;
        let (mut one, mut other) = (Local(START), Local(count * STEP + inner()));
        exchange(&mut one, &mut other);
        profile_mark!("value", one.0 + other.0);
    });
    let (first, second);
    profile_region!("both", { (first, second) = (1, count) });
    profile_region!("rest", value = first + second);
    profile_region!("all of it", {
        'inner: loop {
            profile_region!("leaves its own loop", { break 'inner });
        }
    });
}

fn main() {}
