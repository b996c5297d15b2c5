//! Who records is said by the recorder alone, and in its own thread.
use profiler_device::{LaneRecorder, Recorder};

fn send(_: impl Send) {}

fn device(prof: Recorder<'_>) {
    send(prof.leader());
    let _ = LaneRecorder { state: prof, leads: true };
}

fn outlives(prof: Recorder<'_>) -> LaneRecorder<'static> {
    prof.leader_thread()
}

fn main() {}
