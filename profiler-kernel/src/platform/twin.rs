//! The operations on the CPU twin.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use profiler_emulator as emulator;

pub(crate) fn thread_idx<const AXIS: usize>() -> u32 {
    emulator::thread_index()[AXIS]
}

pub(crate) fn block_idx<const AXIS: usize>() -> u32 {
    emulator::block_index()[AXIS]
}

pub(crate) fn block_dim<const AXIS: usize>() -> u32 {
    emulator::block_dim()[AXIS]
}

pub(crate) fn grid_dim<const AXIS: usize>() -> u32 {
    emulator::grid_dim()[AXIS]
}

pub(crate) fn lane_id() -> u32 {
    emulator::lane_id()
}

pub(crate) fn sync_threads() {
    emulator::barrier(0, None);
}

pub(crate) unsafe fn barrier_sync(id: u32, count: u32) {
    emulator::barrier(id, Some(count));
}

pub(crate) unsafe fn barrier_arrive(id: u32, count: u32) {
    emulator::barrier_arrive(id, count);
}

pub(crate) fn block_fence() {
    fence(Ordering::AcqRel);
}

pub(crate) fn device_fence() {
    fence(Ordering::AcqRel);
}

#[track_caller]
pub(crate) fn active_mask() -> u32 {
    emulator::active_mask()
}

pub(crate) unsafe fn sync_warp(mask: u32) {
    let _ = emulator::warp_exchange(mask, 0);
}

/// The value of lane `from`, as 32 bits.
fn value_of(mask: u32, value: u32, from: u32) -> u32 {
    // The values are 32 bits wide.
    emulator::warp_exchange(mask, u64::from(value))[from as usize] as u32
}

pub(crate) unsafe fn shuffle(mask: u32, value: u32, lane: u32) -> u32 {
    value_of(mask, value, lane % 32)
}

pub(crate) unsafe fn shuffle_xor(mask: u32, value: u32, flip: u32) -> u32 {
    value_of(mask, value, lane_id() ^ (flip % 32))
}

pub(crate) unsafe fn shuffle_down(mask: u32, value: u32, delta: u32) -> u32 {
    let lane = lane_id();
    let from = lane + delta % 32;
    value_of(mask, value, if from < 32 { from } else { lane })
}

pub(crate) unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    emulator::ballot(mask, predicate)
}

#[track_caller]
pub(crate) fn check_index(index: usize, length: usize) {
    assert!(index < length, "index {index} of a shared array of {length} elements");
}

/// The begin of a shared array.
pub type Address = *mut u8;

pub(crate) fn generic_pointer(address: Address) -> *mut u8 {
    address
}

/// A number that one instruction moves on the GPU.
pub trait Element: Copy {
    /// Reads element `index` of the array at `array`.
    ///
    /// # Safety
    ///
    /// The element is in the array and initialised, and nobody writes it.
    unsafe fn load(array: Address, index: usize) -> Self {
        // SAFETY: the caller's promise; arrays are aligned for their elements.
        unsafe { array.cast::<Self>().add(index).read() }
    }

    /// Writes element `index` of the array at `array`.
    ///
    /// # Safety
    ///
    /// The element is in the array, and nobody else accesses it.
    unsafe fn store(self, array: Address, index: usize) {
        // SAFETY: the caller's promise; arrays are aligned for their elements.
        unsafe { array.cast::<Self>().add(index).write(self) };
    }
}

macro_rules! elements {
    ($($type:ty)*) => {$(
        impl Element for $type {}
    )*};
}

elements! { u8 u16 u32 i32 f32 u64 i64 f64 }

pub(crate) fn dynamic_shared() -> *mut u8 {
    emulator::dynamic_shared().0
}

pub(crate) fn dynamic_shared_bytes() -> u32 {
    // A launch is given a u32.
    emulator::dynamic_shared().1 as u32
}

pub(crate) unsafe fn atomic_add_u32(address: *mut u32, value: u32) -> u32 {
    // SAFETY: the caller's promise is that of `from_ptr`.
    let before = unsafe { AtomicU32::from_ptr(address) }.fetch_add(value, Ordering::Relaxed);
    emulator::observe(address.addr());
    emulator::publish(address.addr());
    before
}

pub(crate) unsafe fn load_acquire_u32(address: *const u32) -> u32 {
    // SAFETY: the caller promises atomic accesses and a valid address; it is only read.
    let value = unsafe { AtomicU32::from_ptr(address.cast_mut()) }.load(Ordering::Acquire);
    emulator::observe(address.addr());
    value
}

