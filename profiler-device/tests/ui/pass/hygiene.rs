//! Names of the user's that are those of the language, of core, and of the runtime.
#![deny(warnings)]
#![allow(dead_code, non_camel_case_types, reason = "compiled, not run; named like types of core")]

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

fn main() {}
