//! A kernel with annotations of all kinds, of which a build compiles in `wait` and `TASK`. With the
//! feature `alone` the others are not even written.

#[cfg(not(feature = "alone"))]
use profiler_device::{
    Payload, profile_mark, profile_signal, profile_wait, region_end, region_start, site,
};
use profiler_device::{Recorder, profile_names, profile_region, profiled, recorder};
use profiler_kernel::thread;

profile_names!(TASK = ["even", "odd"]);
#[cfg(not(feature = "alone"))]
profile_names!(OTHER = ["first", "second"]);

/// Scales `n` numbers, some of them in a loop.
///
/// # Safety
///
/// `input` and `output` must be valid for `n` numbers.
#[profiled]
pub unsafe extern "ptx-kernel" fn scale(input: *const f32, output: *mut f32, n: u32, rounds: u32) {
    let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if index >= n {
        return;
    }
    #[cfg(not(feature = "alone"))]
    let whole = region_start!("whole", by = thread);
    #[cfg(not(feature = "alone"))]
    profile_region!("to the end", by = block);
    // SAFETY: index < n.
    let mut value = profile_region!("wait", wait, { unsafe { *input.add(index as usize) } });
    #[cfg(not(feature = "alone"))]
    profile_mark!("loaded", value, by = elected);
    let mut round = 0;
    while round < rounds {
        value =
            profile_region!(TASK[round & 1], by = thread, { helper(recorder!(), value, round) });
        #[cfg(not(feature = "alone"))]
        profile_region!(OTHER[round & 1], by = elected, value = round, { value *= 3.0 });
        #[cfg(feature = "alone")]
        {
            value *= 3.0;
        }
        round += 1;
    }
    #[cfg(not(feature = "alone"))]
    {
        profile_signal!("done", round);
        profile_wait!("done", round, by = warp(1));
        by_hand(recorder!(), round);
    }
    // SAFETY: index < n.
    let store = || unsafe { *output.add(index as usize) = value };
    #[cfg(not(feature = "alone"))]
    profile_region!("store", by = when(index == 3), { store() });
    #[cfg(feature = "alone")]
    store();
    #[cfg(not(feature = "alone"))]
    region_end!(whole, value = round);
}

#[cfg_attr(not(feature = "alone"), profiled(by = elected))]
#[inline(always)]
fn helper(prof: Recorder<'_>, value: f32, round: u32) -> f32 {
    #[cfg(feature = "alone")]
    let _only_to_record = prof;
    value * 1.5 + round as f32
}

/// What macros cannot say.
#[cfg(not(feature = "alone"))]
#[inline(always)]
fn by_hand(prof: Recorder<'_>, round: u32) {
    let leader = prof.leader_thread();
    let region = leader.region(site!(Region, "copied", by = thread), 0, Payload(round));
    leader.mark(site!(Mark, "by hand", by = thread));
    leader.mark_value(site!(Signal, "by hand", by = thread), round);
    region.end();
    leader.start(site!(Region, "left open", by = thread), 0).end_with(round);
}
