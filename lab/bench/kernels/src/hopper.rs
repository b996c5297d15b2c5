//! Forms of a record by instructions that sm_90 brought: rings in shared memory that are copied out in
//! bulk, and one that is written by asynchronous stores.

use core::arch::asm;

use profiler_kernel::thread::sync_threads;
use profiler_kernel::{mbarrier, shared_array, tma};

use crate::WARP;
use crate::format::RING_RECORDS;
use crate::forms::{Buffer, Cursor, Form, Range, Ring, Words};
use crate::instructions::{Shared16All, clock64, lane, thread};
use crate::template::{Left, kernels};

/// Copies a warp's ring to its buffer by one instruction of one lane, once all warps of the block are
/// there, and gives the cycles until the ring may be used again.
///
/// # Safety
///
/// `ring` must be that of `bytes` bytes of shared memory and `buffer` of global memory, both aligned to
/// 16, both the calling warp's own; all threads of the block come here.
#[inline(always)]
unsafe fn copy_in_bulk(buffer: u64, ring: u32, bytes: u32, arrived: impl FnOnce()) -> u32 {
    // So that no flush is in the way of another warp's regions.
    sync_threads();
    let begin = clock64();
    if lane() == 0 {
        arrived();
        // What was stored is seen by the copy (PTX ISA, "Async proxy").
        tma::fence();
        // SAFETY: the caller's.
        unsafe {
            asm!(
                "cp.async.bulk.global.shared::cta.bulk_group [{buffer}], [{ring}], {bytes};",
                buffer = in(reg64) buffer,
                ring = in(reg32) ring,
                bytes = in(reg32) bytes,
                options(nostack, preserves_flags),
            );
        }
        tma::commit_stores();
        tma::wait_stores_read::<0>();
    }
    (clock64() - begin) as u32
}

/// A ring that is copied in bulk.
struct BulkRing(Ring);

impl Cursor for BulkRing {
    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        Self(Ring::new(buffer))
    }

    #[inline(always)]
    fn address(&self) -> u64 {
        self.0.address()
    }

    #[inline(always)]
    fn advance<const BYTES: u32>(&mut self) {
        self.0.advance::<BYTES>();
    }

    #[inline(always)]
    fn leave<const BYTES: u32>(self) -> u32 {
        let Self(Ring { lane_buffer, base, .. }) = self;
        // SAFETY: the warp's own ring and buffer, which are as large.
        unsafe { copy_in_bulk(lane_buffer.address, base, RING_RECORDS * BYTES, || ()) }
    }
}

/// Bytes of a ring of records of 16 bytes.
const RING_BYTES: u32 = RING_RECORDS * 16;

shared_array!(static BENCH_ASYNCHRONOUS_RINGS: [u64; 4096]);
const _: () = assert!(BENCH_ASYNCHRONOUS_RINGS.len() == (RING_BYTES * 32 / 8) as usize);
shared_array!(static BENCH_RING_BARRIERS: [u64; 32]);

/// The address in shared memory that a pointer is, in the block's own memory and, as asynchronous
/// stores want it, in that of the cluster.
#[inline(always)]
fn shared_addresses(pointer: *mut u64) -> (u32, u32) {
    let (of_block, of_cluster): (u32, u32);
    // SAFETY: arithmetic.
    unsafe {
        asm!(
            "{{ .reg .b64 %address; .reg .b32 %rank;",
            "cvta.to.shared.u64 %address, {pointer};",
            "cvt.u32.u64 {of_block}, %address;",
            "mov.u32 %rank, %cluster_ctarank;",
            "mapa.shared::cluster.u32 {of_cluster}, {of_block}, %rank; }}",
            of_block = out(reg32) of_block,
            of_cluster = out(reg32) of_cluster,
            pointer = in(reg64) pointer,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    (of_block, of_cluster)
}

/// A ring that asynchronous stores write, 16 bytes each, whose completion an mbarrier counts. Only in a
/// launch of clusters of several blocks; see build.rs.
struct AsynchronousRing {
    leader: bool,
    buffer: Buffer,
    /// Where the ring begins in the block's shared memory, and in the cluster's.
    ring: (u32, u32),
    offset: u32,
    barrier: *mut u64,
    /// Its address in the cluster's shared memory.
    barrier_address: u32,
    records: u32,
}

impl Form for AsynchronousRing {
    type Start = u64;

    #[inline(always)]
    fn new(buffer: Buffer) -> Self {
        let warp = thread() / WARP;
        // SAFETY: one of 32 rings and barriers, as a block has no more warps.
        let (ring, barrier) = unsafe {
            (
                BENCH_ASYNCHRONOUS_RINGS.as_mut_ptr().add((warp * RING_BYTES / 8) as usize),
                BENCH_RING_BARRIERS.as_mut_ptr().add(warp as usize),
            )
        };
        let leader = lane() == 0;
        if leader {
            // SAFETY: this warp's own, which nobody has used.
            unsafe { mbarrier::init(barrier, 1) };
        }
        tma::fence();
        let (ring, (_, barrier_address)) = (shared_addresses(ring), shared_addresses(barrier));
        Self { leader, buffer, ring, offset: 0, barrier, barrier_address, records: 0 }
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        let [first, second] = <[u64; 2]>::of(NUMBER, start, clock64());
        // SAFETY: within the warp's own ring. The bytes that the mbarrier has yet to hear of stay
        // below 2^20 for all records of a launch (PTX ISA, "Tracking asynchronous operations by the
        // mbarrier object").
        unsafe {
            asm!(
                "{{ .reg .pred %p_store; setp.ne.u32 %p_store, {leader}, 0;",
                "@%p_store st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u64 \
                 [{address}], {{{first}, {second}}}, [{barrier}]; }}",
                leader = in(reg32) u32::from(self.leader),
                address = in(reg32) self.ring.1 + self.offset,
                first = in(reg64) first,
                second = in(reg64) second,
                barrier = in(reg32) self.barrier_address,
                options(nostack, preserves_flags),
            );
        }
        self.offset = (self.offset + 16) % RING_BYTES;
        self.records += 1;
    }

    #[inline(always)]
    fn leave(self) -> Left {
        let stores_are_done = || {
            // SAFETY: this warp's own mbarrier: one arrival, and as many bytes as were stored.
            unsafe {
                mbarrier::arrive_expecting_bytes(self.barrier, 16 * self.records);
                mbarrier::wait_parity(self.barrier, 0);
            }
        };
        // SAFETY: the warp's own ring and buffer, which are as large.
        let flush =
            unsafe { copy_in_bulk(self.buffer.address, self.ring.0, RING_BYTES, stores_are_done) };
        Left { flush, ..Left::default() }
    }
}

kernels! {
    shared_ring_16b_bulk_flush => |buffer| Range::<Shared16All, BulkRing>::new(buffer);
    shared_ring_16b_asynchronous => |buffer| AsynchronousRing::new(buffer);
}
