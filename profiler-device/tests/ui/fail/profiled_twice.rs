use profiler_device::profiled;

#[profiled]
#[profiled(by = block)]
extern "ptx-kernel" fn kernel() {}

fn main() {}
