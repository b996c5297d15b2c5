//! Regions, tokens, marks and names.

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
