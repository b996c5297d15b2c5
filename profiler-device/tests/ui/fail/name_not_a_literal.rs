use profiler_device::{profile_mark, profile_region, profiled};

const NAME: &str = "load";

#[profiled]
extern "ptx-kernel" fn kernel(text: &str) {
    profile_region!(NAME);
    profile_region!(text, by = block, {});
    profile_mark!(concat!("a", "b"));
    profile_mark!(NAME[0]);
}

fn main() {}
