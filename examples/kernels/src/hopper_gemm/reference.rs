//! A product that is simple enough to be right, for comparison.

use profiler_device::profiled;
use profiler_kernel::math::fma;
use profiler_kernel::mma::bf16_to_f32;
use profiler_kernel::thread;

/// Rows and columns of C that a block of [`reference()`] computes, an element a thread.
pub const REFERENCE_TILE: u32 = 32;

/// Elements that are read at once.
const AT_ONCE: u32 = 8;

/// Elements of a row that lie after each other.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Elements([u16; AT_ONCE as usize]);

/// C = A x B for matrices of bf16 with sums and result in f32, one element a thread; A is `m` x `k`
/// and B is given transposed, `n` x `k`.
///
/// Blocks have [`REFERENCE_TILE`] x [`REFERENCE_TILE`] threads, and the grid as many as cover C.
///
/// # Safety
///
/// The matrices are stored row by row without gaps, A and B aligned to 16 bytes; `k` is a multiple
/// of 8; `m`, `n` and `k` are at most 2^24.
#[profiled(enabled = false)]
pub unsafe extern "ptx-kernel" fn reference(
    a: *const u16,
    b: *const u16,
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
) {
    let row = thread::block_idx_y() * REFERENCE_TILE + thread::thread_idx_y();
    let column = thread::block_idx_x() * REFERENCE_TILE + thread::thread_idx_x();
    if row >= m || column >= n {
        return;
    }
    let mut sum = 0.0;
    let mut inner = 0;
    while inner < k {
        // SAFETY: row < m, column < n, inner + 8 <= k; rows begin at multiples of 16 bytes.
        let (Elements(a), Elements(b)) = unsafe {
            (
                *a.add(row as usize * k as usize + inner as usize).cast::<Elements>(),
                *b.add(column as usize * k as usize + inner as usize).cast::<Elements>(),
            )
        };
        for (&a, &b) in a.iter().zip(&b) {
            sum = fma(bf16_to_f32(a), bf16_to_f32(b), sum);
        }
        inner += AT_ONCE;
    }
    // SAFETY: row < m and column < n.
    unsafe { *c.add(row as usize * n as usize + column as usize) = sum };
}
