use profiler_device::{Recorder, profiled};

#[profiled]
struct Kernel;

trait Stage {
    #[profiled]
    fn run(prof: Recorder);
}

fn main() {}
