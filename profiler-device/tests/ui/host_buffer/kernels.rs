#![deny(warnings)]
#![cfg_attr(target_arch = "nvptx64", no_std)]

use profiler_device::{profile_mark, profile_region, profiled, region_end, region_start};

#[profiled(buffer = host)]
pub extern "ptx-kernel" fn plain() {
    profile_region!("a", {
        profile_mark!("b", 1_u32);
    });
}

#[profiled(buffer = host, by = thread, clock = globaltimer, track = 2, single_body, max_threads = 64)]
pub extern "ptx-kernel" fn with_more(n: u32) {
    let token = region_start!("token");
    profile_region!("value", value = n, unit = "bytes", wait, { n });
    region_end!(token);
}

#[profiled(buffer = host, enabled = false)]
pub extern "ptx-kernel" fn never() {
    profile_region!("c");
}

fn main() {}
