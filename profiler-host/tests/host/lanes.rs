//! What lanes other than lane 0 record, in figures: how long their warp is in a region, and in the kernel.

use profiler_device::hardware::lane_id;
use profiler_device::{profile_region, profiled};
use profiler_host::trace::DiagnosticKind as Kind;
use profiler_host::{Backend, BackendChoice, Profiler, Trace, launch};

/// Lane 0 returns at once; the others work.
#[profiled(by = elected)]
extern "ptx-kernel" fn early(turns: u32) {
    if lane_id() == 0 {
        return;
    }
    for _ in 0..turns {
        profile_region!("turn", {});
    }
}

/// Lane l takes l + 1 turns; then all meet.
#[profiled(by = elected)]
extern "ptx-kernel" fn turns() {
    for _ in 0..=lane_id() {
        profile_region!("turn", {});
    }
    profile_region!("end", {});
}

/// Every lane records one region.
#[profiled(by = thread)]
extern "ptx-kernel" fn all() {
    profile_region!("all", {});
}

/// What no lane that records comes to.
#[profiled]
extern "ptx-kernel" fn silent() {
    profile_region!("here", {});
    if lane_id() == 5 {
        profile_region!("of lane 5", {});
    }
    profile_region!("of warp 7", by = warp(7), {});
}

fn run(kernel: fn(&mut profiler_host::Session<'_>)) -> Trace {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("there is an emulator");
    let profiler = Profiler::builder().for_grid(1, 32, 1).build().expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    kernel(&mut session);
    session.finish().expect("a trace")
}

#[test]
fn a_warp_is_in_the_kernel_until_its_last_lane_leaves() {
    // SAFETY: the kernel touches no memory.
    let trace = run(|session| unsafe { launch!(session, early<<<1, 32>>>(10)) }.expect("it runs"));
    let warp = &trace.warps[0];
    let ends = warp.regions.iter().filter_map(|region| region.end);
    let last = ends.map(|end| end.ticks).max().expect("regions");
    let exit = warp.exit.expect("an exit");
    assert!(exit.ticks >= last, "{} {last}", exit.ticks);
    assert!(trace.launches[0].end_ns >= exit.ns);
    assert_eq!(trace.diagnostics.count(Kind::RegionAfterExit), 0);
    let stats = trace.stats();
    let turn = stats.get("turn").expect("a row");
    assert!(turn.share > 0.0 && turn.share <= 1.0, "{stats}");
}

#[test]
fn time_in_a_region_is_that_of_the_warp_whatever_lanes_record() {
    // SAFETY: the kernels touch no memory.
    let trace = run(|session| unsafe { launch!(session, turns<<<1, 32>>>()) }.expect("it runs"));
    let stats = trace.stats();
    let [turn, kernel] = ["turn", "turns"].map(|name| stats.get(name).expect("a row"));
    // One lane after the other is elected: nothing is counted twice.
    assert_eq!((turn.count, turn.ns.mean_per_warp), (32, turn.ns.total));
    assert!((turn.share - turn.ns.total / kernel.ns.total).abs() < 1e-9, "{stats}");
    assert!(turn.share > 0.3, "{stats}");
    // SAFETY: as above.
    let trace = run(|session| unsafe { launch!(session, all<<<1, 32>>>()) }.expect("it runs"));
    let stats = trace.stats();
    let all = &stats.rows[1];
    assert_eq!((all.name.as_str(), all.count), ("all", 32));
    assert_eq!((all.ns.total, all.ns.mean_per_warp), (32.0 * all.ns.max, all.ns.max), "{stats}");
}

#[test]
fn sites_that_never_recorded_are_listed() {
    // SAFETY: the kernel touches no memory.
    let trace = run(|session| unsafe { launch!(session, silent<<<1, 32>>>()) }.expect("it runs"));
    let names = trace
        .never_recorded
        .iter()
        .map(|(site, kernel)| [trace.site(*site).name.as_str(), trace.site(*kernel).name.as_str()]);
    assert_eq!(names.collect::<Vec<_>>(), [["of lane 5", "silent"], ["of warp 7", "silent"]]);
    let notes = trace.stats().notes;
    let notes: Vec<&String> = notes.iter().filter(|note| note.contains("never recorded")).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("of lane 5 (") && notes[0].contains("by = elected"), "{notes:?}");
}
