//! Forms of regions, and what they pin and wait for.
use profiler_device::{Recorder, profile_mark, profile_region, profiled, recorder};

#[profiled]
extern "ptx-kernel" fn block_not_last() {
    profile_region!("region", { 1 }, wait);
    profile_region!("region", unsafe {});
    profile_region!("region", || 3);
}

#[profiled]
extern "ptx-kernel" fn statement_as_expression() {
    let region = profile_region!("region");
    let _ = region;
}

fn outside_profiled() {
    profile_region!("region");
    profile_mark!("mark");
    let value = profile_region!("block", { 1 });
    let _ = (value, recorder!());
}

#[profiled]
extern "ptx-kernel" fn mistake_in_body(x: u32) {
    let sum: u32 = profile_region!("sum", { x + true });
    let _ = missing + sum;
}

#[profiled]
extern "ptx-kernel" fn wait_and_pin_without_effect() {
    let mut sum = 0;
    profile_region!("statement", wait, pin = sum);
    sum += 1;
    profile_region!("no value", wait, {
        core::hint::spin_loop();
    });
    profile_region!("empty", wait, {});
    let _ = sum;
}

#[profiled]
fn pin_what_is_no_place(prof: Recorder<'_>, sums: &mut [f32; 4], mut index: usize) {
    profile_region!("a value", pin = (index + 1), {});
    profile_region!("nothing", pin = (), {});
    profile_region!("by variable", pin = sums[index], {
        sums[index] += 1.0;
        index += 1;
    });
    let mut elements = sums.iter_mut();
    profile_region!("by call", pin = (index, *elements.next().unwrap()), {});
}

fn main() {}
