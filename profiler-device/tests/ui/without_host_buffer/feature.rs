use profiler_device::profiled;

#[profiled(buffer = host)]
extern "ptx-kernel" fn mapped() {}

fn main() {}
