//! The operations on the CPU twin.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use std::any::TypeId;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
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

/// Threads for which a predicate held, in all counts of the block that this thread took part in. The memory that
/// they are counted in begins with all bits set, as if one were missing.
struct Counted(u32);

impl Default for Counted {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

pub(crate) fn sync_threads_count(predicate: u32) -> u32 {
    // Its address tells the memory from the kernel's shared arrays.
    static KEY: u8 = 0;
    let counter = emulator::shared_memory((&raw const KEY).addr(), 4, 4).cast::<u32>();
    // SAFETY: four bytes of the block's own, aligned to 4, which only this function accesses.
    let counter = unsafe { AtomicU32::from_ptr(counter) };
    counter.fetch_add(u32::from(predicate != 0), Ordering::Relaxed);
    sync_threads();
    let counted = counter.load(Ordering::Relaxed);
    // No thread counts on before all have read.
    sync_threads();
    emulator::with_thread_storage(|Counted(before)| {
        counted.wrapping_sub(std::mem::replace(before, counted))
    })
}

pub(crate) fn sync_threads_and(predicate: u32) -> u32 {
    u32::from(sync_threads_count(u32::from(predicate == 0)) == 0)
}

pub(crate) fn sync_threads_or(predicate: u32) -> u32 {
    u32::from(sync_threads_count(predicate) != 0)
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

pub(crate) fn system_fence() {
    fence(Ordering::AcqRel);
}

/// Fails the launch, as it does on a GPU.
#[track_caller]
pub(crate) fn trap() -> ! {
    panic!("the kernel executed `trap`")
}

#[track_caller]
pub(crate) fn active_mask() -> u32 {
    emulator::active_mask()
}

pub(crate) unsafe fn sync_warp(mask: u32) {
    let _ = emulator::warp_exchange(mask, 0);
}

/// The value of another lane: `source_of` gives its number, and the last that this lane can read from, of its
/// own number and the bits that tell segments apart.
///
/// `segments` is the instruction's operand c (PTX ISA, "shfl.sync"): the clamp in its low bits, and a mask of
/// those bits from bit 8 on.
fn shuffled(
    mask: u32,
    value: u32,
    segments: u32,
    source_of: impl Fn(u32, u32) -> Option<u32>,
) -> u32 {
    let lane = lane_id();
    let first = lane & (segments >> 8);
    let limit = first | (segments & !(segments >> 8) & 31);
    let source = source_of(first, limit).unwrap_or(lane);
    // The values are 32 bits wide.
    emulator::warp_exchange(mask, u64::from(value))[source as usize] as u32
}

pub(crate) unsafe fn shuffle(mask: u32, value: u32, lane: u32, segments: u32) -> u32 {
    let within = lane & !(segments >> 8) & 31;
    shuffled(mask, value, segments, |first, limit| {
        Some(first | within).filter(|source| *source <= limit)
    })
}

pub(crate) unsafe fn shuffle_up(mask: u32, value: u32, delta: u32, segments: u32) -> u32 {
    let source = lane_id().checked_sub(delta % 32);
    shuffled(mask, value, segments, |_, limit| source.filter(|source| *source >= limit))
}

pub(crate) unsafe fn shuffle_down(mask: u32, value: u32, delta: u32, segments: u32) -> u32 {
    let source = lane_id() + delta % 32;
    shuffled(mask, value, segments, |_, limit| Some(source).filter(|source| *source <= limit))
}

pub(crate) unsafe fn shuffle_xor(mask: u32, value: u32, flip: u32, segments: u32) -> u32 {
    let source = lane_id() ^ (flip % 32);
    shuffled(mask, value, segments, |_, limit| Some(source).filter(|source| *source <= limit))
}

pub(crate) unsafe fn ballot(mask: u32, predicate: u32) -> u32 {
    emulator::ballot(mask, predicate != 0)
}

pub(crate) unsafe fn match_any(mask: u32, value: u32) -> u32 {
    // Lanes outside the mask give 0, which is no value.
    let own = 1 << 32 | u64::from(value);
    let lanes = emulator::warp_exchange(mask, own);
    (0..32).filter(|&lane| lanes[lane] == own).fold(0, |found, lane| found | 1 << lane)
}

pub(crate) unsafe fn match_all(mask: u32, value: u32) -> u32 {
    let own = 1 << 32 | u64::from(value);
    let lanes = emulator::warp_exchange(mask, own);
    // A lane that has left the kernel gives 0, and does not count.
    if lanes.iter().all(|&lane| lane == own || lane == 0) { mask } else { 0 }
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

/// The address of element `index` of an array of `T`.
pub(crate) fn element_address<T>(array: Address, index: usize) -> Address {
    array.cast::<T>().wrapping_add(index).cast()
}

/// The array of one place in the source, for each instance of the function that the place is in. The type `P`
/// stands for the place.
pub(crate) fn local_array<T, const N: usize, const ALIGN: usize, P: 'static>() -> Address {
    let mut hasher = DefaultHasher::new();
    TypeId::of::<P>().hash(&mut hasher);
    // Other keys are addresses of statics, with which a hash does not agree by chance.
    emulator::shared_memory(hasher.finish() as usize, size_of::<[T; N]>(), ALIGN)
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

pub(crate) fn exp2(x: f32) -> f32 {
    x.exp2()
}

pub(crate) fn log2(x: f32) -> f32 {
    x.log2()
}

pub(crate) fn rcp(x: f32) -> f32 {
    x.recip()
}

pub(crate) fn sin(x: f32) -> f32 {
    x.sin()
}

pub(crate) fn cos(x: f32) -> f32 {
    x.cos()
}

pub(crate) fn tanh(x: f32) -> f32 {
    x.tanh()
}

pub(crate) fn rsqrt(x: f32) -> f32 {
    x.sqrt().recip()
}

pub(crate) fn fma(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}
