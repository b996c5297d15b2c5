#![deny(unused_must_use)]

use profiler_device::{profiled, region_end, region_start};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let token = region_start!("region");
    region_end!(token);
    region_end!(token);
}

fn main() {}
