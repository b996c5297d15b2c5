use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let _ = profile_region!("region", wait = true, track, by =, { 1 });
}

fn main() {}
