//! Arguments of `#[profiled]`, and those of regions that are like them.
use profiler_device::{Recorder, profile_region, profiled};

#[profiled(by = quad, clok = cycles, buffer = shared, max_threads = 2048, by = warp)]
extern "ptx-kernel" fn several() -> u32 {
    profile_region!("still resolves", { 3 })
}

#[profiled]
extern "ptx-kernel" fn strategies() {
    profile_region!("region", by = lane);
    profile_region!("region", by = block(0), {});
    profile_region!("region", by = when, {});
}

#[profiled]
extern "ptx-kernel" fn flag_with_value() {
    let _ = profile_region!("region", wait = true, track, by =, { 1 });
}

#[profiled(buffer = disk)]
extern "ptx-kernel" fn unknown_buffer() {}

#[profiled(buffer = "host")]
extern "ptx-kernel" fn text() {}

#[profiled(buffer = global, buffer = host)]
extern "ptx-kernel" fn two() {}

#[profiled(clock = clock64)]
extern "ptx-kernel" fn unknown_clock() {}

const NONE: u32 = 0;

#[profiled(max_threads = 1025, max_registers = 0, min_blocks = "two")]
extern "ptx-kernel" fn bounds() {}

#[profiled(min_blocks = 2)]
extern "ptx-kernel" fn bound_alone() {}

#[profiled(max_threads = NONE)]
extern "ptx-kernel" fn bound_of_a_constant() {}

#[profiled(enabled = flag)]
extern "ptx-kernel" fn enabled_at_run_time(flag: bool) {
    let _ = flag;
}

#[profiled(clock = globaltimer, enabled = true, buffer = global, max_threads = 32)]
fn arguments_of_kernels(prof: Recorder) {
    let _ = prof;
}

#[profiled]
#[profiled(by = block)]
extern "ptx-kernel" fn profiled_twice() {}

fn main() {}
