//! Names of `core::arch::nvptx` and of `cuda_std::thread`, so that kernels written with them compile after a change
//! of their `use` lines.
//!
//! | in place of | |
//! |---|---|
//! | `use core::arch::nvptx::*;` | `use profiler_kernel::shim::nvptx::*;` |
//! | `use cuda_std::thread;` | `use profiler_kernel::shim::thread;` |
//!
//! The functions of `core` that call into the driver (`vprintf`, `malloc`, `free`, `__assert_fail`) and the packed
//! arithmetic have no counterpart, nor has `cuda_std::thread::nanosleep`: a loop that waits goes through
//! [`spin_until`](crate::atomic::spin_until).

/// The functions of `core::arch::nvptx`. They are `unsafe` there, and so here.
pub mod nvptx {
    use crate::{platform, thread};

    macro_rules! aliases {
        ($($name:ident: $of:ident -> $result:ty;)*) => {$(
            #[doc = concat!("[`thread::", stringify!($of), "`].")]
            ///
            /// # Safety
            ///
            /// None but what the function of `thread` says.
            #[inline(always)]
            pub unsafe fn $name() -> $result {
                thread::$of()
            }
        )*};
    }

    aliases! {
        _syncthreads: sync_threads -> ();
        _thread_idx_x: thread_idx_x -> u32;
        _thread_idx_y: thread_idx_y -> u32;
        _thread_idx_z: thread_idx_z -> u32;
        _block_idx_x: block_idx_x -> u32;
        _block_idx_y: block_idx_y -> u32;
        _block_idx_z: block_idx_z -> u32;
        _block_dim_x: block_dim_x -> u32;
        _block_dim_y: block_dim_y -> u32;
        _block_dim_z: block_dim_z -> u32;
        _grid_dim_x: grid_dim_x -> u32;
        _grid_dim_y: grid_dim_y -> u32;
        _grid_dim_z: grid_dim_z -> u32;
    }

    /// Ends the launch with an error (`trap`).
    ///
    /// # Safety
    ///
    /// None; it does not return.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn trap() -> ! {
        platform::trap()
    }
}

/// The functions of `cuda_std::thread`: those of [`crate::thread`], and more.
pub mod thread {
    use crate::thread as own;

    pub use crate::thread::{
        UVec2, UVec3, block_dim_x, block_dim_y, block_dim_z, block_idx_x, block_idx_y, block_idx_z,
        device_fence, device_fence as grid_fence, grid_dim_x, grid_dim_y, grid_dim_z, index_1d,
        index_2d, index_3d, sync_threads, system_fence, thread_idx_x, thread_idx_y, thread_idx_z,
    };

    /// The thread's index in its block.
    #[must_use]
    #[inline(always)]
    pub fn thread_idx() -> UVec3 {
        UVec3 { x: thread_idx_x(), y: thread_idx_y(), z: thread_idx_z() }
    }

    /// The block's index in the grid.
    #[must_use]
    #[inline(always)]
    pub fn block_idx() -> UVec3 {
        UVec3 { x: block_idx_x(), y: block_idx_y(), z: block_idx_z() }
    }

    /// Threads of a block, by axis.
    #[must_use]
    #[inline(always)]
    pub fn block_dim() -> UVec3 {
        UVec3 { x: block_dim_x(), y: block_dim_y(), z: block_dim_z() }
    }

    /// Blocks of the grid, by axis.
    #[must_use]
    #[inline(always)]
    pub fn grid_dim() -> UVec3 {
        UVec3 { x: grid_dim_x(), y: grid_dim_y(), z: grid_dim_z() }
    }

    /// The thread's linear index in the grid: the threads of block 0 first, and of each, x first.
    #[must_use]
    #[inline(always)]
    pub fn index() -> u32 {
        let UVec3 { x, y, z } = block_idx();
        let block = (z * grid_dim_y() + y) * grid_dim_x() + x;
        block * (block_dim_x() * block_dim_y() * block_dim_z()) + own::thread_rank()
    }

    /// Whether this is the first thread of the grid.
    #[must_use]
    #[inline(always)]
    pub fn first() -> bool {
        block_idx() == UVec3::default() && thread_idx() == UVec3::default()
    }

    /// Lanes of a warp.
    #[must_use]
    #[inline(always)]
    pub fn warp_size() -> u32 {
        32
    }

    /// [`crate::thread::sync_threads_count`] of whether a number is not 0.
    #[inline(always)]
    pub fn sync_threads_count(predicate: u32) -> u32 {
        own::sync_threads_count(predicate != 0)
    }

    /// [`crate::thread::sync_threads_and`] of whether a number is not 0: 1 or 0.
    #[inline(always)]
    pub fn sync_threads_and(predicate: u32) -> u32 {
        own::sync_threads_and(predicate != 0).into()
    }

    /// [`crate::thread::sync_threads_or`] of whether a number is not 0: 1 or 0.
    #[inline(always)]
    pub fn sync_threads_or(predicate: u32) -> u32 {
        own::sync_threads_or(predicate != 0).into()
    }
}
