//! Device functions.

use profiler_device::{Payload, Recorder, profile_region, profiled, recorder, site};
use profiler_kernel::thread;

/// Calls all of them.
#[profiled]
pub extern "ptx-kernel" fn calls(x: u32) {
    let mut prof = recorder!();
    let sum =
        by_value(prof, x) + by_reference(&prof, x) + by_mutable_reference(&mut prof, recorder!());
    let mut pipeline = Pipeline { prof, value: sum };
    pipeline.set(generic(prof, [x, sum]));
    let mut closure = |value| pipeline.set(by_value(recorder!(), value));
    closure(unannotated(prof, x));
    by_hand(prof, fallible(&prof, Some(sum)).is_some());
}

#[profiled]
fn by_value(prof: Recorder<'_>, x: u32) -> u32 {
    x + 1
}

#[profiled(name = "by reference", by = elected, track = x)]
fn by_reference(prof: &Recorder<'_>, x: u32) -> u32 {
    if x == 0 {
        return 7;
    }
    x
}

#[profiled(recorder = prof, crate = ::profiler_device)]
#[inline(never)]
fn by_mutable_reference<'a>(prof: &mut Recorder<'a>, other: Recorder<'a>) -> u32 {
    *prof = other;
    3
}

#[profiled]
fn generic<T, const N: usize>(prof: Recorder<'_>, values: [T; N]) -> T
where
    T: Copy + Default + core::ops::Add<Output = T>,
{
    let mut sum = T::default();
    for value in values {
        profile_region!("add", value = N);
        sum = sum + value;
    }
    sum
}

#[profiled]
fn fallible(prof: &Recorder<'_>, x: Option<u32>) -> Option<u32> {
    let x = x?;
    let y = profile_region!("inner", { Some(x)? + 1 });
    Some(y)
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "a recorder goes through registers")]
fn unannotated(prof: Recorder<'_>, x: u32) -> u32 {
    profile_region!("unannotated", recorder = prof);
    x + 2
}

fn by_hand(prof: Recorder<'_>, early: bool) {
    let region = prof.leader_block().region(
        site!(Region, "by hand", by = block, unit = "rows"),
        0,
        Payload(4_u16),
    );
    if early {
        region.end();
        prof.leader_elected().mark(site!(Mark, "early", by = elected));
    }
}

/// Holds a recorder.
#[allow(missing_debug_implementations, reason = "a recorder has no text")]
#[derive(Clone, Copy)]
pub struct Pipeline<'a> {
    prof: Recorder<'a>,
    value: u32,
}

impl Pipeline<'_> {
    /// Sets the value.
    #[profiled(recorder = self.prof)]
    pub fn set(&mut self, value: u32) {
        self.value = value;
    }
}

/// Calls a large function twice, from both copies of its own body.
///
/// # Safety
///
/// `data` must be valid for `turns` numbers more than there are threads.
#[profiled]
pub unsafe extern "ptx-kernel" fn calls_twice(data: *mut f32, turns: u32) {
    // SAFETY: the caller's promise.
    unsafe { step(recorder!(), data, turns) };
    thread::sync_threads();
    // SAFETY: the caller's promise.
    unsafe { step(recorder!(), data, turns - 1) };
}

#[profiled]
unsafe fn step(prof: Recorder<'_>, data: *mut f32, turns: u32) {
    let index = thread::index_1d() as usize;
    for turn in 0..turns {
        profile_region!("turn", value = turn);
        // SAFETY: the caller gives as many numbers.
        let (own, next) = unsafe { (&mut *data.add(index), *data.add(index + turn as usize)) };
        profile_region!("divide", { *own += next / (*own + 1.0) });
        profile_region!("divide again", { *own += next / (*own + 2.0) });
        profile_region!("multiply", { *own *= next });
    }
}
