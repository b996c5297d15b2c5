//! Items of the user's with the names that locals of the macros would have: patterns resolve to
//! constants, statics and unit structs even from inside a macro.
#![deny(warnings)]
#![allow(
    dead_code,
    non_camel_case_types,
    non_upper_case_globals,
    reason = "compiled, not run; named like local variables"
)]

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

fn main() {}