pub(crate) unsafe fn store_release_u32(address: *mut u32, value: u32) {
    // SAFETY: the caller's promise is that of `from_ptr`.
    unsafe { AtomicU32::from_ptr(address) }.store(value, Ordering::Release);
    emulator::publish(address.addr());
}

pub(crate) fn spin_hint() {
    emulator::yield_now();
}

/// The emulator itself detects that no thread makes progress.
pub(crate) fn spin_until_or_trap(_limit_ns: u64, mut condition: impl FnMut() -> bool) {
    while !condition() {
        emulator::yield_now();
    }
}

/// A copy of 16 bytes that has been started.
struct PendingCopy {
    target: *mut u8,
    source: *const u8,
}

/// The pending copies of a thread.
#[derive(Default)]
struct Copies {
    open: Vec<PendingCopy>,
    groups: VecDeque<Vec<PendingCopy>>,
}

impl Copies {
    /// Carries out all groups but the newest `pending`.
    fn wait(&mut self, pending: usize) {
        let done = self.groups.len().saturating_sub(pending);
        for copy in self.groups.drain(..done).flatten() {
            // SAFETY: whoever started the copy promised that both are valid until it is waited for.
            unsafe { copy.source.copy_to_nonoverlapping(copy.target, 16) };
        }
    }

    fn commit(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }
}

pub(crate) unsafe fn cp_async_16(target: *mut u8, source: *const u8) {
    assert!(
        target.addr().is_multiple_of(16) && source.addr().is_multiple_of(16),
        "cp_async_16 from {source:?} to {target:?}: both must be aligned to 16"
    );
    emulator::with_thread_storage(|copies: &mut Copies| {
        copies.open.push(PendingCopy { target, source })
    });
}

pub(crate) fn cp_async_commit() {
    emulator::with_thread_storage(Copies::commit);
}

pub(crate) fn cp_async_wait<const PENDING: usize>() {
    emulator::with_thread_storage(|copies: &mut Copies| copies.wait(PENDING));
}

pub(crate) unsafe fn cp_async_arrive(barrier: *mut u64) {
    emulator::with_thread_storage(|copies: &mut Copies| {
        copies.commit();
        copies.wait(0);
    });
    // SAFETY: the caller's promise.
    unsafe { mbarrier_arrive(barrier) };
}

/// The twin's mbarrier: arrivals expected by a phase in bits 0..20, arrivals still to come in bits
/// 20..40, the current phase's parity in bit 40, a mark of validity above.
struct Mbarrier {
    expected: u64,
    missing: u64,
    parity: u64,
}

const MBARRIER_MARK: u64 = 0x4d_4241 << 41;

impl Mbarrier {
    fn pack(&self) -> u64 {
        MBARRIER_MARK | self.expected | self.missing << 20 | self.parity << 40
    }

    fn unpack(word: u64) -> Self {
        assert!(
            word >> 41 << 41 == MBARRIER_MARK,
            "an mbarrier is used before mbarrier::init or after mbarrier::invalidate"
        );
        let count = u64::from(crate::mbarrier::MAX_ARRIVALS);
        Self { expected: word & count, missing: word >> 20 & count, parity: word >> 40 & 1 }
    }
}

/// The word of an mbarrier.
///
/// # Safety
///
/// As `AtomicU64::from_ptr`.
unsafe fn mbarrier_word<'a>(barrier: *mut u64) -> &'a AtomicU64 {
    assert!(barrier.is_aligned(), "the mbarrier at {barrier:?} must be aligned to 8");
    // SAFETY: the caller's promise, and the alignment was checked.
    unsafe { AtomicU64::from_ptr(barrier) }
}

pub(crate) unsafe fn mbarrier_init(barrier: *mut u64, arrivals: u32) {
    assert!(
        (1..=crate::mbarrier::MAX_ARRIVALS).contains(&arrivals),
        "an mbarrier cannot expect {arrivals} arrivals; 1 to 2^20 - 1 are possible"
    );
    let expected = u64::from(arrivals);
    let fresh = Mbarrier { expected, missing: expected, parity: 0 };
    // SAFETY: the caller gives 8 bytes of its own.
    unsafe { mbarrier_word(barrier) }.store(fresh.pack(), Ordering::Release);
    emulator::publish(barrier.addr());
}

pub(crate) unsafe fn mbarrier_arrive(barrier: *mut u64) {
    // SAFETY: the caller gives an mbarrier, which only these functions access.
    let word = unsafe { mbarrier_word(barrier) };
    // One GPU thread runs at a time, and none is suspended here: no other arrival comes in between.
    let mut state = Mbarrier::unpack(word.load(Ordering::Acquire));
    state.missing -= 1;
    if state.missing == 0 {
        state.missing = state.expected;
        state.parity ^= 1;
    }
    word.store(state.pack(), Ordering::Release);
    emulator::publish_beside_others(barrier.addr());
}

