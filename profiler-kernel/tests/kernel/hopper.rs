//! What came with compute capability 9.0: `stmatrix` on the twin, and a clear error for what the
//! twin does not have.

use crate::common;

use common::{Global, run};
use profiler_kernel::warp::lane_id;
use profiler_kernel::{atomic, mbarrier, mma, shared_array, thread, tma, warp_group, wgmma};

shared_array!(static ROWS: [u16; 256], align = 128);
shared_array!(static BARRIER: [u64; 1], align = 8);

#[test]
fn stmatrix_stores_what_ldmatrix_loads() {
    let stored = Global::new([0_u16; 256]);
    let checked = Global::new([0_u32; 1]);
    run(1, 32, || {
        let lane = lane_id() as usize;
        let parts = std::array::from_fn(|matrix| {
            let element = |t: usize| (matrix * 64 + lane / 4 * 8 + 2 * (lane % 4) + t) as u32;
            element(0) | element(1) << 16
        });
        // Rows in another order: each lane's row must be where the lane says.
        let row = lane ^ 5;
        // SAFETY: 32 rows of 8 elements, one a lane, aligned to 16; all read after the barrier.
        // The count is only changed by atomics.
        unsafe {
            let address = ROWS.as_mut_ptr().add(row * 8).cast::<u8>();
            mma::stmatrix_x4(address, parts);
            thread::sync_threads();
            assert_eq!(mma::ldmatrix_x4(address), parts);
            atomic::atomic_add_u32(checked.as_mut_ptr(), 1);
            for column in 0..8 {
                stored.set(lane * 8 + column, ROWS.read(row * 8 + column));
            }
        }
    })
    .unwrap();
    assert_eq!(checked.get(0), 32, "every lane came to the end");
    assert_eq!(stored.into_inner(), std::array::from_fn(|index| index as u16));
}

#[test]
fn a_bounded_wait_returns_when_the_phase_is_complete() {
    run(1, 64, || {
        // SAFETY: one mbarrier, made before the block's barrier; the second warp arrives.
        unsafe {
            let barrier = BARRIER.as_mut_ptr();
            if thread::thread_rank() == 0 {
                mbarrier::init(barrier, 32);
            }
            thread::sync_threads();
            if thread::thread_rank() < 32 {
                mbarrier::wait_parity_or_trap(barrier, 0, 1);
            } else {
                mbarrier::arrive(barrier);
            }
        }
    })
    .unwrap();
}

#[test]
fn what_the_twin_has_not_fails_the_launch_and_says_why() {
    let map = tma::TensorMap::new([0; 16]);
    let mut barrier = 0_u64;
    let address = &raw mut barrier as usize;
    let uses: [(&str, &(dyn Fn() + Sync)); 5] = [
        // SAFETY: nothing of it is done.
        ("wgmma", &|| unsafe { wgmma::fence() }),
        // SAFETY: as above.
        ("a tensor map", &|| unsafe { tma::acquire(&raw const map) }),
        ("a tensor copy", &tma::commit_stores),
        // SAFETY: as above.
        ("setmaxnreg", &|| unsafe { warp_group::take_registers::<232>() }),
        // SAFETY: as above.
        ("mbarrier.arrive.expect_tx", &|| unsafe {
            mbarrier::arrive_expecting_bytes(std::ptr::with_exposed_provenance_mut(address), 16);
        }),
    ];
    for (what, used) in uses {
        let error = run(1, 1, used).expect_err("there is no twin").to_string();
        assert!(error.contains(what) && error.contains("compute capability 9.0"), "{error}");
    }
}
