use profiler_device::{Recorder, profile_region, profiled};

#[profiled]
const fn device(prof: Recorder<'_>) -> u32 {
    profile_region!("still resolves");
    42
}

fn main() {}
