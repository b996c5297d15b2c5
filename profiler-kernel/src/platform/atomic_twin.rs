//! Atomic operations on the CPU twin.
//!
//! # Safety
//!
//! Callers fulfil the contracts of the public functions of the same names.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use profiler_emulator as emulator;

use crate::atomic::sealed::{Atomic, AtomicInteger, Place};

/// Tells the emulator that the thread has read and written an address.
fn has_changed(address: usize) {
    emulator::observe(address);
    emulator::publish(address);
}

/// Methods of one method of core's atomics each.
macro_rules! changes {
    ($atomic:ty: $($name:ident: $method:ident;)+) => {$(
        unsafe fn $name(place: Place<Self>, value: Self) -> Self {
            let address = place.address();
            // SAFETY: the caller's promise is that of `from_ptr`.
            let before = unsafe { <$atomic>::from_ptr(address) }.$method(value, Ordering::Relaxed);
            has_changed(address.addr());
            before
        }
    )+};
}

macro_rules! integers {
    ($($type:ty: $atomic:ty;)*) => {$(
        impl Atomic for $type {
            changes! { $atomic:
                atomic_exch: swap;
                atomic_add: fetch_add;
            }
        }

        impl AtomicInteger for $type {
            changes! { $atomic:
                atomic_min: fetch_min;
                atomic_max: fetch_max;
                atomic_and: fetch_and;
                atomic_or: fetch_or;
                atomic_xor: fetch_xor;
            }

            unsafe fn atomic_cas(place: Place<Self>, expected: Self, value: Self) -> Self {
                let address = place.address();
                // SAFETY: the caller's promise is that of `from_ptr`.
                let word = unsafe { <$atomic>::from_ptr(address) };
                let exchanged =
                    word.compare_exchange(expected, value, Ordering::Relaxed, Ordering::Relaxed);
                match exchanged {
                    Ok(_) => has_changed(address.addr()),
                    // A loop that tries again waits for another thread's write.
                    Err(_) => emulator::observe(address.addr()),
                }
                exchanged.unwrap_or_else(|before| before)
            }
        }
    )*};
}

integers! {
    u32: AtomicU32;
    i32: AtomicI32;
    u64: AtomicU64;
    i64: AtomicI64;
}

macro_rules! floats {
    ($($type:ty: $bits:ty;)*) => {$(
        impl Atomic for $type {
            unsafe fn atomic_exch(place: Place<Self>, value: Self) -> Self {
                let place = Place::Generic(place.address().cast::<$bits>());
                // SAFETY: the bits lie where the number does, and are as large.
                Self::from_bits(unsafe { Atomic::atomic_exch(place, value.to_bits()) })
            }

            unsafe fn atomic_add(place: Place<Self>, value: Self) -> Self {
                let bits = place.address().cast::<$bits>();
                // SAFETY: the caller's number is valid for reads. One GPU thread runs at a time, and none is
                // suspended before the exchange, so that no other write comes in between.
                let sum = Self::from_bits(unsafe { bits.read() }) + value;
                // SAFETY: the caller's promise.
                unsafe { Self::atomic_exch(place, sum) }
            }
        }
    )*};
}

floats! {
    f32: u32;
    f64: u64;
}
