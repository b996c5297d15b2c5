//! Grids and blocks of any shape, selections of them, and threads that leave early.

use profiler_host::{Slots, launch};
use test_kernels::abuse as kernels;

use crate::kernels::{Rounds, Shape, check_identity, kernel};
use crate::setting::{Setting, builder, output, record, session};

/// Grids from one block to many, along each axis, with every warp recorded.
pub(crate) fn grids(setting: Setting) {
    let backend = setting.backend();
    let small: &[[u32; 3]] = &[[1, 1, 1], [4097, 1, 1], [17, 5, 3], [1, 300, 1], [1, 2, 129]];
    let full: &[[u32; 3]] = &[
        [1, 1, 1],
        [4097, 1, 1],
        [65_537, 1, 1],
        [17, 5, 3],
        [1, 65_535, 1],
        [1, 1, 65_535],
        [2, 3, 10_007],
    ];
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(1);
    for &grid in setting.either(small, full) {
        for slots in [Slots::Linear, Slots::Claimed] {
            let shape = Shape::new(grid, [1, 1, 1]);
            let builder = builder()
                .records_per_warp(1)
                .records_per_lane(1)
                .slots(slots)
                .max_warps(shape.warps());
            let trace = record(&backend, builder, kernel, shape, rounds);
            kernel.check(&trace, shape, rounds);
            assert_eq!(trace.lost(), 0, "{grid:?} {slots:?}: {}", trace.diagnostics);
        }
    }
}

/// 2^20 blocks, all of them recorded.
pub(crate) fn a_million_blocks(setting: Setting) {
    let backend = setting.backend();
    let shape = Shape::new([1 << 20, 1, 1], [1, 1, 1]);
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(1);
    let builder = builder().records_per_warp(1).records_per_lane(1).max_warps(shape.warps());
    let trace = record(&backend, builder, kernel, shape, rounds);
    kernel.check(&trace, shape, rounds);
    assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
}

/// Blocks of one thread, of partial warps, of 1024 threads and of three dimensions.
pub(crate) fn blocks(setting: Setting) {
    let backend = setting.backend();
    let rounds = Rounds::all(2);
    for block in [
        [1, 1, 1],
        [31, 1, 1],
        [33, 1, 1],
        [1024, 1, 1],
        [7, 5, 3],
        [1, 1, 64],
        [1, 1023, 1],
        [3, 11, 31],
    ] {
        for grid in [[3, 1, 1], [2, 3, 2]] {
            let shape = Shape::new(grid, block);
            for name in ["warp_cycles", "thread_cycles", "when_globaltimer", "warp_group_cycles"] {
                for slots in [Slots::Linear, Slots::Claimed] {
                    let kernel = kernel(name);
                    let builder = builder()
                        .records_per_warp(2)
                        .records_per_lane(2)
                        .slots(slots)
                        .max_warps(shape.warps());
                    let trace = record(&backend, builder, kernel, shape, rounds);
                    kernel.check(&trace, shape, rounds);
                    assert_eq!(trace.lost(), 0, "{shape:?}: {}", trace.diagnostics);
                }
            }
            if !setting.is_gpu() {
                break;
            }
        }
    }
}

/// A few warps of a few blocks of large grids, in little memory.
pub(crate) fn selections(setting: Setting) {
    let backend = setting.backend();
    let grid = setting.either([13, 5, 3], [1024, 256, 4]);
    let shape = Shape::new(grid, [7, 5, 3]);
    let kernel = kernel("warp_cycles");
    let rounds = Rounds::all(3);
    let blocks = shape.blocks();
    for (first, count, stride, mask) in [
        (0, 4, 1, u32::MAX),
        (blocks - 3, 3, 1, 0b1010),
        (5, 7, 19, 0b0001),
        (1, 2, 97, 1 << 3),
        // Of these blocks, only the first is there.
        (blocks - 1, 8, 2, u32::MAX),
    ] {
        for slots in [Slots::Linear, Slots::Claimed] {
            let builder = builder()
                .blocks(first..first + count)
                .block_stride(stride)
                .warp_mask(mask)
                .slots(slots)
                .records_per_warp(3)
                .max_warps(32);
            let trace = record(&backend, builder, kernel, shape, rounds);
            assert_eq!(trace.launches.len(), 1);
            check_identity(&trace, &trace.launches[0], shape, |block, warp| {
                let after = block.wrapping_sub(first);
                let is_counted = after.is_multiple_of(stride) && after / stride < count;
                block >= first && is_counted && mask >> warp & 1 == 1
            });
            for warp in &trace.warps {
                kernel.check_warp(&trace, warp, shape, rounds);
            }
            assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
        }
    }
}

