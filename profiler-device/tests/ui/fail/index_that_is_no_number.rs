use profiler_device::{profile_names, profile_region, profiled};

profile_names!(TASK = ["a"]);

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_region!(TASK["a"]);
}

fn main() {}
