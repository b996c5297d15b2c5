//! Asynchronous copies, mbarriers and matrix operations against plain references.

use crate::common;

use common::{Global, run};
use profiler_kernel::shared::dynamic_shared;
use profiler_kernel::warp::lane_id;
use profiler_kernel::{copy, mbarrier, mma, shared_array, thread, warp};

shared_array!(static TILE: [u16; 256], align = 128);
shared_array!(static STAGES: [u32; 256], align = 16);
shared_array!(static BARRIERS: [u64; 4], align = 8);

#[test]
fn copies_arrive_group_by_group_and_not_before_the_wait() {
    let source = Global::new(std::array::from_fn::<u32, 16, _>(|i| i as u32));
    run(1, 1, || {
        let target = dynamic_shared();
        // SAFETY: 64 bytes on either side, aligned to 16; each word is read while no copy to it is
        // under way, but for the words that show that the copy has not arrived.
        unsafe {
            let word = |index: usize| target.cast::<u32>().add(index).read();
            for group in 0..3 {
                let at = 16 * group;
                copy::cp_async_16(target.add(at), source.as_mut_ptr().cast::<u8>().add(at));
                copy::cp_async_commit();
            }
            assert_eq!([word(0), word(4), word(8)], [u32::MAX; 3]);
            copy::cp_async_wait::<1>();
            assert_eq!([word(3), word(7), word(8)], [3, 7, u32::MAX]);
            copy::cp_async_wait::<0>();
            assert_eq!([word(8), word(11), word(12)], [8, 11, u32::MAX]);
        }
    })
    .unwrap();
}

#[test]
fn a_misaligned_copy_is_an_error() {
    let source = Global::new([0u8; 32]);
    // SAFETY: the misalignment is what the twin checks.
    let error = run(1, 1, || unsafe {
        copy::cp_async_16(dynamic_shared(), source.as_mut_ptr().add(8));
    });
    assert!(error.unwrap_err().to_string().contains("aligned to 16"));
}

#[test]
fn a_pipeline_of_stages_passes_every_tile_once() {
    const TURNS: usize = 9;
    let source = Global::new(std::array::from_fn::<u32, { TURNS * 128 }, _>(|i| i as u32));
    let sums = Global::new([0u32; 32]);
    run(1, 64, || {
        // SAFETY: barriers 0 and 1 say that a stage is full, 2 and 3 that it is empty; each expects
        // the 32 lanes of one warp. A stage is 128 words; lane i copies and reads words 4i to 4i+3.
        unsafe {
            let full = BARRIERS.as_mut_ptr();
            let empty = full.add(2);
            if thread::thread_rank() < 4 {
                mbarrier::init(full.add(thread::thread_rank() as usize), 32);
            }
            thread::sync_threads();
            for turn in 0..TURNS {
                let (stage, parity) = (turn % 2, (turn / 2 % 2) as u32);
                let mine = STAGES.as_mut_ptr().add(stage * 128 + 4 * lane_id() as usize);
                if warp::warp_id() == 0 {
                    mbarrier::wait_parity(empty.add(stage), parity ^ 1);
                    let from = source.as_mut_ptr().add(turn * 128 + 4 * lane_id() as usize);
                    copy::cp_async_16(mine.cast(), from.cast());
                    copy::cp_async_arrive(full.add(stage));
                } else {
                    mbarrier::wait_parity(full.add(stage), parity);
                    let lane = lane_id() as usize;
                    sums.set(lane, sums.get(lane) + mine.cast::<[u32; 4]>().read()[turn % 4]);
                    mbarrier::arrive(empty.add(stage));
                }
            }
            thread::sync_threads();
            if thread::thread_rank() < 4 {
                mbarrier::invalidate(full.add(thread::thread_rank() as usize));
            }
        }
    })
    .unwrap();
    for (lane, sum) in sums.into_inner().into_iter().enumerate() {
        let expected: usize = (0..TURNS).map(|turn| turn * 128 + 4 * lane + turn % 4).sum();
        assert_eq!(sum as usize, expected);
    }
}

#[test]
fn phases_alternate() {
    run(1, 1, || {
        let barrier = BARRIERS.as_mut_ptr();
        // SAFETY: one thread; the mbarrier is initialised first.
        unsafe {
            let complete = || [0, 1].map(|parity| mbarrier::try_wait_parity(barrier, parity));
            mbarrier::init(barrier, 2);
            for _ in 0..3 {
                assert_eq!(complete(), [false, true]);
                mbarrier::arrive(barrier);
                assert_eq!(complete(), [false, true]);
                mbarrier::arrive(barrier);
                assert_eq!(complete(), [true, false]);
                mbarrier::arrive(barrier);
                mbarrier::arrive(barrier);
            }
        }
    })
    .unwrap();
}

