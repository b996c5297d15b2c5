use profiler_device::profiled;

const NONE: u32 = 0;

#[profiled(max_threads = 1025, max_registers = 0, min_blocks = "two")]
extern "ptx-kernel" fn out_of_range() {}

#[profiled(min_blocks = 2)]
extern "ptx-kernel" fn alone() {}

#[profiled(max_threads = NONE)]
extern "ptx-kernel" fn zero() {}

fn main() {}
