use profiler_device::{Recorder, profile_region, profiled};

#[profiled(recorder = pfor)]
fn device(prof: Recorder, x: u32) -> u32 {
    let _ = prof;
    profile_region!("still resolves", { x })
}

#[profiled(recorder = descriptor)]
unsafe extern "ptx-kernel" fn kernel(x: u32) {
    let _ = x;
}

fn main() {}
