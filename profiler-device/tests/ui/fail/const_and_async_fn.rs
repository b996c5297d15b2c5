use profiler_device::{Recorder, profile_region, profiled};

#[profiled]
async fn is_async(prof: Recorder<'_>) -> u32 {
    profile_region!("still resolves", { 42 })
}

#[profiled]
const fn is_const(prof: Recorder<'_>) -> u32 {
    profile_region!("still resolves");
    42
}

fn main() {}
