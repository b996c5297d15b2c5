use profiler_device::profiled;

#[profiled(enabled = flag)]
extern "ptx-kernel" fn kernel(flag: bool) {
    let _ = flag;
}

fn main() {}
