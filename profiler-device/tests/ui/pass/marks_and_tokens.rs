//! Marks, arrows, tokens, and name lists.
#![deny(warnings)]
#![allow(dead_code, reason = "compiled, not run")]

use profiler_device::{
    Recorder, profile_anchor, profile_mark, profile_names, profile_region, profile_signal, profile_wait, profiled,
    region_end, region_start,
};

profile_names!(
    /// The tasks of the persistent kernel.
    pub TASK = ["load", "mma", "store"], unit = "bytes"
);
profile_names!(Phase = ["one",]);
mod lists {
    profiler_device::profile_names!(pub(crate) STEP = ["a", "b"], crate = ::profiler_device);
}
const _: () = assert!(TASK::LEN == 3 && lists::STEP::LEN == 2);

#[profiled]
extern "ptx-kernel" fn marks(depth: u32, key: u64) {
    profile_mark!("plain");
    profile_mark!("value", depth);
    profile_mark!("comparison", u32::from(depth == 3));
    profile_mark!("options", depth * 4, unit = "bytes", by = elected,);
    profile_mark!("no value", by = block);
    let unit = profile_mark!("expression");
    let () = unit;
    profile_anchor!(every = 200_000);
    profile_anchor!(every = depth << 10, by = elected);
    profile_signal!("full", key);
    profile_wait!("full", key, by = elected);
    match depth {
        0 => profile_mark!("arm"),
        _ => profile_wait!("empty", key + 1, unit = "stage"),
    }
}

#[profiled]
extern "ptx-kernel" fn tokens(count: u32) {
    let outer = region_start!("outer");
    let crossing = region_start!("crossing", by = warp_group, track = count);
    region_end!(outer);
    let mut stage = region_start!("stage", by = block);
    for index in 0..count {
        region_end!(stage, value = index);
        stage = region_start!(TASK[index], by = block);
    }
    region_end!(stage);
    region_end!(crossing, value = 2.5_f32,);
    let held = Some(region_start!("held"));
    if let Some(token) = held {
        region_end!(token, crate = ::profiler_device)
    }
}

#[profiled]
extern "ptx-kernel" fn names(small: u8, index: usize, signed: i32, phase: u64) {
    profile_region!(TASK[small]);
    let _next = profile_region!(TASK[index], value = index, { index + 1 });
    profile_region!(Phase[0], by = thread);
    profile_region!(lists::STEP[signed - 1], by = when(signed > 0), track = 3, {});
    profile_names!(LOCAL = ["here"]);
    let mut pinned = 1;
    let _pinned = profile_region!(LOCAL[phase % 2], wait, pin = pinned, {
        pinned += 1;
        pinned
    });
}

fn helper(prof: &mut Recorder) {
    profile_mark!("helper", 3, recorder = prof);
    profile_signal!("full", 1, recorder = prof);
    let token = region_start!("token", recorder = prof);
    region_end!(token);
    profile_region!(TASK[1], recorder = *prof);
}

fn main() {}
