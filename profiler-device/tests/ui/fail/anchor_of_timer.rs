use profiler_device::{Recorder, profile_anchor, profiled, recorder};

#[profiled(clock = globaltimer)]
extern "ptx-kernel" fn kernel(rounds: u32) {
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
