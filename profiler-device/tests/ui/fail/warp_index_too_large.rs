use profiler_device::{profile_region, profiled};

#[profiled(by = warp(32))]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", by = warp(1000), {});
}

fn main() {}
