//! Every function that differs between the GPU and its twin: what kernels get from it, on the emulator
//! and, with `--ignored`, on a GPU.

use crate::support::on_both_back_ends;

use std::collections::BTreeSet;

use profiler_host::{Backend, BackendChoice, Profiler, launch};
use profiler_trace::{DiagnosticKind, Trace, Value};
use test_kernels::intrinsics as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("intrinsics");
/// The same kernels for a target that has clusters.
const PTX_SM_90: Option<&str> = profiler_host::include_ptx!("intrinsics_sm_90");

on_both_back_ends! {
    registers_say_where_a_thread_is
    clocks_go_on
    warps_vote_and_shuffle
    blocks_meet_and_share
    threads_count_and_hand_over
    what_is_pinned_keeps_its_value
    copies_arrive
    records_of_every_form_hold_what_was_done
    short_values_of_every_form_are_what_they_were
    the_rank_in_the_cluster_is_recorded
}

fn backend(choice: BackendChoice) -> Backend {
    Backend::choose(choice, PTX).expect("the back end")
}

/// What each thread wrote.
fn rows<const COUNT: usize>(numbers: &[u32]) -> Vec<[u32; COUNT]> {
    numbers.as_chunks().0.to_vec()
}

fn registers_say_where_a_thread_is(choice: BackendChoice) {
    let backend = backend(choice);
    let (grid, block) = ([3, 2, 2], [7_u32, 5, 3]);
    let threads = block.iter().product::<u32>();
    let mut output =
        backend.zeroed::<u32>(12 * threads as usize * kernels::REGISTERS).expect("memory");
    // SAFETY: that many numbers a thread.
    unsafe { launch!(backend, kernels::registers<<<grid, block>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let rows = rows::<{ kernels::REGISTERS }>(&output.read().expect("the numbers"));
    let index = |linear: u32, [width, height, _]: [u32; 3]| {
        [linear % width, linear / width % height, linear / width / height]
    };
    for (number, row) in (0..).zip(rows) {
        let (of_block, of_thread) = (index(number / threads, grid), index(number % threads, block));
        let expected = [of_thread, of_block, block, grid].concat();
        assert_eq!(row[..12], expected, "by profiler-device");
        assert_eq!(row[12..24], expected, "by profiler-kernel");
        let (lane, warp) = (number % threads % 32, number % threads / 32);
        assert_eq!(row[24..], [lane, lane, warp, warp], "lanes and warps");
    }
}

fn clocks_go_on(choice: BackendChoice) {
    let backend = backend(choice);
    let mut launches = BTreeSet::new();
    for _ in 0..2 {
        let mut output = backend.zeroed::<u64>(8 * 64 * kernels::CLOCKS).expect("memory");
        // SAFETY: that many numbers a thread.
        unsafe { launch!(backend, kernels::clocks<<<8, 64>>>(output.as_mut_ptr())) }
            .expect("the launch");
        let numbers = output.read().expect("the numbers");
        let mut of_launch = BTreeSet::new();
        for &[clock, later, timer, later_timer, sm, grid_id] in
            numbers.as_chunks::<{ kernels::CLOCKS }>().0
        {
            assert!(clock < later, "{clock} and then {later}");
            // It moves in steps of a microsecond at most.
            assert!(timer < later_timer && later_timer - timer < 1_000_000_000);
            assert!(sm < u64::from(backend.device_info().sm_count), "SM {sm}");
            of_launch.insert(grid_id);
        }
        assert_eq!(of_launch.len(), 1, "one launch has one number");
        launches.extend(of_launch);
    }
    assert_eq!(launches.len(), 2, "two launches have two numbers");
}

fn warps_vote_and_shuffle(choice: BackendChoice) {
    let backend = backend(choice);
    let mut output = backend.zeroed::<u32>(2 * 96 * kernels::WARPS).expect("memory");
    // SAFETY: that many numbers a thread.
    unsafe { launch!(backend, kernels::warps<<<2, 96>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let rows = rows::<{ kernels::WARPS }>(&output.read().expect("the numbers"));
    let of = |lane: u32| 3 * lane + 1;
    for warp in rows.chunks(32) {
        let mut elected = [0, 0];
        for (lane, row) in (0..).zip(warp) {
            let above = if lane + 4 < 32 { lane + 4 } else { lane };
            let sum = (0..32).map(of).sum();
            let expected = [of(7), of(lane ^ 9), of(above), 0x4924_9249, 1, sum];
            assert_eq!(row[..6], expected, "lane {lane}");
            // Hardware may split an arm further.
            let arm = if lane < 8 { 0xff } else { !0xff };
            for mask in &row[6..8] {
                assert!(mask & !arm == 0 && mask >> lane & 1 == 1, "lane {lane} in {mask:#x}");
            }
            elected[usize::from(lane >= 8)] += row[8];
            assert_eq!(row[9], lane);
        }
        assert!((1..=8).contains(&elected[0]), "{elected:?} of the first arm");
        assert!((2..=48).contains(&elected[1]), "{elected:?} of the second arm");
    }
}

fn blocks_meet_and_share(choice: BackendChoice) {
    let backend = backend(choice);
    let mut output = backend.zeroed::<u32>(3 * 64 * kernels::BLOCKS).expect("memory");
    // SAFETY: that many numbers a thread, and four bytes of dynamic shared memory.
    unsafe { launch!(backend, kernels::blocks<<<3, 64, 256>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let rows = rows::<{ kernels::BLOCKS }>(&output.read().expect("the numbers"));
    for (number, row) in (0..).zip(rows) {
        let rank: u32 = number % 64;
        let (other, next) = (63 - rank, (rank + 1) % 32);
        let handed = if rank < 32 { 0 } else { 7 * next };
        let expected = [
            other * other,
            other * other,
            other + 100,
            256,
            next,
            1000 + next,
            next,
            2 * next + 1,
            next,
            next,
            4 * next + 1,
            handed,
        ];
        assert_eq!(row, expected, "thread {rank}");
    }
}

fn threads_count_and_hand_over(choice: BackendChoice) {
    let backend = backend(choice);
    // As many blocks as the emulator runs at once.
    let (blocks, threads) = (4, 96);
    let mut output = backend.zeroed::<u32>(2 * blocks * threads).expect("memory");
    let mut counter = backend.zeroed::<u32>(3).expect("memory");
    // SAFETY: two numbers a thread, and three that are 0.
    unsafe {
        launch!(
            backend,
            kernels::counters<<<blocks as u32, threads as u32>>>(
                output.as_mut_ptr(),
                counter.as_mut_ptr()
            )
        )
    }
    .expect("the launch");
    let rows = rows::<2>(&output.read().expect("the numbers"));
    let tickets: BTreeSet<u32> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(tickets, (0..(blocks * threads) as u32).collect());
    assert!(rows.iter().all(|row| row[1] == 4711), "the number was handed to all");
}

fn what_is_pinned_keeps_its_value(choice: BackendChoice) {
    let backend = backend(choice);
    let profiler = Profiler::builder().build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let inputs: Vec<f32> = (0..64).map(|n| n as f32 * 1.75).collect();
    let input = backend.upload(&inputs).expect("memory");
    let mut output = backend.zeroed::<u64>(64 * kernels::PINS).expect("memory");
    // SAFETY: a number for each thread, and room for that many.
    unsafe { launch!(session, kernels::pins<<<2, 32>>>(input.as_ptr(), output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    let rows = numbers.as_chunks::<{ kernels::PINS }>().0;
    for (number, (x, row)) in (0..).zip(inputs.into_iter().zip(rows)) {
        let expected = [
            (x as u8).wrapping_mul(200).into(),
            (-x as i8).wrapping_mul(100) as u64,
            (x as u16).wrapping_mul(60_000).into(),
            (-x as i16).wrapping_mul(30_000) as u64,
            (x as u32).wrapping_mul(4_000_000_000).into(),
            (-x as i32).wrapping_mul(2_000_000_000) as u64,
            (x * 0.1).to_bits().into(),
            (x as u64).wrapping_mul(u64::MAX - 5),
            (-x as i64).wrapping_mul(i64::MAX - 5) as u64,
            (f64::from(x) * 0.1).to_bits(),
            (x as u64).wrapping_mul(u64::MAX - 7),
            (-x as i64).wrapping_mul(i64::MAX - 7) as u64,
            (-x as i64) as u64,
            1,
            number,
        ];
        assert_eq!(*row, expected, "{x}");
    }
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    // Of lane 0, and its value is in its record.
    let recorded = trace.warps.iter().map(|warp| warp.regions.as_slice());
    let recorded: Vec<_> = recorded
        .map(|regions| match regions {
            [region] => (region.value, region.value_in_record),
            _ => panic!("{regions:?}"),
        })
        .collect();
    let held = |value| (Some(Value::Signed(value)), true);
    assert_eq!(recorded, [held(0), held(-56)]);
}

fn copies_arrive(choice: BackendChoice) {
    let backend = backend(choice);
    let source = backend.upload(&(0..128).map(|n| n * n).collect::<Vec<u32>>()).expect("memory");
    let mut output = backend.zeroed::<u32>(64).expect("memory");
    // SAFETY: 128 numbers, aligned as all buffers are, and room for two a thread.
    unsafe { launch!(backend, kernels::copies<<<1, 32>>>(source.as_ptr(), output.as_mut_ptr())) }
        .expect("the launch");
    for (lane, row) in (0_u32..).zip(rows::<2>(&output.read().expect("the numbers"))) {
        let at = 127 - lane;
        // The second time the sixteen bytes stand in the opposite order.
        let other = 4 * (31 - at / 4) + at % 4;
        assert_eq!(row, [at * at, other * other], "lane {lane}");
    }
}

/// Launches a kernel that records every form, in a session.
fn recorded(backend: &Backend, timed: bool) -> Trace {
    let inputs: Vec<f32> = (0..96).map(|n| n as f32 / 4.0).collect();
    let input = backend.upload(&inputs).expect("memory");
    let mut output = backend.zeroed::<u32>(96).expect("memory");
    let profiler = Profiler::builder().records_per_lane(32).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    let (from, to) = (input.as_ptr(), output.as_mut_ptr());
    // SAFETY: a number for each thread, and room for one.
    unsafe {
        if timed {
            launch!(session, kernels::timed_records<<<2, 48>>>(from, to))
        } else {
            launch!(session, kernels::records<<<2, 48>>>(from, to))
        }
    }
    .expect("the launch");
    let trace = session.finish().expect("a trace");
    let bits: Vec<u32> = inputs.iter().map(|input| input.to_bits()).collect();
    assert_eq!(output.read().expect("the numbers"), bits);
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    trace
}

fn records_of_every_form_hold_what_was_done(choice: BackendChoice) {
    let backend = backend(choice);
    for timed in [false, true] {
        let trace = recorded(&backend, timed);
        let odd = [DiagnosticKind::StartBeforeEntry, DiagnosticKind::TimeNotMonotonic];
        let is_odd = trace.diagnostics.list.iter().any(|found| odd.contains(&found.kind));
        assert!(!is_odd, "{}", trace.diagnostics);
        for warp in &trace.warps {
            let block = warp.block[0];
            let lanes = (48 - 32 * warp.warp).min(32);
            assert_eq!(warp.anchors.len() as u32, if timed { 0 } else { lanes });
            for lane in 0..lanes {
                let x = f64::from(48 * block + 32 * warp.warp + lane) / 4.0;
                let of_lane = warp.regions.iter().filter(|region| u32::from(region.lane) == lane);
                let mut found: Vec<(&str, Option<Value>)> = of_lane
                    .clone()
                    .map(|region| (trace.site(region.site).name.as_str(), region.value))
                    .collect();
                // Both may lie in one step of the timer.
                found.sort_by_key(|(name, _)| *name);
                assert_eq!(found, [("load", None), ("store", Some(Value::Float(x)))]);
                assert!(of_lane.clone().all(|region| region.end.is_some()));
            }
        }
    }
}

fn short_values_of_every_form_are_what_they_were(choice: BackendChoice) {
    let backend = backend(choice);
    // Each type cuts some of them.
    let inputs: Vec<i32> = (0..128).map(|n| -70_001 + 1_103 * n).collect();
    let input = backend.upload(&inputs).expect("memory");
    let profiler = Profiler::builder().records_per_lane(32).build().expect("the options");
    let mut session = backend.session(&profiler).expect("a session");
    // SAFETY: a number for each thread, and blocks of a warp.
    unsafe { launch!(session, kernels::values<<<4, 32>>>(input.as_ptr())) }.expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
    assert_eq!(trace.warps.len(), 4);
    for warp in &trace.warps {
        let of_lane = |lane: u32| inputs[(32 * warp.block[0] + lane) as usize];
        let first = of_lane(0);
        let signed = |number: i64| Some(Value::Signed(number));
        let unsigned = |number: u64| Some(Value::Unsigned(number));
        let mut expected = vec![
            ("u8", None, unsigned((first as u8).into()), true),
            ("i8", None, signed((first as i8).into()), true),
            ("u16", None, unsigned((first as u16).into()), true),
            ("i16", None, signed((first as i16).into()), true),
            ("bool", None, unsigned((first < 0).into()), true),
            ("ended", None, signed((first as i8).into()), true),
            match first < 0 {
                true => ("moved", None, unsigned((first as u16).into()), true),
                false => ("moved", Some(7), unsigned((first as u16).into()), false),
            },
            ("waits", None, signed((first as i16).into()), true),
            ("tracked", Some(3), unsigned((first as u16).into()), false),
            (
                if first & 1 == 0 { "listed" } else { "listed too" },
                None,
                unsigned((first as u8).into()),
                true,
            ),
            ("elected", None, signed((first as i16).into()), true),
        ];
        for lane in 0..32 {
            expected.push(("each", None, signed((of_lane(lane) as i16).into()), true));
            expected.push(("alike", None, signed((first as i16).into()), true));
            expected.push(("all", None, signed((first as i16).into()), true));
            expected.extend(["first", "second"].map(|name| (name, None, None, false)));
        }
        let mut found: Vec<_> = (warp.regions.iter())
            .map(|region| {
                let name = trace.site(region.site).name.as_str();
                (name, region.track, region.value, region.value_in_record)
            })
            .collect();
        for regions in [&mut found, &mut expected] {
            regions.sort_by_cached_key(|&(name, _, value, _)| (name, format!("{value:?}")));
        }
        assert_eq!(found, expected, "block {}", warp.block[0]);
    }
}

fn the_rank_in_the_cluster_is_recorded(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX_SM_90).expect("the back end, of sm_90 or later");
    let trace = recorded(&backend, false);
    // A launch without clusters has clusters of one block; the emulator has none.
    let expected = backend.is_gpu().then_some(0);
    assert!(trace.warps.iter().all(|warp| warp.cluster_rank == expected));
    assert_eq!(trace.warps.len(), 4);
}
