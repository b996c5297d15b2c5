use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let mut sum = 0;
    profile_region!("region", wait, pin = sum);
    sum += 1;
    let _ = sum;
}

fn main() {}
