use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel(x: u32) {
    let sum: u32 = profile_region!("sum", { x + true });
    let _ = missing + sum;
}

fn main() {}
