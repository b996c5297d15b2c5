use profiler_device::{profile_region, profiled};

#[profiled(by = quad)]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", by = lane);
    profile_region!("region", by = block(0), {});
    profile_region!("region", by = when, {});
}

fn main() {}
