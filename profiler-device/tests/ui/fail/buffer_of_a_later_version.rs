use profiler_device::profiled;

#[profiled(buffer = shared)]
extern "ptx-kernel" fn ring() {}

#[profiled(buffer = host)]
extern "ptx-kernel" fn mapped() {}

#[profiled(buffer = disk)]
extern "ptx-kernel" fn unknown() {}

fn main() {}
