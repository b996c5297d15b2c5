use profiler_device::{profile_mark, profile_region, profiled};

#[profiled(name = "")]
extern "ptx-kernel" fn kernel() {
    profile_region!();
    profile_region!({});
    profile_region!(by = block);
    profile_region!(name = "load");
    profile_region!("");
    profile_mark!();
}

fn main() {}
