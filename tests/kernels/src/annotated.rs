//! The kernel of `plain`, annotated with all that there is: with profiling off nothing of it may be
//! left.

use profiler_device::{
    Recorder, profile_anchor, profile_mark, profile_names, profile_region, profile_signal,
    profile_wait, profiled, recorder, region_end, region_start,
};
use profiler_kernel::thread;

profile_names!(ROUND = ["even", "odd"], unit = "bytes");

/// Scales `n` numbers, some of them in a loop.
///
/// # Safety
///
/// `input` and `output` must be valid for `n` numbers.
#[cfg_attr(not(feature = "hosted"), profiled(by = elected, track = 3, clock = globaltimer))]
#[cfg_attr(feature = "hosted", profiled(by = thread, name = "scale them", buffer = host))]
pub unsafe extern "ptx-kernel" fn scale(input: *const f32, output: *mut f32, n: u32, rounds: u32) {
    let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if index >= n {
        return;
    }
    let (mut input, mut output) = (input, output);
    let whole = region_start!("whole", by = thread);
    let mut value = profile_region!("load", wait, pin = input, {
        // SAFETY: index < n.
        unsafe { *input.add(index as usize) }
    });
    profile_mark!("loaded", value);
    let mut round = 0;
    while round < rounds {
        profile_region!(ROUND[round & 1], value = 8);
        value = helper(recorder!(), value, round);
        round += 1;
    }
    profile_signal!("done", round);
    profile_wait!("done", round, by = warp(1));
    profile_region!("store", by = when(index == 3), value = index as u16, pin = output, {
        // SAFETY: index < n.
        unsafe { *output.add(index as usize) = value };
    });
    region_end!(whole);
}

#[profiled]
#[inline(always)]
fn helper(prof: Recorder<'_>, value: f32, round: u32) -> f32 {
    profile_anchor!(every = 100_000);
    by_hand(prof, value, round)
}

#[inline(always)]
fn by_hand(prof: Recorder<'_>, mut value: f32, mut round: u32) -> f32 {
    profile_anchor!(recorder = prof);
    profile_region!("by hand", pin = (value, round), recorder = prof, {
        value * 1.5 + round as f32
    })
}
