//! Tokens; and errors of the borrow checker, which skips functions with any other.
use profiler_device::{profile_region, profiled, region_end, region_start};

#[profiled]
extern "ptx-kernel" fn arguments() {
    let token = region_start!("region", value = 3);
    region_end!(token, by = block);
    region_end!();
}

#[profiled]
extern "ptx-kernel" fn ended_twice() {
    let token = region_start!("region");
    region_end!(token);
    region_end!(token);
}

#[profiled]
extern "ptx-kernel" fn pin_what_is_not_mutable() {
    let sum = 0;
    profile_region!("region", pin = sum, {});
}

fn main() {}
