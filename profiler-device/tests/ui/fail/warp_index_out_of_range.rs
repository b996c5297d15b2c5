use profiler_device::{profile_region, profiled};

const FAR: u32 = 40;

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", by = warp(FAR));
}

fn main() {}
