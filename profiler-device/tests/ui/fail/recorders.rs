//! Which recorder is meant, and recorders made by hand.
use profiler_device::{LaneRecorder, Recorder, profile_region, profiled};

#[profiled]
fn none(x: u32) -> u32 {
    profile_region!("still resolves", { x + 1 })
}

#[profiled]
fn two(a: Recorder, b: &Recorder) {
    let _ = (a, b);
}

#[profiled(recorder = pfor)]
fn unknown(prof: Recorder, x: u32) -> u32 {
    let _ = prof;
    profile_region!("still resolves", { x })
}

#[profiled(recorder = descriptor)]
unsafe extern "ptx-kernel" fn of_a_kernel(x: u32) {
    let _ = x;
}

#[profiled(recorder = x)]
fn of_another_type(x: u32) {
    profile_region!("region", recorder = x);
}

// Only a recorder makes a `LaneRecorder`, for its own thread and its own lifetime.
fn send(_: impl Send) {}

fn leader_by_hand(prof: Recorder<'_>) {
    send(prof.leader());
    let _ = LaneRecorder { state: prof, leads: true };
}

fn outlives(prof: Recorder<'_>) -> LaneRecorder<'static> {
    prof.leader_thread()
}

fn main() {}
