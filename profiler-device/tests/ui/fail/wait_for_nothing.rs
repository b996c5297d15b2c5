use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_region!("region", wait, {
        core::hint::spin_loop();
    });
    profile_region!("region", wait, {});
}

fn main() {}
