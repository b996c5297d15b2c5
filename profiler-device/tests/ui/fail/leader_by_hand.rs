//! Only a recorder makes a `LaneRecorder`, for its own thread and its own lifetime.
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
