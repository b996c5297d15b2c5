use profiler_device::{Recorder, profiled};

#[profiled(clock = globaltimer, enabled = true, buffer = global, max_threads = 32)]
fn device(prof: Recorder) {
    let _ = prof;
}

fn main() {}
