use profiler_device::{profile_anchor, profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_anchor!(every = 0);
    profile_anchor!(every = 5_000_000_000);
    profile_anchor!(every = "often");
    profile_anchor!(every = 1.5);
    profile_anchor!(every);
    profile_region!("region", every = 100);
}

#[profiled]
extern "ptx-kernel" fn of_another_type(cycles: u64) {
    profile_anchor!(every = cycles);
}

fn main() {}
