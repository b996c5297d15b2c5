use profiler_bench_kernels::format::{BEGIN, END, pack, pack_compact, pack_tagged};
use profiler_device::{profile_region, profiled};
use profiler_host::trace::Region;
use profiler_host::{Backend, BackendChoice, Keep, Profiler, launch};

use super::{Expected, buffers, trace};
use crate::schemes::{Format, Plan, Recorded, Recorders};

const EXPECTED: Expected = Expected { warps: 2, blocks: 1, iterations: 32, recorded: 2 };
const BUFFER: usize = 8192;

/// Begin and end of a region of these tests, close to where the clock's bits wrap.
fn times(region: u64) -> (u64, u64) {
    let start = (1 << 40) - 100 + 20 * region;
    (start, start + 7)
}

fn number(region: u64) -> u32 {
    (region % 2) as u32 + 1
}

fn put(lane_buffer: &mut [u8], index: u64, word: u64) {
    let at = 8 * index as usize;
    lane_buffer[at..at + 8].copy_from_slice(&word.to_le_bytes());
}

/// Two buffers as a kernel leaves them that writes in this format.
fn written(format: Format) -> Vec<u8> {
    let mut bytes = vec![0; 2 * BUFFER];
    for (warp, lane_buffer) in (0..).zip(bytes.chunks_exact_mut(BUFFER)) {
        for region in 0..64 {
            write(lane_buffer, format, region, warp);
        }
        if matches!(format, Format::Slices | Format::Events40) {
            lane_buffer[..4].copy_from_slice(&64_u32.to_le_bytes());
        }
    }
    bytes
}

fn write(lane_buffer: &mut [u8], format: Format, region: u64, warp: u32) {
    let ((start, end), number) = (times(region), number(region));
    match format {
        Format::Compact8 => put(lane_buffer, region, pack_compact(number, start, end)),
        Format::Tagged => {
            put(lane_buffer, 2 * region, pack_tagged(warp, number, false, start as u32));
            put(lane_buffer, 2 * region + 1, pack_tagged(warp, number, true, end as u32));
        }
        Format::Slices => {
            let words = [start, end - start, u64::from(number), u64::from(warp)];
            for (part, word) in (1..).zip(words) {
                put(lane_buffer, 4 * region + part, word);
            }
        }
        Format::Events40 => {
            let at = 5 + 5 * region;
            let words = [start, end, u64::from(number) | region << 32, 0, 0];
            for (part, word) in (0..).zip(words) {
                put(lane_buffer, at + part, word);
            }
        }
        Format::GridCounter => {}
    }
}

const IN_BUFFERS: [Format; 4] =
    [Format::Compact8, Format::Tagged, Format::Slices, Format::Events40];

#[test]
fn whole_buffers_pass() {
    for format in IN_BUFFERS {
        assert_eq!(buffers(&written(format), BUFFER, format, &EXPECTED), Ok(()), "{format:?}");
    }
}

#[test]
fn a_missing_region_is_found_in_every_format() {
    for format in IN_BUFFERS {
        let mut bytes = written(format);
        let bytes_per_region = format.bytes_per_region() as usize;
        let head = match format {
            Format::Slices => 8,
            Format::Events40 => 40,
            _ => 0,
        };
        bytes[BUFFER + head..BUFFER + head + 20 * bytes_per_region].fill(0);
        let wrong = buffers(&bytes, BUFFER, format, &EXPECTED).expect_err("regions are missing");
        assert!(wrong.starts_with("warp 1 of the grid: region "), "{format:?}: {wrong}");
    }
}

#[test]
fn one_region_too_many_is_found() {
    for format in [Format::Compact8, Format::Tagged] {
        let mut bytes = written(format);
        write(&mut bytes[..BUFFER], format, 64, 0);
        let wrong = buffers(&bytes, BUFFER, format, &EXPECTED).expect_err("there is one more");
        assert!(wrong.contains("after the last region is written"), "{format:?}: {wrong}");
    }
    let mut bytes = written(Format::Slices);
    bytes[0] = 65;
    let wrong =
        buffers(&bytes, BUFFER, Format::Slices, &EXPECTED).expect_err("the counter is wrong");
    assert_eq!(wrong, "warp 0 of the grid: its counter says 65 regions, not 64");
}

