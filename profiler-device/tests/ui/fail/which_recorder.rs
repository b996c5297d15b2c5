use profiler_device::{Recorder, profile_region, profiled};

#[profiled]
fn none(x: u32) -> u32 {
    profile_region!("still resolves", { x + 1 })
}

#[profiled]
fn two(a: Recorder, b: &Recorder) {
    let _ = (a, b);
}

#[profiled(recorder = pfor)]
fn unknown(prof: Recorder, x: u32) -> u32 {
    let _ = prof;
    profile_region!("still resolves", { x })
}

#[profiled(recorder = descriptor)]
unsafe extern "ptx-kernel" fn of_a_kernel(x: u32) {
    let _ = x;
}

fn main() {}
