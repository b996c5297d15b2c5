//! What linear slots hold, and how many launches need.

use profiler_device::__private::__profiler_calibrate_v1 as profiled;
use profiler_emulator::{Emulator, LaunchConfig};

use super::*;
use crate::capacity::Capacity;

const SLOTS: u32 = 64;

fn device() -> EmulatedDevice {
    EmulatedDevice::new(Emulator::new(2), LaunchConfig::new([1; 3], [1; 3]))
}

fn session(device: &EmulatedDevice, change: impl FnOnce(&mut Options)) -> EmulatorSession<'_> {
    let mut options = Options { max_warps: Some(SLOTS), ..Options::default() };
    change(&mut options);
    EmulatorSession::new(device, &options).expect("a session")
}

fn run(
    session: &mut EmulatorSession<'_>,
    kernel: unsafe fn(u32),
    (grid, block): (u32, u32),
    argument: u32,
) -> Result<(), Error> {
    // SAFETY: the kernels of these tests touch no memory but the session's.
    unsafe { session.launch("kernel", Shape::new(grid, block, 0), kernel, (argument,)) }
}

/// How many slots hold a header.
fn headers(session: &EmulatorSession<'_>) -> usize {
    let capture = session.capture().expect("a capture").modules.swap_remove(0);
    let headers = capture.headers.chunks_exact(profiler_wire::header::BYTES);
    headers.filter(|header| header.iter().any(|&byte| byte != 0)).count()
}

/// A kernel without a recorder.
fn not_profiled(_: u32) {}

/// A kernel that fails before blocks from `first` on enter it.
fn failing(first: u32) {
    assert!(profiler_emulator::block_index()[0] < first, "out of luck");
    profiled(1);
}

#[test]
fn slots_of_launches_that_do_not_record_are_counted_as_needed() {
    let device = device();
    let run = |slots| {
        let mut session = session(&device, |options| options.max_warps = Some(slots));
        for (kernel, grid) in [(profiled as unsafe fn(u32), 3), (not_profiled, 60), (profiled, 4)] {
            run(&mut session, kernel, (grid, 64), 1).expect("the kernel runs");
        }
        session.capture().expect("a capture")
    };
    let needed = 2 * (3 + 60 + 4);
    // The last launch finds no slot, only a part of it does, all of it does.
    for slots in [7, 100, needed - 1] {
        let capture = run(slots);
        assert!(capture.modules[0].lost.warps > 0);
        assert_eq!(capture.modules[0].needed_slots(), u64::from(needed), "{slots}");
        let error = Capacity::needed(&capture).expect_err("warps found no slot");
        assert!(error.to_string().contains(&format!(".max_warps({needed})")), "{error}");
        let trace = profiler_trace::decode(&capture);
        let said = trace.diagnostics.to_string();
        assert!(said.contains(&format!(".max_warps({needed})")), "{said}");
    }
    let capture = run(needed);
    assert_eq!(capture.modules[0].lost.warps, 0);
    assert_eq!(Capacity::needed(&capture).expect("it tells").max_warps, needed);
    assert_eq!(run(1000).modules[0].needed_slots(), u64::from(needed));
}

#[test]
fn warps_are_counted_that_find_no_slot() {
    let device = device();
    let mut session = session(&device, |_| ());
    run(&mut session, profiled, (SLOTS + 3, 32), 1).expect("the kernel runs");
    run(&mut session, not_profiled, (2, 32), 0).expect("the kernel runs");
    let capture = session.capture().expect("a capture");
    assert_eq!((capture.modules[0].lost.warps, headers(&session)), (3, SLOTS as usize));
}

#[test]
fn kernels_may_leave_slots_empty() {
    let device = device();
    let mut session = session(&device, |_| ());
    run(&mut session, not_profiled, (4, 64), 0).expect("the kernel runs");
    run(&mut session, profiled, (2, 2048), 1).expect_err("no block is that large");
    run(&mut session, profiled, (4, 32), 1).expect("the kernel runs");
    run(&mut session, failing, (4, 32), 0).expect_err("it fails at once");
    let before = headers(&session);
    run(&mut session, failing, (4, 32), 2).expect_err("it fails on its way");
    assert!((before..before + 4).contains(&headers(&session)));
    session.reset().expect("memory");
    assert_eq!(headers(&session), 0, "a reset forgets them");
    run(&mut session, profiled, (1, 32), 1).expect("the kernel runs");
    assert_eq!(headers(&session), 1);
}

#[test]
fn a_launch_has_slots_for_the_selected_warps() {
    let device = device();
    let selection = |options: &mut Options| {
        (options.block_first, options.block_count, options.block_stride) = (1, 3, 2);
        options.warp_mask = 0b1010;
    };
    let mut session = session(&device, selection);
    // Blocks 1, 3 and 5; warps 1 and 3 of five, and warp 1 of two.
    for (grid, block, selected) in [(9, 160, 6), (4, 64, 8), (1, 64, 8), (9, 32, 8)] {
        run(&mut session, profiled, (grid, block), 1).expect("the kernel runs");
        assert_eq!(headers(&session), selected, "{grid} x {block}");
        assert_eq!(session.arrays.next_slot, selected as u64, "{grid} x {block}");
    }
}
