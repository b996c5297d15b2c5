use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel(x: u32) -> u32 {
    profile_region!("still resolves", { x })
}

fn main() {}