#[test]
fn misuse_of_an_mbarrier_is_an_error() {
    // SAFETY: the misuse is what the twin checks.
    let unready = run(1, 1, || unsafe { mbarrier::arrive(BARRIERS.as_mut_ptr()) });
    assert!(unready.unwrap_err().to_string().contains("before mbarrier::init"));
    // SAFETY: as above.
    let forever = run(1, 1, || unsafe {
        mbarrier::init(BARRIERS.as_mut_ptr(), 1);
        mbarrier::wait_parity(BARRIERS.as_mut_ptr(), 0);
    });
    assert!(forever.unwrap_err().to_string().contains("livelock"));
}

#[test]
fn conversion_to_bf16_rounds_to_nearest_even() {
    for (value, bits) in [
        (1.0f32, 0x3f80),
        (-2.5, 0xc020),
        (f32::from_bits(0x3f80_8000), 0x3f80), // halfway, the lower is even
        (f32::from_bits(0x3f81_8000), 0x3f82), // halfway, the upper is even
        (f32::from_bits(0x3f80_8001), 0x3f81),
        (f32::from_bits(0x3f80_7fff), 0x3f80),
        (f32::MAX, 0x7f80),
        (f32::NEG_INFINITY, 0xff80),
        (f32::from_bits(0x0000_8001), 0x0001),
        (-0.0, 0x8000),
    ] {
        assert_eq!(mma::f32_to_bf16(value), bits, "{value}");
    }
    assert!(mma::bf16_to_f32(mma::f32_to_bf16(f32::NAN)).is_nan());
    for bits in 0..=u16::MAX {
        let value = mma::bf16_to_f32(bits);
        assert!(value.is_nan() || mma::f32_to_bf16(value) == bits);
    }
    assert_eq!(mma::pack_bf16(1.0, -2.5), 0xc020_3f80);
}

/// Fragments by the formulas of the PTX ISA: row and column of element i of a lane.
fn a_place(lane: usize, i: usize) -> (usize, usize) {
    let row = if i < 2 || (4..6).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
    (row, (lane % 4) * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
}
fn b_place(lane: usize, i: usize) -> (usize, usize) {
    ((lane % 4) * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, lane >> 2)
}
fn c_place(lane: usize, i: usize) -> (usize, usize) {
    ((lane >> 2) + if i < 2 { 0 } else { 8 }, (lane % 4) * 2 + (i & 1))
}

fn small(row: usize, column: usize, seed: usize) -> f32 {
    ((row * 7 + column * 3 + seed) % 11) as f32 - 5.0
}

#[test]
fn mma_multiplies_matrices() {
    let results = Global::new([0.0f32; 128]);
    run(1, 32, || {
        let lane = lane_id() as usize;
        let at = |(row, column): (usize, usize), seed| small(row, column, seed);
        let a = std::array::from_fn(|word| {
            mma::pack_bf16(at(a_place(lane, 2 * word), 0), at(a_place(lane, 2 * word + 1), 0))
        });
        let b = std::array::from_fn(|word| {
            mma::pack_bf16(at(b_place(lane, 2 * word), 4), at(b_place(lane, 2 * word + 1), 4))
        });
        let c = std::array::from_fn(|i| at(c_place(lane, i), 9));
        // SAFETY: all lanes come here.
        let d = unsafe { mma::mma_m16n8k16_bf16(a, b, c) };
        for (i, value) in d.into_iter().enumerate() {
            let (row, column) = c_place(lane, i);
            results.set(row * 8 + column, value);
        }
    })
    .unwrap();
    for row in 0..16 {
        for column in 0..8 {
            let product: f32 = (0..16).map(|k| small(row, k, 0) * small(k, column, 4)).sum();
            let expected = product + small(row, column, 9);
            assert_eq!(results.get(row * 8 + column), expected, "{row} {column}");
        }
    }
}

#[test]
fn ldmatrix_loads_fragments_and_their_transposes() {
    run(1, 32, || {
        let lane = lane_id() as usize;
        // SAFETY: 32 rows of 8 elements; each lane writes its own row, and all read after the
        // barrier.
        unsafe {
            for column in 0..8 {
                TILE.write(lane * 8 + column, (lane * 8 + column) as u16);
            }
            thread::sync_threads();
            let row = TILE.as_mut_ptr().add(lane * 8).cast::<u8>();
            let (plain, turned) = (mma::ldmatrix_x4(row), mma::ldmatrix_x4_trans(row));
            for matrix in 0..4 {
                let element = |row: usize, column: usize| (matrix * 64 + row * 8 + column) as u32;
                let (g, t) = (lane / 4, 2 * (lane % 4));
                assert_eq!(plain[matrix], element(g, t) | element(g, t + 1) << 16);
                assert_eq!(turned[matrix], element(t, g) | element(t + 1, g) << 16);
            }
        }
    })
    .unwrap();
}
