use profiler_device::profiled;

#[profiled(max_threads = 1025, max_registers = 0, min_blocks = "two")]
extern "ptx-kernel" fn kernel() {}

fn main() {}