/// Warps that leave before they record anything, or in the middle of a region.
pub(crate) fn warps_that_leave(setting: Setting) {
    let backend = setting.backend();
    let shape = Shape::new([setting.either(3, 500), 1, 1], [7 * 32 - 9, 1, 1]);
    for slots in [Slots::Linear, Slots::Claimed] {
        let mut output = output(&backend, shape);
        let pointer = output.as_mut_ptr();
        let builder = builder().slots(slots).records_per_warp(5).max_warps(shape.warps());
        let mut session = session(&backend, builder);
        let Shape { grid, block } = shape;
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::warps_leave<<<grid, block>>>(pointer, 4)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        check_identity(&trace, &trace.launches[0], shape, |_, _| true);
        assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
        for warp in &trace.warps {
            // The last warp closes the region that it leaves from.
            let expected = [4, 0, 4, 0, 4, 0, 2][warp.warp as usize];
            assert_eq!(warp.recorded, expected, "{warp:?}");
            assert_eq!(warp.regions.len() as u64, expected, "{warp:?}");
            assert!(warp.regions.iter().all(|region| region.end.is_some()), "{warp:?}");
            assert!(warp.exit.is_some(), "{warp:?}");
        }
        let rounds = |thread: usize| [4, 0, 4, 0, 4, 0, 0][thread % shape.block[0] as usize / 32];
        let computed = output.read().expect("the results");
        assert!(computed.iter().enumerate().all(|(thread, &done)| done == rounds(thread)));
    }
}

/// Lanes that leave before the others, lane 0 among them.
pub(crate) fn lanes_that_leave(setting: Setting) {
    const ROUNDS: u32 = 20;
    let backend = setting.backend();
    let shape = Shape::new([setting.either(2, 300), 1, 1], [3 * 32 - 5, 1, 1]);
    let Shape { grid, block } = shape;
    for slots in [Slots::Linear, Slots::Claimed] {
        let mut output = output(&backend, shape);
        let pointer = output.as_mut_ptr();
        let builder = || {
            let builder = builder().slots(slots).max_warps(shape.warps());
            builder.records_per_warp(ROUNDS + 1).records_per_lane(ROUNDS + 1)
        };
        let mut session = session(&backend, builder());
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::lanes_leave<<<grid, block>>>(pointer, ROUNDS)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        check_identity(&trace, &trace.launches[0], shape, |_, _| true);
        assert_eq!(trace.lost(), 0, "{}", trace.diagnostics);
        for warp in &trace.warps {
            for lane in 0..shape.lanes(warp.warp) {
                let count =
                    warp.regions.iter().filter(|region| u32::from(region.lane) == lane).count();
                // In round `lane` the region is closed by leaving.
                let expected = match lane {
                    lane if lane < kernels::LEAVING_LANES => 0,
                    lane => ROUNDS.min(lane + 1),
                };
                assert_eq!(count as u32, expected, "lane {lane} of {warp:?}");
            }
        }

        let mut session = crate::setting::session(&backend, builder());
        // SAFETY: one number a thread.
        unsafe { launch!(session, kernels::elected_of_the_rest<<<grid, block>>>(pointer, ROUNDS)) }
            .expect("the launch");
        let trace = session.finish().expect("a trace");
        check_identity(&trace, &trace.launches[0], shape, |_, _| true);
        for warp in &trace.warps {
            // Hardware that lets lanes of a warp run apart elects more than one.
            let sum = warp.recorded + warp.lost;
            let expected = u64::from(ROUNDS);
            let right = sum == expected || setting.is_gpu() && sum > expected;
            assert!(right, "{warp:?}");
            let from_the_rest = |lane: u8| u32::from(lane) >= kernels::LEAVING_LANES;
            assert!(warp.regions.iter().all(|region| from_the_rest(region.lane)), "{warp:?}");
        }
    }
}
