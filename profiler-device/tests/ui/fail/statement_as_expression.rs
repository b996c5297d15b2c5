use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let region = profile_region!("region");
    let _ = region;
}

fn main() {}
