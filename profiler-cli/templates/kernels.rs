#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx, asm_experimental_arch))]
#![cfg_attr(target_arch = "nvptx64", allow(unused_features))]

use profiler_device::{profile_region, profiled};
use profiler_kernel::{thread, warp};

/// Sums each row of a matrix; one warp takes one row.
///
/// # Safety
///
/// `matrix` must be valid for a row of `columns` numbers, a multiple of 32, for each warp of the
/// launch, and `sums` for one number for each.
#[profiled]
pub unsafe extern "ptx-kernel" fn sum_rows(matrix: *const f32, sums: *mut f32, columns: u32) {
    let (row, lane) = (thread::index_1d() / 32, warp::lane_id());
    let mut sum = 0.0;
    let mut column = lane;
    while column < columns {
        let at = row as usize * columns as usize + column as usize;
        // `wait`: the region ends when the number has arrived, not when the load was issued.
        // SAFETY: column < columns, and the matrix has this row.
        let number = profile_region!("load", wait, { unsafe { *matrix.add(at) } });
        sum += number;
        column += 32;
    }
    profile_region!("reduce", {
        // SAFETY: all lanes of the warp are here.
        let sum = unsafe { warp::reduce(sum, |a, b| a + b) };
        if lane == 0 {
            // SAFETY: sums has a number for each row.
            unsafe { *sums.add(row as usize) = sum };
        }
    });
}
