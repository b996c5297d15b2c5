//! Many launches, and many blocks. The rest of it is in `abuse`, which a quick run leaves out.

use crate::support::on_both_back_ends;

use std::collections::BTreeSet;

use profiler_host::{Backend, BackendChoice, Profiler, Slots, Trace, launch};
use profiler_wire::descriptor::FLAG_CLAIMED;
use test_kernels::strategies as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("strategies");

/// Blocks and threads of a block.
const GRID: u32 = 4;
const BLOCK: u32 = 64;
const WARPS: u32 = GRID * BLOCK / 32;

on_both_back_ends! {
    a_thousand_launches
    a_few_blocks_of_a_large_grid
}

/// The rounds of a thousand launches.
fn rounds_of_launch(launch: u32) -> u32 {
    1 + launch % 7
}

/// Checks the trace of a thousand launches of `by_warp`, in which a round is a record of each warp.
#[track_caller]
fn check_a_thousand_launches(trace: &Trace) {
    assert_eq!((trace.launches.len(), trace.lost()), (1000, 0), "{}", trace.diagnostics);
    let recorded = trace.launches.iter().map(|launch| {
        let warps = &trace.warps[launch.warps.clone()];
        assert_eq!(warps.len(), WARPS as usize);
        assert!(warps.iter().all(|warp| warp.recorded == warps[0].recorded));
        warps[0].recorded
    });
    // In one stream launches start in the order in which they were made.
    let expected = (0..1000).map(|launch| u64::from(rounds_of_launch(launch)));
    assert_eq!(recorded.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert!(trace.launches.is_sorted_by(|one, next| one.start_ns <= next.start_ns));
    let warps = trace.warps.iter();
    let places: BTreeSet<_> =
        warps.map(|warp| (trace.launches[warp.launch].grid_id, warp.block, warp.warp)).collect();
    assert_eq!(places.len(), 1000 * WARPS as usize);
    let slots: BTreeSet<u32> = trace.warps.iter().map(|warp| warp.slot).collect();
    assert_eq!(slots.len(), places.len());
}

fn a_thousand_launches(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>((GRID * BLOCK) as usize).expect("memory");
    let pointer = output.as_mut_ptr();
    // So many launches take the emulator seconds; its linear slots have smaller tests.
    let all: &[Slots] = match choice {
        BackendChoice::Emulator => &[Slots::Claimed],
        _ => &[Slots::Linear, Slots::Auto, Slots::Claimed],
    };
    for &slots in all {
        let builder = Profiler::builder().slots(slots).records_per_warp(7);
        let profiler = builder.for_grid(GRID, BLOCK, 1000).build();
        let mut session = backend.session(&profiler.expect("the options")).expect("a session");
        let capture = session.capture().expect("nothing was launched yet");
        let claims = capture.modules[0].descriptor.flags & FLAG_CLAIMED != 0;
        assert_eq!(claims, slots != Slots::Linear, "{slots:?}: few warps of each launch record");
        for launch in 0..1000 {
            let rounds = rounds_of_launch(launch);
            // SAFETY: one number a thread.
            unsafe { launch!(session, kernels::by_warp<<<GRID, BLOCK>>>(pointer, rounds)) }
                .expect("the launch");
        }
        check_a_thousand_launches(&session.finish().expect("a trace"));
    }
}

fn a_few_blocks_of_a_large_grid(choice: BackendChoice) {
    const BLOCKS: u32 = 1 << 20;
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>(BLOCKS as usize).expect("memory");
    let pointer = output.as_mut_ptr();
    // No more slots than warps that are selected: the others take none.
    let builder = Profiler::builder().blocks(1000..1004).block_stride(1 << 18).max_warps(4);
    // So many blocks take the emulator seconds; its claimed slots have smaller tests.
    let claimed = (choice != BackendChoice::Emulator).then_some(Slots::Claimed);
    for slots in claimed.into_iter().chain([Slots::Linear]) {
        let profiler = builder.clone().slots(slots).build().expect("the options");
        let mut session = backend.session(&profiler).expect("a session");
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::by_warp<<<BLOCKS, 1>>>(pointer, 3)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
        let seen: Vec<(u32, u64)> =
            trace.warps.iter().map(|warp| (warp.block[0], warp.recorded)).collect();
        assert_eq!(seen, [0, 1, 2, 3].map(|index| (1000 + (index << 18), 3)));
    }
    assert!(output.read().expect("the results").iter().all(|&rounds| rounds == 3));
}
