//! Copies of tiles by the tensor memory accelerator (PTX ISA, "cp.async.bulk.tensor").
//!
//! One thread names a tile by its coordinates in a tensor; the hardware finds the addresses, fills
//! what lies outside of the tensor with zeros (and leaves it out when it stores), and lays the tile
//! out in shared memory as the tensor's map says. The host makes such a map with the driver's
//! `cuTensorMapEncodeTiled`.
//!
//! Needs `sm_90`, and [`acquire`] PTX 8.3. There is no twin: on the CPU these functions fail the
//! launch.
//!
//! # Swizzled rows
//!
//! With the map's 128-byte swizzle a tile has rows of 128 bytes, and the 16-byte chunk c of row r
//! lies where chunk c XOR (r mod 8) would, in a tile aligned to 1024. So eight chunks of one column
//! lie on all banks of shared memory, and [`wgmma`](crate::wgmma) reads them without conflicts.

use crate::hopper;

/// The driver's encoding of a tensor: its address, extents and strides, the box that a copy moves, and the
/// layout of the box in shared memory. 128 opaque bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct TensorMap {
    opaque: [u64; 16],
}

impl TensorMap {
    /// A map from what `cuTensorMapEncodeTiled` wrote.
    #[must_use]
    pub const fn new(opaque: [u64; 16]) -> Self {
        Self { opaque }
    }

    /// The words that the driver wrote.
    #[must_use]
    pub const fn words(&self) -> [u64; 16] {
        self.opaque
    }
}

forward! {
    /// Makes a map in global memory, which the host wrote before the launch, visible to the copies that
    /// the block starts after a barrier after it (`fence.proxy.tensormap::generic.acquire.sys`).
    ///
    /// # Safety
    ///
    /// `map` is valid for reads, and nobody writes it while the kernel runs.
    [unsafe] fn acquire(map: *const TensorMap) = hopper::acquire_tensor_map;

    /// Starts a copy of the box at `column` (the contiguous dimension) and `row`, in elements, from a
    /// tensor of two dimensions to shared memory. When it has arrived, the whole box's bytes are
    /// reported to the mbarrier, those outside of the tensor too.
    ///
    /// # Safety
    ///
    /// `map` is that of a tensor of two dimensions in global memory, and visible ([`acquire`]).
    /// `target` is shared memory for the box, aligned to 128, or to 1024 with the 128-byte swizzle;
    /// nobody accesses it until the phase of `barrier` that expects the bytes
    /// ([`arrive_expecting_bytes`](crate::mbarrier::arrive_expecting_bytes)) is complete. What the block
    /// itself wrote there before is ordered by [`fence`].
    [unsafe] fn load_2d(target: *mut u8, map: *const TensorMap, column: u32, row: u32, barrier: *mut u64) = hopper::tensor_load_2d;

    /// Starts a copy of a box in shared memory to `column` and `row` of a tensor; it belongs to the
    /// thread's next group of stores ([`commit_stores`]).
    ///
    /// # Safety
    ///
    /// As for [`load_2d`], with `source` for the target; what the box holds was made visible by
    /// [`fence`], and it stays as it is until [`wait_stores_read`] says that it has been read.
    [unsafe] fn store_2d(map: *const TensorMap, column: u32, row: u32, source: *const u8) = hopper::tensor_store_2d;

    /// Closes the thread's stores since the last call into a group (`cp.async.bulk.commit_group`).
    fn commit_stores() = hopper::commit_stores;

    /// Waits until all but the newest `PENDING` of the thread's groups of stores have read their shared
    /// memory (`cp.async.bulk.wait_group.read`).
    fn wait_stores_read<const PENDING: usize>() = hopper::wait_stores_read::<PENDING>;

    /// Makes what the thread did to shared memory, initialised mbarriers included, visible to copies of
    /// the tensor memory accelerator and to [`wgmma`](crate::wgmma) (`fence.proxy.async.shared::cta`).
    fn fence() = hopper::fence_async;
}