#[test]
fn regions_out_of_order_are_found() {
    let mut bytes = written(Format::Compact8);
    let (start, end) = times(2);
    // The third region again where the seventh was; both have the same number.
    put(&mut bytes, 6, pack_compact(1, start, end));
    let wrong = buffers(&bytes, BUFFER, Format::Compact8, &EXPECTED).expect_err("out of order");
    assert!(wrong.contains("region 6 is out of order"), "{wrong}");
}

#[test]
fn a_counter_of_the_grid_counts_all_warps() {
    let mut bytes = vec![0; 3 * BUFFER];
    bytes[..4].copy_from_slice(&128_u32.to_le_bytes());
    for index in 0..128 {
        let (region, warp) = (index / 2, (index % 2) as u32);
        let (start, end) = times(region);
        put(&mut bytes[BUFFER..], 2 * index, pack(BEGIN, number(region), start));
        put(&mut bytes[BUFFER..], 2 * index + 1, pack(END, warp, end));
    }
    assert_eq!(buffers(&bytes, BUFFER, Format::GridCounter, &EXPECTED), Ok(()));
    put(&mut bytes[BUFFER..], 1, pack(END, 1, times(0).1));
    let wrong =
        buffers(&bytes, BUFFER, Format::GridCounter, &EXPECTED).expect_err("of another warp");
    assert_eq!(wrong, "warp 0 has 63 regions");
}

/// Records as the kernels of the bench do.
#[profiled]
pub(super) extern "ptx-kernel" fn two_regions(iterations: u32) {
    for _ in 0..iterations {
        profile_region!("first");
        profile_region!("second", {});
    }
}

/// Two regions an iteration that do not enclose each other.
#[profiled]
pub(super) extern "ptx-kernel" fn regions_in_order(iterations: u32) {
    for _ in 0..iterations {
        profile_region!("first", {});
        profile_region!("second", {});
    }
}

/// The same, stamped by a clock whose steps several regions fit into.
#[profiled(clock = globaltimer)]
pub(super) extern "ptx-kernel" fn timed_regions(iterations: u32) {
    for _ in 0..iterations {
        profile_region!("first", {});
        profile_region!("second", {});
    }
}

/// The same in memory of the host.
#[profiled(buffer = host)]
pub(super) extern "ptx-kernel" fn hosted_regions(iterations: u32) {
    for _ in 0..iterations {
        profile_region!("first", {});
        profile_region!("second", {});
    }
}

/// The same, with a value.
#[profiled(buffer = host)]
pub(super) extern "ptx-kernel" fn hosted_values(iterations: u32) {
    for _ in 0..iterations {
        profile_region!("first", value = 1_u32, {});
        profile_region!("second", value = 2_u32, {});
    }
}

fn plan(keep: Keep, words: Option<u32>) -> Plan {
    Plan { recorders: Recorders::Warp, recorded: Recorded::Region, hosted: false, keep, words }
}

fn run(plan: &Plan, kernel: fn(u32), iterations: u32) -> profiler_host::Trace {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let profiler = Profiler::builder()
        .records_per_warp(plan.words.unwrap_or(4096) / 2)
        .lane_buffers(false)
        .keep(plan.keep)
        .build()
        .expect("options");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: the kernels touch no memory.
    unsafe { launch!(session, kernel<<<1, 64>>>(iterations)) }.expect("it runs");
    session.finish().expect("a trace")
}

#[test]
fn a_whole_trace_passes() {
    let plan = plan(Keep::First, None);
    assert_eq!(trace(&run(&plan, regions_in_order, 32), &plan, &EXPECTED), Ok(()));
}

