//! Device functions of every shape: the body is a region whatever leaves it.
#![deny(warnings)]
#![allow(dead_code, reason = "compiled, not run")]

use profiler_device::{Recorder, profile_region, profiled, recorder};

#[profiled]
fn by_value(prof: Recorder, x: u32) -> u32 {
    x + 1
}

#[profiled(name = "by reference", by = elected, track = x)]
fn by_reference(prof: &Recorder<'_>, x: u32) -> u32 {
    if x == 0 {
        return 7;
    }
    x
}

#[profiled]
fn by_mutable_reference<'a>(x: &'a u32, prof: &mut profiler_device::Recorder<'_>) -> &'a u32 {
    by_reference(prof, *x);
    by_value(*prof, *x);
    let again: &mut Recorder = prof;
    by_value(*again, *x);
    x
}

#[profiled]
fn fallible(prof: Recorder, x: Option<u32>) -> Option<u32> {
    let x = x?;
    let y = profile_region!("inner", { Some(x)? + 1 });
    Some(y)
}

#[profiled]
fn generic<T, const N: usize>(prof: &Recorder, values: [T; N]) -> T
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
fn opaque<'a>(prof: Recorder<'a>, values: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    values.iter().map(|value| value + 1)
}

#[profiled]
fn boxed(prof: Recorder) -> Box<dyn Fn(u32) -> u32> {
    Box::new(|x| x + 1)
}

/// # Safety
///
/// `pointer` must be valid for reads.
#[profiled]
unsafe fn dangerous(pointer: *const u32, prof: Recorder) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { *pointer }
}

#[profiled]
#[allow(improper_ctypes_definitions, reason = "only its shape matters")]
extern "C" fn foreign(prof: Recorder, x: u32) -> u32 {
    x
}

#[profiled]
fn never(prof: Recorder) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

#[profiled]
fn recursive(prof: Recorder, depth: u32) -> u32 {
    if depth == 0 { 0 } else { 1 + recursive(prof, depth - 1) }
}

type Handle<'a> = Recorder<'a>;

#[profiled(recorder = handle)]
fn under_an_alias(handle: Handle) {
    profile_region!("inside");
}

#[profiled(recorder = first)]
fn two(first: Recorder, second: Recorder) {
    profile_region!("second", recorder = second);
}

struct Pipeline<'a, T> {
    prof: Recorder<'a>,
    value: T,
}

impl<'a, T: Copy> Pipeline<'a, T> {
    #[profiled(recorder = self.prof)]
    fn get(&self) -> T {
        profile_region!("inner", { self.value })
    }

    #[profiled(recorder = self.prof)]
    fn set(&mut self, value: T) {
        self.value = value;
    }

    #[profiled]
    fn take(self, prof: &Recorder<'a>) -> Self {
        self
    }
}

trait Stage {
    fn run(&mut self, prof: Recorder) -> u32;
}

impl<T> Stage for Pipeline<'_, T> {
    #[profiled(name = "stage")]
    fn run(&mut self, prof: Recorder) -> u32 {
        3
    }
}

#[profiled]
extern "ptx-kernel" fn kernel(x: u32) {
    let mut prof = recorder!();
    let y = by_value(prof, x) + by_reference(&prof, x) + *by_mutable_reference(&x, &mut prof);
    let mut pipeline = Pipeline { prof, value: y };
    pipeline.set(recursive(recorder!(), y));
    let closure = |value| by_value(recorder!(), value);
    closure(pipeline.take(&prof).run(prof));
}

fn main() {}
