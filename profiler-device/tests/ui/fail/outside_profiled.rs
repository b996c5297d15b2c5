use profiler_device::{profile_mark, profile_region, recorder};

fn device() {
    profile_region!("region");
    profile_mark!("mark");
    let value = profile_region!("block", { 1 });
    let _ = (value, recorder!());
}

fn main() {}
