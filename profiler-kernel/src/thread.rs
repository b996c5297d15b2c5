//! Indices of threads and blocks, and barriers of the block.

use crate::platform;

forward! {
    /// The thread's index in its block (`%tid.x`).
    #[must_use]
    fn thread_idx_x() -> u32 = platform::thread_idx::<0>;

    /// The thread's index in its block (`%tid.y`).
    #[must_use]
    fn thread_idx_y() -> u32 = platform::thread_idx::<1>;

    /// The thread's index in its block (`%tid.z`).
    #[must_use]
    fn thread_idx_z() -> u32 = platform::thread_idx::<2>;

    /// The block's index in the grid (`%ctaid.x`).
    #[must_use]
    fn block_idx_x() -> u32 = platform::block_idx::<0>;

    /// The block's index in the grid (`%ctaid.y`).
    #[must_use]
    fn block_idx_y() -> u32 = platform::block_idx::<1>;

    /// The block's index in the grid (`%ctaid.z`).
    #[must_use]
    fn block_idx_z() -> u32 = platform::block_idx::<2>;

    /// Threads of a block (`%ntid.x`).
    #[must_use]
    fn block_dim_x() -> u32 = platform::block_dim::<0>;

    /// Threads of a block (`%ntid.y`).
    #[must_use]
    fn block_dim_y() -> u32 = platform::block_dim::<1>;

    /// Threads of a block (`%ntid.z`).
    #[must_use]
    fn block_dim_z() -> u32 = platform::block_dim::<2>;

    /// Blocks of the grid (`%nctaid.x`).
    #[must_use]
    fn grid_dim_x() -> u32 = platform::grid_dim::<0>;

    /// Blocks of the grid (`%nctaid.y`).
    #[must_use]
    fn grid_dim_y() -> u32 = platform::grid_dim::<1>;

    /// Blocks of the grid (`%nctaid.z`).
    #[must_use]
    fn grid_dim_z() -> u32 = platform::grid_dim::<2>;
}

/// The thread's index in a one-dimensional grid: `block_idx_x * block_dim_x + thread_idx_x`.
#[must_use]
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Two coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec2 {
    /// The first, along which neighbours lie.
    pub x: u32,
    /// The second.
    pub y: u32,
}

/// Three coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UVec3 {
    /// The first, along which neighbours lie.
    pub x: u32,
    /// The second.
    pub y: u32,
    /// The third.
    pub z: u32,
}

/// The thread's index in a two-dimensional grid: of each axis, `block_idx * block_dim + thread_idx`.
#[must_use]
#[inline(always)]
pub fn index_2d() -> UVec2 {
    UVec2 { x: index_1d(), y: block_idx_y() * block_dim_y() + thread_idx_y() }
}

/// The thread's index in a three-dimensional grid: of each axis, `block_idx * block_dim + thread_idx`.
#[must_use]
#[inline(always)]
pub fn index_3d() -> UVec3 {
    let UVec2 { x, y } = index_2d();
    UVec3 { x, y, z: block_idx_z() * block_dim_z() + thread_idx_z() }
}

/// The thread's linear index in its block, x first.
#[must_use]
#[inline(always)]
pub fn thread_rank() -> u32 {
    (thread_idx_z() * block_dim_y() + thread_idx_y()) * block_dim_x() + thread_idx_x()
}

forward! {
    /// Waits for all threads of the block, and makes their memory accesses before it visible to all
    /// after it (`bar.sync 0`).
    ///
    /// All threads of the block that have not left the kernel must come to the same call; otherwise a
    /// GPU hangs, and the twin reports a deadlock.
    fn sync_threads() = platform::sync_threads;
}

/// [`sync_threads`] that gives every thread the number of threads for which `predicate` holds
/// (`bar.red.popc.u32`).
///
/// On the twin, this and its two siblings take 4 bytes of the block's shared memory.
#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    platform::sync_threads_count(predicate.into())
}

/// [`sync_threads`] that tells every thread whether `predicate` holds for all (`bar.red.and.pred`).
#[inline(always)]
pub fn sync_threads_and(predicate: bool) -> bool {
    platform::sync_threads_and(predicate.into()) != 0
}

/// [`sync_threads`] that tells every thread whether `predicate` holds for any (`bar.red.or.pred`).
#[inline(always)]
pub fn sync_threads_or(predicate: bool) -> bool {
    platform::sync_threads_or(predicate.into()) != 0
}

forward! {
    /// Waits at barrier `id` until `count` threads have arrived, and makes their memory accesses before
    /// it visible to those that waited (`bar.sync`).
    ///
    /// # Safety
    ///
    /// `id` is less than 16, `count` is a multiple of 32 and the same for all threads that use the
    /// barrier at the time, and all lanes of a warp come together (PTX ISA, "bar").
    [unsafe] fn barrier_sync(id: u32, count: u32) = platform::barrier_sync;

    /// Arrives at barrier `id` without waiting; `count` counts this warp too (`bar.arrive`).
    ///
    /// # Safety
    ///
    /// As for [`barrier_sync`].
    [unsafe] fn barrier_arrive(id: u32, count: u32) = platform::barrier_arrive;

    /// An acquire and release fence for the threads of the block (`fence.acq_rel.cta`).
    fn block_fence() = platform::block_fence;

    /// An acquire and release fence for the threads of the device (`fence.acq_rel.gpu`).
    fn device_fence() = platform::device_fence;

    /// An acquire and release fence for the threads of all devices and of the host (`fence.acq_rel.sys`).
    fn system_fence() = platform::system_fence;
}
