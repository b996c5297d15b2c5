use profiler_device::profiled;

#[profiled(min_blocks = 2)]
extern "ptx-kernel" fn kernel() {}

fn main() {}
