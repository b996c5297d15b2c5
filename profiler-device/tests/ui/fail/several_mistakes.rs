use profiler_device::{profile_region, profiled};

#[profiled(by = quad, clok = cycles, buffer = shared, max_threads = 2048, by = warp)]
extern "ptx-kernel" fn kernel() -> u32 {
    profile_region!("still resolves", { 3 })
}

fn main() {}