#[test]
fn regions_that_begin_and_end_in_one_step_of_the_clock_pass() {
    let plan = plan(Keep::First, None);
    let found = run(&plan, timed_regions, 32);
    let regions = &found.warps[0].regions;
    let ticks = |region: &Region| (region.start.ticks, region.end.map(|end| end.ticks));
    assert!(regions.windows(2).any(|pair| ticks(&pair[0]) == ticks(&pair[1])));
    assert_eq!(trace(&found, &plan, &EXPECTED), Ok(()));
}

#[test]
fn the_last_regions_and_the_count_of_the_others_pass() {
    let plan = plan(Keep::Last, Some(16));
    let found = run(&plan, regions_in_order, 32);
    assert!(found.lost() > 0);
    assert_eq!(trace(&found, &plan, &EXPECTED), Ok(()));
    let whole = Plan { words: None, ..plan };
    let wrong = trace(&found, &whole, &EXPECTED).expect_err("there was to be room");
    assert!(wrong.contains("lost, though there was buffer"), "{wrong}");
}

#[test]
fn a_region_in_memory_of_the_host_is_two_records() {
    let plan = Plan { hosted: true, ..plan(Keep::Last, Some(32)) };
    let found = run(&plan, hosted_regions, 32);
    assert_eq!(found.warps[0].lost, 2 * 64 - 16);
    assert_eq!(trace(&found, &plan, &EXPECTED), Ok(()));
    let one = Plan { hosted: false, ..plan };
    let wrong = trace(&found, &one, &EXPECTED).expect_err("twice as many were lost");
    assert_eq!(wrong, "block 0 warp 0 lane 0: 8 regions in a buffer for 16");
    let one = Plan { words: Some(16), ..one };
    let wrong = trace(&found, &one, &EXPECTED).expect_err("likewise");
    assert_eq!(wrong, "block 0 warp 0: 8 kept and 112 lost of 64");
}

#[test]
fn a_ring_may_begin_within_a_body() {
    let recorded = Recorded::RegionWithValue;
    let plan = Plan { recorded, hosted: true, ..plan(Keep::Last, Some(32)) };
    // 16 units: the value of a body whose records are lost, and five bodies of three.
    let mut found = run(&plan, hosted_values, 32);
    assert_eq!(found.warps[0].regions.len(), 5);
    assert_eq!(trace(&found, &plan, &EXPECTED), Ok(()));
    found.warps[0].lost -= 1;
    let wrong = trace(&found, &plan, &EXPECTED).expect_err("one is not counted");
    assert_eq!(wrong, "block 0 warp 0: 10 kept and 117 lost of 128");
}

#[test]
fn a_ring_that_kept_too_little_is_found() {
    let plan = plan(Keep::Last, Some(16));
    let mut found = run(&plan, regions_in_order, 32);
    let warp = &mut found.warps[0];
    assert_eq!(warp.regions.len(), 8);
    warp.regions.remove(0);
    warp.lost += 1;
    let wrong = trace(&found, &plan, &EXPECTED).expect_err("there was room for eight");
    assert_eq!(wrong, "block 0 warp 0 lane 0: 7 regions in a buffer for 8");
}

#[test]
fn a_wrong_trace_is_found() {
    let plan = plan(Keep::First, None);
    let wrong = trace(&run(&plan, regions_in_order, 31), &plan, &EXPECTED).expect_err("too few");
    assert_eq!(wrong, "block 0 warp 0: 62 kept and 0 lost of 64");
    let wrong = trace(&run(&plan, two_regions, 32), &plan, &EXPECTED).expect_err("they nest");
    assert!(wrong.contains("out of order"), "{wrong}");
    let mut found = run(&plan, regions_in_order, 32);
    found.warps[1].regions.remove(10);
    let wrong = trace(&found, &plan, &EXPECTED).expect_err("one is missing");
    assert!(wrong.starts_with("block 0 warp 1"), "{wrong}");
    let block = Plan { recorders: Recorders::Block, ..plan };
    let wrong = trace(&run(&plan, regions_in_order, 32), &block, &EXPECTED).expect_err("all warps");
    assert_eq!(wrong, "block 0 warp 1 lane 0: 64 regions");
}
