use profiler_device::{Recorder, profile_anchor, profile_region, profiled, recorder};

#[profiled]
extern "ptx-kernel" fn every() {
    profile_anchor!(every = 0);
    profile_anchor!(every = 5_000_000_000);
    profile_anchor!(every = "often");
    profile_anchor!(every = 1.5);
    profile_anchor!(every);
    profile_region!("region", every = 100);
}

#[profiled]
extern "ptx-kernel" fn every_of_another_type(cycles: u64) {
    profile_anchor!(every = cycles);
}

#[profiled(clock = globaltimer)]
extern "ptx-kernel" fn of_the_timer(rounds: u32) {
    for _ in 0..rounds {
        profile_anchor!(every = 200_000);
    }
    if rounds > 9 {
        profiler_device::profile_anchor!();
    }
    // Of a function that other kernels call as well nobody can say.
    helper(recorder!());
    let prof = recorder!();
    profile_anchor!(recorder = prof);
}

#[profiled]
fn helper(prof: Recorder<'_>) {
    profile_anchor!();
}

fn main() {}
