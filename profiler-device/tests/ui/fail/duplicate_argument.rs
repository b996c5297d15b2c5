use profiler_device::profiled;

#[profiled(name = "a", by = block, name = "b")]
extern "ptx-kernel" fn kernel() {}

fn main() {}
