use profiler_device::{Recorder, profiled};

#[profiled]
fn device(a: Recorder, b: &Recorder) {
    let _ = (a, b);
}

fn main() {}
