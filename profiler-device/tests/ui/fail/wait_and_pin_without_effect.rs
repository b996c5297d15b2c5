use profiler_device::{profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    let mut sum = 0;
    profile_region!("statement", wait, pin = sum);
    sum += 1;
    profile_region!("no value", wait, {
        core::hint::spin_loop();
    });
    profile_region!("empty", wait, {});
    let _ = sum;
}

fn main() {}
