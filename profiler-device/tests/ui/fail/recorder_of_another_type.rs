use profiler_device::{profile_region, profiled};

#[profiled(recorder = x)]
fn device(x: u32) {
    profile_region!("region", recorder = x);
}

fn main() {}
