//! A kernel without annotations: what `annotated` must become when profiling is off.

use profiler_kernel::thread;

/// Scales `n` numbers, some of them in a loop.
///
/// # Safety
///
/// `input` and `output` must be valid for `n` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn scale(input: *const f32, output: *mut f32, n: u32, rounds: u32) {
    let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if index >= n {
        return;
    }
    // SAFETY: index < n.
    let mut value = unsafe { *input.add(index as usize) };
    let mut round = 0;
    while round < rounds {
        value = helper(value, round);
        round += 1;
    }
    // SAFETY: index < n.
    unsafe { *output.add(index as usize) = value };
}

#[inline(always)]
fn helper(value: f32, round: u32) -> f32 {
    value * 1.5 + round as f32
}
