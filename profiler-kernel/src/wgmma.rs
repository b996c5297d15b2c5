//! Matrix operations of a warp group, from shared memory (PTX ISA, "Asynchronous Warpgroup Level
//! Matrix Instructions").
//!
//! The tensor cores read both factors from shared memory by themselves and add to sums that lie in
//! registers of the four warps. A round is: [`fence`], any number of products such as
//! [`m64n256k16_bf16`], [`commit`]; the sums may be touched again after [`wait`].
//!
//! Needs `sm_90a`. There is no twin: on the CPU these functions fail the launch.
//!
//! # Safety of all functions
//!
//! All 128 threads of the warp group come to the same call together.

use crate::hopper;

/// The count of numbers that a thread holds of a warp group's 64 x 256 sums.
pub const SUMS: usize = 128;

/// Sums to begin with. A constant, since the compiler fills `[0.0; SUMS]` in a loop, and an array
/// that a loop walks over does not stay in registers.
pub const ZEROS: [f32; SUMS] = [0.0; SUMS];

/// The place and layout of a factor in shared memory (PTX ISA, "Matrix Descriptor").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Factor(u64);

impl Factor {
    /// Layout "128-byte swizzle", in the descriptor's top two bits.
    const SWIZZLE_128: u64 = 1 << 62;
    /// Bytes from eight rows of 128 bytes to the next eight, without the lowest four bits.
    const EIGHT_ROWS: u64 = ((8 * 128) >> 4) << 32;
    /// The other distance means nothing to a swizzled layout along K, and is set to 1.
    const UNUSED_DISTANCE: u64 = 1 << 16;
    /// The bits of the address, without its lowest four.
    const ADDRESS_MASK: u64 = 0x3fff;

    /// A factor whose rows lie along K: 64 elements of 16 bits a row, rows after each other with
    /// the 128-byte swizzle of [`tma`](crate::tma). `tile` points to its first row, whose address in
    /// shared memory is a multiple of 1024; a later row that is a multiple of 8 begins a factor too.
    #[must_use]
    #[inline(always)]
    pub fn along_k(tile: *const u8) -> Self {
        let address = (u64::from(hopper::shared_address(tile)) >> 4) & Self::ADDRESS_MASK;
        Self(Self::SWIZZLE_128 | Self::EIGHT_ROWS | Self::UNUSED_DISTANCE | address)
    }

    /// The factor `bytes` bytes further on: a multiple of 1024 bytes for another tile or other rows,
    /// or 32 bytes for the next 16 elements along K.
    #[must_use]
    #[inline(always)]
    pub const fn advanced(self, bytes: u32) -> Self {
        // Shared memory ends below 2^18 bytes, so that the address never carries into other fields.
        Self(self.0 + (bytes >> 4) as u64)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

forward! {
    /// Orders what the threads did to their sums before with the products that follow
    /// (`wgmma.fence.sync.aligned`).
    ///
    /// # Safety
    ///
    /// See [the module](self).
    [unsafe] fn fence() = hopper::wgmma_fence;
}

/// Starts adding the 64 x 256 product of 16 columns of A and 16 of the transposed B, both bf16, to
/// `sums` (`wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16`).
///
/// `a` has 64 rows and `b` 256, both along K. With w = warp mod 4, g = lane / 4 and t = lane mod 4 a
/// thread holds, for j from 0 to 31, `sums[4j]` and `sums[4j + 1]`: row 16w + g, columns 8j + 2t and
/// 8j + 2t + 1; `sums[4j + 2]` and `sums[4j + 3]`: row 16w + g + 8, the same columns (PTX ISA, "WGMMA
/// .m64nNk16 register fragment layout for accumulator matrix D").
///
/// # Safety
///
/// See [the module](self). Both factors lie in shared memory, visible to the asynchronous proxy, and
/// stay as they are until [`wait`] says that the product is complete; until then nobody reads or
/// writes `sums` but further products of the same shape.
#[inline(always)]
pub unsafe fn m64n256k16_bf16(sums: &mut [f32; SUMS], a: Factor, b: Factor) {
    // SAFETY: the caller's promise.
    unsafe { hopper::wgmma_m64n256k16_bf16(sums, a.bits(), b.bits()) };
}

forward! {
    /// Closes the products since the last call into a group (`wgmma.commit_group.sync.aligned`).
    ///
    /// # Safety
    ///
    /// See [the module](self).
    [unsafe] fn commit() = hopper::wgmma_commit;

    /// Waits until all but the newest `PENDING` groups are complete (`wgmma.wait_group.sync.aligned`).
    /// With `PENDING` 0, `sums` may be used after it.
    ///
    /// # Safety
    ///
    /// See [the module](self); `sums` is what the products add to.
    [unsafe] fn wait<const PENDING: usize>(sums: &mut [f32; SUMS]) = hopper::wgmma_wait::<PENDING>;
}
