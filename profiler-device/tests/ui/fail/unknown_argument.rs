use profiler_device::{profile_region, profiled};

#[profiled(nmae = "gemm", wait)]
extern "ptx-kernel" fn kernel() {
    profile_region!("still resolves");
}

fn main() {}