pub(crate) unsafe fn mbarrier_test_parity(barrier: *mut u64, parity: u32) -> bool {
    // SAFETY: the caller gives an mbarrier, which only these functions access.
    let word = unsafe { mbarrier_word(barrier) };
    let is_complete =
        Mbarrier::unpack(word.load(Ordering::Acquire)).parity != u64::from(parity & 1);
    if is_complete {
        emulator::observe(barrier.addr());
    }
    is_complete
}

pub(crate) unsafe fn mbarrier_invalidate(barrier: *mut u64) {
    // SAFETY: the caller gives an mbarrier, which only these functions access.
    unsafe { mbarrier_word(barrier) }.store(0, Ordering::Release);
}

fn bf16_bits(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() {
        // The one NaN that `cvt` produces.
        return 0x7fff;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

pub(crate) fn pack_bf16(low: f32, high: f32) -> u32 {
    bf16_bits(low) | bf16_bits(high) << 16
}

fn bf16_of(word: u32, index: usize) -> f32 {
    crate::mma::bf16_to_f32((word >> (16 * index)) as u16)
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn split(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

pub(crate) unsafe fn mma_m16n8k16_bf16(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    let given = [join(a[0], a[1]), join(a[2], a[3]), join(b[0], b[1])];
    let lanes = emulator::warp_exchange_words(u32::MAX, given);
    let a_at = |row: usize, column: usize| {
        let words = lanes[row % 8 * 4 + column % 8 / 2];
        bf16_of(split(words[column / 8])[row / 8], column % 2)
    };
    let b_at = |row: usize, column: usize| {
        let words = lanes[column * 4 + row % 8 / 2];
        bf16_of(split(words[2])[row / 8], row % 2)
    };
    let lane = lane_id() as usize;
    core::array::from_fn(|index| {
        let (row, column) = (lane / 4 + index / 2 * 8, lane % 4 * 2 + index % 2);
        (0..16).fold(c[index], |sum, k| a_at(row, k).mul_add(b_at(k, column), sum))
    })
}

/// The rows that the lanes of the warp gave, 8 elements each.
///
/// # Safety
///
/// `row` is readable, 16 bytes.
unsafe fn exchange_rows(row: *const u8) -> [[u16; 8]; 32] {
    assert!(row.addr().is_multiple_of(16), "a row of ldmatrix at {row:?} must be aligned to 16");
    // SAFETY: the caller's promise. The row is read before the lanes meet, since a lane that goes
    // on may change it.
    let words = unsafe { row.cast::<[u64; 2]>().read() };
    emulator::warp_exchange_words(u32::MAX, words)
        .map(|words| core::array::from_fn(|index| (words[index / 4] >> (16 * (index % 4))) as u16))
}

fn pair(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

pub(crate) unsafe fn ldmatrix_x4(row: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise.
    let rows = unsafe { exchange_rows(row) };
    let lane = lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    core::array::from_fn(|matrix| {
        let row = rows[matrix * 8 + g];
        pair(row[2 * t], row[2 * t + 1])
    })
}

pub(crate) unsafe fn ldmatrix_x4_trans(row: *const u8) -> [u32; 4] {
    // SAFETY: the caller's promise.
    let rows = unsafe { exchange_rows(row) };
    let lane = lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    core::array::from_fn(|matrix| {
        pair(rows[matrix * 8 + 2 * t][g], rows[matrix * 8 + 2 * t + 1][g])
    })
}

pub(crate) unsafe fn stmatrix_x4(row: *mut u8, parts: [u32; 4]) {
    assert!(row.addr().is_multiple_of(16), "a row of stmatrix at {row:?} must be aligned to 16");
    let given = [join(parts[0], parts[1]), join(parts[2], parts[3])];
    let lanes = emulator::warp_exchange_words(u32::MAX, given);
    // This lane's row is row `lane % 8` of matrix `lane / 8`, which four lanes hold.
    let lane = lane_id() as usize;
    let (matrix, first) = (lane / 8, lane % 8 * 4);
    let pairs: [u32; 4] = core::array::from_fn(|t| split(lanes[first + t][matrix / 2])[matrix % 2]);
    // SAFETY: the caller gives 16 writable bytes, aligned, which only this lane writes.
    unsafe { row.cast::<[u32; 4]>().write(pairs) };
}

pub(crate) fn exp2(x: f32) -> f32 {
    x.exp2()
}

pub(crate) fn rsqrt(x: f32) -> f32 {
    x.sqrt().recip()
}

pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}
