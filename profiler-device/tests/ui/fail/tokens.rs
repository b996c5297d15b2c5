use profiler_device::{profiled, region_end, region_start};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let token = region_start!("region", value = 3);
    region_end!(token, by = block);
    region_end!();
}

fn main() {}
