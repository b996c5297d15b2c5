use profiler_device::{profile_anchor, profile_names, profile_region, profiled};

const FAR: u32 = 40;

profile_names!(TASK = ["a", "b"]);

#[profiled]
extern "ptx-kernel" fn kernel(task: u32) {
    profile_region!("literal", by = warp(32));
    profile_region!("constant", by = warp(FAR));
    profile_region!(TASK[task], by = warp(FAR));
    profile_anchor!(by = warp(FAR));
}

fn main() {}
