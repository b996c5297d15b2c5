//! Memory operations between threads of the device, and waiting for them.
//!
//! # Atomic operations
//!
//! An operation of PTX ISA, "atom", reads a number, writes another, and returns what it read; no other atomic
//! operation comes in between. It promises this and nothing else (`.relaxed`): what a thread wrote elsewhere is
//! seen in order only with fences ([`thread::device_fence`](crate::thread::device_fence)) or with
//! [`store_release_u32`] and [`load_acquire_u32`].
//!
//! The functions take a pointer to global or shared memory and are atomic among the threads of the device
//! (`.gpu`). Methods of the same names of [`SharedArray`] are atomic among those of the block, and spare the
//! instructions that find out at run time which memory a pointer points to (`atom.shared`).
//!
//! `T` is `u32`, `i32`, `u64` or `i64`, and for [`atomic_add`] and [`atomic_exch`] also `f32` or `f64`.

use crate::platform;
use crate::shared::SharedArray;
use sealed::Place;

/// The operations by type, with the contracts of the functions of the same names.
pub(crate) mod sealed {
    use crate::platform::Address;

    /// The memory of an atomic operation.
    #[derive(Clone, Copy)]
    pub enum Place<T> {
        /// Of any state space.
        Generic(*mut T),
        /// An element of a shared array.
        Shared(Address),
    }

    #[cfg(not(target_arch = "nvptx64"))]
    impl<T> Place<T> {
        pub(crate) fn address(self) -> *mut T {
            match self {
                Self::Generic(address) => address,
                Self::Shared(address) => address.cast(),
            }
        }
    }

    pub trait Atomic: Copy {
        unsafe fn atomic_exch(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_add(place: Place<Self>, value: Self) -> Self;
    }

    pub trait AtomicInteger: Atomic {
        unsafe fn atomic_min(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_max(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_and(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_or(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_xor(place: Place<Self>, value: Self) -> Self;
        unsafe fn atomic_cas(place: Place<Self>, expected: Self, value: Self) -> Self;
    }
}

/// Numbers that can be exchanged and added atomically: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
pub trait Atomic: sealed::Atomic {}
impl<T: sealed::Atomic> Atomic for T {}

/// Numbers with all atomic operations: `u32`, `i32`, `u64`, `i64`.
pub trait AtomicInteger: Atomic + sealed::AtomicInteger {}
impl<T: sealed::AtomicInteger> AtomicInteger for T {}

/// Makes a function of each operation, and a method for shared arrays.
macro_rules! atomics {
    ($($(#[doc = $doc:literal])+ fn $name:ident<$bound:ident>($($operand:ident),+);)+) => {$(
        $(#[doc = $doc])+
        ///
        /// # Safety
        ///
        /// `address` is in global or shared memory, valid for reads and writes and aligned to the size of `T`,
        /// and all threads that access it at the time do so atomically, with the same size.
        #[inline(always)]
        pub unsafe fn $name<T: $bound>(address: *mut T, $($operand: T),+) -> T {
            // SAFETY: the caller's promise.
            unsafe { T::$name(Place::Generic(address), $($operand),+) }
        }

        impl<T: $bound, const N: usize> SharedArray<T, N> {
            $(#[doc = $doc])+
            ///
            /// # Safety
            ///
            /// `index` is less than `N` (checked on the twin), the element has been written, and all threads
            /// that access it at the time do so atomically.
            #[inline(always)]
            #[track_caller]
            pub unsafe fn $name(self, index: usize, $($operand: T),+) -> T {
                // SAFETY: the caller's promise; the element is in the array.
                unsafe { T::$name(Place::Shared(self.element_address(index)), $($operand),+) }
            }
        }
    )+};
}

atomics! {
    /// Adds a number and returns what was there before (`atom.add`). Integers wrap; the sum of floats is
    /// rounded to nearest, and depends on the order of the threads. On a GPU `f32` in global memory flushes
    /// subnormal numbers to zero.
    fn atomic_add<Atomic>(value);

    /// Writes a number and returns what was there before (`atom.exch`).
    fn atomic_exch<Atomic>(value);

    /// Writes the smaller of two numbers and returns what was there before (`atom.min`).
    fn atomic_min<AtomicInteger>(value);

    /// Writes the larger of two numbers and returns what was there before (`atom.max`).
    fn atomic_max<AtomicInteger>(value);

    /// Writes the bits that both numbers have and returns what was there before (`atom.and`).
    fn atomic_and<AtomicInteger>(value);

    /// Writes the bits that one of the numbers has, or both, and returns what was there before (`atom.or`).
    fn atomic_or<AtomicInteger>(value);

    /// Writes the bits that only one of the numbers has and returns what was there before (`atom.xor`).
    fn atomic_xor<AtomicInteger>(value);

    /// Writes `value` if `expected` is there, and returns what was there before (`atom.cas`). A loop that tries
    /// again until it is must go through [`spin_until`].
    fn atomic_cas<AtomicInteger>(expected, value);
}

/// [`atomic_add`] of 32 bits without a sign.
///
/// # Safety
///
/// As for [`atomic_add`].
#[inline(always)]
pub unsafe fn atomic_add_u32(address: *mut u32, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { atomic_add(address, value) }
}

forward! {
    /// Reads a word, and what its writer released before it (`ld.acquire.gpu`).
    ///
    /// # Safety
    ///
    /// As for [`atomic_add_u32`], for reads.
    #[must_use]
    [unsafe] fn load_acquire_u32(address: *const u32) -> u32 = platform::load_acquire_u32;

    /// Writes a word, after everything that the thread did before (`st.release.gpu`).
    ///
    /// # Safety
    ///
    /// As for [`atomic_add_u32`], for writes.
    [unsafe] fn store_release_u32(address: *mut u32, value: u32) = platform::store_release_u32;
}

/// Waits until `condition` holds, asking again and again. On the twin, other threads run in
/// between.
///
/// `condition` must read what it waits for with [`load_acquire_u32`] or another operation of this
/// crate: a plain read is one that the compiler may make only once.
#[inline(always)]
pub fn spin_until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        platform::spin_hint();
    }
}
