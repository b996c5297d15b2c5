//! What linear slots hold after launches that were announced, and after others.

use profiler_device::__private::__profiler_calibrate_v1 as profiled;
use profiler_trace::ModuleCapture;

use profiler_emulator::{Emulator, LaunchConfig};

use super::*;
use crate::capacity::Capacity;

const SLOTS: u32 = 64;

/// A session on a device of two SMs, with kernels that need not be launched as they were announced.
struct Bench<'b> {
    session: EmulatorSession<'b>,
    /// `slot_base` as it was left by what was announced last.
    slot_base: u32,
}

fn device() -> EmulatedDevice {
    EmulatedDevice::new(Emulator::new(2), LaunchConfig::new([1; 3], [1; 3]))
}

impl<'b> Bench<'b> {
    fn new(device: &'b EmulatedDevice, change: impl FnOnce(&mut Options)) -> Self {
        let mut options = Options { max_warps: Some(SLOTS), ..Options::default() };
        change(&mut options);
        let session = EmulatorSession::new(device, &options).expect("a session");
        Self { session, slot_base: 0 }
    }

    fn announce(&mut self, grid: u32, block: u32) {
        self.slot_base = self.session.arrays.announce([grid, 1, 1], [block, 1, 1]);
    }

    /// Runs a kernel as a GPU would after what was announced.
    fn run(&self, kernel: unsafe fn(u32), shape: Shape, argument: u32) -> Result<(), Error> {
        let mut descriptor = self.session.arrays.descriptor;
        descriptor.slot_base = self.slot_base;
        let constant = Arc::from(descriptor.to_bytes());
        // SAFETY: the kernels of these tests touch no memory but the session's.
        unsafe { self.session.device.launch("kernel", shape, kernel, (argument,), constant) }
    }

    fn launch(&self, grid: u32, block: u32) {
        self.run(profiled, Shape::new(grid, block, 0), 1).expect("the kernel runs");
    }

    fn read_back(&self) -> Result<ModuleCapture, Error> {
        Ok(self.session.capture()?.modules.swap_remove(0))
    }

    /// How many slots hold a header.
    fn headers(&self) -> usize {
        let capture = self.read_back().expect("all launches were announced");
        let headers = capture.headers.chunks_exact(profiler_wire::header::BYTES);
        headers.filter(|header| header.iter().any(|&byte| byte != 0)).count()
    }

    fn is_refused(&self) -> bool {
        matches!(self.read_back(), Err(Error::UnannouncedLaunch))
    }
}

/// A kernel without a recorder.
fn not_profiled(_: u32) {}

/// A kernel that fails before blocks from `first` on enter it.
fn failing(first: u32) {
    assert!(profiler_emulator::block_index()[0] < first, "out of luck");
    profiled(1);
}

#[test]
fn announced_launches_are_read_back() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    assert_eq!(bench.headers(), 0, "nothing was launched");
    for (grid, block) in [(3, 64), (1, 40), (4, 32), (4, 32)] {
        bench.announce(grid, block);
        bench.launch(grid, block);
    }
    assert_eq!(bench.headers(), 3 * 2 + 2 + 4 + 4);
}

#[test]
fn slots_of_launches_that_do_not_record_are_counted_as_needed() {
    let device = device();
    let run = |slots| {
        let mut bench = Bench::new(&device, |options| options.max_warps = Some(slots));
        for (kernel, grid) in [(profiled as unsafe fn(u32), 3), (not_profiled, 60), (profiled, 4)] {
            bench.announce(grid, 64);
            bench.run(kernel, Shape::new(grid, 64, 0), 1).expect("the kernel runs");
        }
        bench.session.capture().expect("all launches were announced")
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
fn a_launch_between_two_announced_ones_is_found_out() {
    // Larger, smaller, and with as many warps in another shape; once with a launch after it that
    // covers all that it wrote too far.
    for (grid, block, next) in [(5, 64, 1), (5, 64, 8), (2, 64, 8), (6, 32, 8), (3, 40, 8)] {
        let device = device();
        let mut bench = Bench::new(&device, |_| ());
        bench.announce(3, 64);
        bench.launch(3, 64);
        bench.launch(grid, block);
        bench.announce(next, 32);
        bench.launch(next, 32);
        assert!(bench.is_refused(), "{grid} x {block}, then {next}");
        bench.session.reset().expect("memory");
        assert_eq!(bench.headers(), 0, "a reset forgets it");
    }
}

#[test]
fn a_launch_that_was_announced_smaller_is_found_out() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    bench.announce(2, 32);
    bench.launch(3, 32);
    assert!(bench.is_refused());
}

#[test]
fn a_launch_without_any_announced_is_found_out() {
    let device = device();
    let bench = Bench::new(&device, |_| ());
    bench.launch(1, 32);
    assert!(bench.is_refused());
}

#[test]
fn a_launch_after_the_announced_slots_is_found_out() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    // No warp of it is selected by the shape that was announced.
    bench.announce(0, 32);
    bench.launch(1, 32);
    assert!(bench.is_refused());
}

