use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", { 1 }, wait);
    profile_region!("region", unsafe {});
    profile_region!("region", || 3);
}

fn main() {}
