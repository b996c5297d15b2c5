use profiler_device::{profile_mark, profile_names, profile_region, profiled};

profile_names!(TASK = ["a"]);

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", unit = "bytes");
    profile_mark!("mark", unit = "bytes");
    profile_region!(TASK[0], value = 1, unit = "bytes", {});
}

fn main() {}