#[test]
fn two_grids_of_one_shape_in_the_same_slots_are_found_out() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    bench.announce(4, 32);
    bench.launch(4, 32);
    // The second one fails on its way, and leaves headers of the first.
    bench.run(failing, Shape::new(4, 32, 0), 2).expect_err("it fails");
    assert!(bench.is_refused());
}

#[test]
fn headers_of_the_right_shape_in_the_wrong_slots_are_found_out() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    bench.announce(2, 32);
    bench.launch(4, 32);
    bench.launch(2, 32);
    // Its slots hold the end of the launch of its shape that began two slots before.
    bench.announce(4, 32);
    bench.run(not_profiled, Shape::new(4, 32, 0), 0).expect("the kernel runs");
    assert!(bench.is_refused());
}

#[test]
fn more_warps_without_a_slot_than_announced_are_found_out() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    bench.announce(SLOTS + 3, 32);
    bench.launch(SLOTS + 3, 32);
    let capture = bench.read_back().expect("it was announced");
    assert_eq!(capture.lost.warps, 3);
    bench.announce(2, 32);
    bench.run(not_profiled, Shape::new(2, 32, 0), 0).expect("the kernel runs");
    assert_eq!(bench.read_back().expect("all were announced").lost.warps, 3);
    bench.launch(3, 32);
    assert!(bench.is_refused());
}

#[test]
fn kernels_that_leave_slots_empty_are_none_of_these() {
    let device = device();
    let mut bench = Bench::new(&device, |_| ());
    bench.announce(4, 64);
    bench.run(not_profiled, Shape::new(4, 64, 0), 0).expect("the kernel runs");
    // LinearSlots and refused.
    bench.announce(2, 2048);
    bench.run(profiled, Shape::new(2, 2048, 0), 1).expect_err("no block is that large");
    bench.announce(4, 32);
    bench.run(failing, Shape::new(4, 32, 0), 0).expect_err("it fails at once");
    let before = bench.headers();
    bench.announce(4, 32);
    bench.run(failing, Shape::new(4, 32, 0), 2).expect_err("it fails on its way");
    assert!((before..before + 4).contains(&bench.headers()));
    bench.session.reset().expect("memory");
    bench.announce(1, 32);
    bench.launch(1, 32);
    assert_eq!(bench.headers(), 1);
}

#[test]
fn selections_are_none_of_these_and_do_not_hide_them() {
    let device = device();
    let selection = |options: &mut Options| {
        (options.block_first, options.block_count, options.block_stride) = (1, 3, 2);
        options.warp_mask = 0b1010;
    };
    let mut bench = Bench::new(&device, selection);
    // Blocks 1, 3 and 5; warps 1 and 3 of five, and warp 1 of two.
    for (grid, block, selected) in [(9, 160, 6), (4, 64, 8), (1, 64, 8), (9, 32, 8)] {
        bench.announce(grid, block);
        bench.launch(grid, block);
        assert_eq!(bench.headers(), selected, "{grid} x {block}");
    }
    bench.launch(4, 64);
    assert!(bench.is_refused());
}

#[test]
fn claimed_slots_need_no_announcement() {
    let device = device();
    let bench = Bench::new(&device, |options| options.slots = Slots::Claimed);
    bench.launch(3, 64);
    bench.launch(1, 32);
    assert!(bench.read_back().is_ok());
}
