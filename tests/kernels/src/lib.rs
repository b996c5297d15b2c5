//! The kernels of the tests, by feature: a module of PTX has those of one, and a program on the host
//! the twins of all that have some.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]
#![cfg_attr(
    all(
        target_arch = "nvptx64",
        any(
            feature = "barriers",
            feature = "collectives",
            feature = "declared",
            feature = "intrinsics",
            feature = "stamps",
            feature = "strategies"
        )
    ),
    feature(asm_experimental_arch)
)]
// Lints of a whole crate; `linted` denies the others.
#![cfg_attr(
    feature = "linted",
    deny(future_incompatible, non_ascii_idents, rust_2021_compatibility, rust_2024_compatibility)
)]

#[cfg(feature = "abuse")]
pub mod abuse;
#[cfg(all(target_arch = "nvptx64", feature = "annotated"))]
pub mod annotated;
#[cfg(feature = "barriers")]
pub mod barriers;
#[cfg(all(target_arch = "nvptx64", feature = "collectives"))]
pub mod collectives;
#[cfg(all(target_arch = "nvptx64", feature = "declared"))]
pub mod declared;
#[cfg(any(feature = "abuse", feature = "watched"))]
pub mod every_strategy;
#[cfg(feature = "functions")]
pub mod functions;
#[cfg(feature = "intrinsics")]
pub mod intrinsics;
#[cfg(feature = "linted")]
pub mod linted;
#[cfg(all(target_arch = "nvptx64", feature = "stamps"))]
pub mod stamps;
#[cfg(feature = "strategies")]
pub mod strategies;
#[cfg(feature = "thousand")]
pub mod thousand;
#[cfg(feature = "watched")]
pub mod watched;

/// Writes the numbers of a thread.
///
/// # Safety
///
/// `output` must be valid for `COUNT` numbers a thread.
#[cfg(any(feature = "functions", feature = "intrinsics"))]
#[inline(always)]
unsafe fn write<T, const COUNT: usize>(output: *mut T, thread: usize, numbers: [T; COUNT]) {
    // SAFETY: the caller's.
    unsafe { output.cast::<[T; COUNT]>().add(thread).write(numbers) };
}

/// A kernel whose only sites that lanes other than lane 0 record at are anchors: they alone say that all
/// lanes need buffers.
#[cfg(feature = "anchors")]
#[forbid(unsafe_code)]
pub mod anchors {
    use profiler_device::{profile_anchor, profiled};
    use profiler_kernel::thread;

    /// The lane that takes the last anchor.
    pub const LANE: u32 = 3;

    /// An anchor by an elected lane, one by each lane, and one by lane [`LANE`]; `rounds` of each.
    #[profiled]
    pub extern "ptx-kernel" fn anchored(rounds: u32) {
        let mut round = 0;
        while round < rounds {
            profile_anchor!(by = elected);
            profile_anchor!(by = thread);
            profile_anchor!(by = when(thread::thread_idx_x() % 32 == LANE));
            round += 1;
        }
    }
}

/// A kernel without annotations: what `annotated` must become when profiling is off.
#[cfg(all(target_arch = "nvptx64", feature = "plain"))]
pub mod plain {
    use profiler_kernel::thread;

    /// Scales `n` numbers, some of them in a loop.
    ///
    /// # Safety
    ///
    /// `input` and `output` must be valid for `n` numbers.
    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn scale(
        input: *const f32,
        output: *mut f32,
        n: u32,
        rounds: u32,
    ) {
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
}
