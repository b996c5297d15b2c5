use profiler_device::profiled;

const NONE: u32 = 0;

#[profiled(max_threads = NONE)]
extern "ptx-kernel" fn kernel() {}

fn main() {}
