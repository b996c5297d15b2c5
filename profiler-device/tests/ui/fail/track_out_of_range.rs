use profiler_device::{profile_region, profiled, region_start};

#[profiled(track = 16_777_214)]
extern "ptx-kernel" fn kernel() {
    profile_region!("largest", track = 16_777_213);
    profile_region!("beyond", track = 16_777_214);
    let _token = region_start!("far beyond", track = 5_000_000_000);
}

fn main() {}
