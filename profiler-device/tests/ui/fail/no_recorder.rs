use profiler_device::{profile_region, profiled};

#[profiled]
fn device(x: u32) -> u32 {
    profile_region!("still resolves", { x + 1 })
}

fn main() {}
