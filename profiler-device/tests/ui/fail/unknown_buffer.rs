use profiler_device::profiled;

#[profiled(buffer = shared)]
extern "ptx-kernel" fn ring() {}

#[profiled(buffer = disk)]
extern "ptx-kernel" fn unknown() {}

#[profiled(buffer = "host")]
extern "ptx-kernel" fn text() {}

#[profiled(buffer = global, buffer = host)]
extern "ptx-kernel" fn two() {}

#[profiled(clock = clock64)]
extern "ptx-kernel" fn unknown_clock() {}

fn main() {}
