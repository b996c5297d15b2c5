use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let sum = 0;
    profile_region!("region", pin = (sum + 1), {});
    profile_region!("region", pin = (), {});
}

fn main() {}
