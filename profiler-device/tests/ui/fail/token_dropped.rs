#![deny(unused_must_use)]

use profiler_device::{profiled, region_start};

#[profiled]
extern "ptx-kernel" fn kernel() {
    region_start!("dropped");
}

fn main() {}
