use profiler_device::{profile_mark, profile_region, profiled};

#[profiled(track = "one")]
extern "ptx-kernel" fn kernel() {
    profile_mark!("mark", "many");
    profile_region!("region", by = when(1), track = -1.0);
}

fn main() {}
