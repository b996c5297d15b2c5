//! Who records is said by the recorder alone, and in its own thread.
use profiler_device::{Leader, Recorder};

fn send(_: impl Send) {}

fn device(prof: Recorder<'_>) {
    send(prof.leader());
    let _ = Leader { state: prof, leads: true };
}

fn outlives(prof: Recorder<'_>) -> Leader<'static> {
    prof.leader_thread()
}

fn main() {}
