//! Asynchronous copies, mbarriers and matrix operations. Matrix products and pipelines of stages are those of the
//! repository's `tests` and `examples`.

use crate::common;

use common::{Global, run};
use profiler_kernel::shared::dynamic_shared;
use profiler_kernel::warp::lane_id;
use profiler_kernel::{copy, mbarrier, mma, shared_array, thread};

shared_array!(static TILE: [u16; 256], align = 128);
shared_array!(static BARRIERS: [u64; 1], align = 8);

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
