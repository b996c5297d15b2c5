use profiler_device::profiled;

#[profiled(clock = clock64)]
extern "ptx-kernel" fn kernel() {}

fn main() {}
