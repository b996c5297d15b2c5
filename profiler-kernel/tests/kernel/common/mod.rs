//! Kernels on the emulator, for all tests.

use std::cell::UnsafeCell;

use profiler_emulator::{Emulator, LaunchConfig, LaunchError};

/// Memory that the threads of a kernel share, as a kernel sees global memory.
#[repr(align(128))]
pub(crate) struct Global<T, const N: usize>(UnsafeCell<[T; N]>);

// SAFETY: the emulator runs one thread at a time, and orders all that its threads do.
unsafe impl<T, const N: usize> Sync for Global<T, N> {}

impl<T: Copy, const N: usize> Global<T, N> {
    pub(crate) fn new(values: [T; N]) -> Self {
        Self(UnsafeCell::new(values))
    }

    pub(crate) fn as_mut_ptr(&self) -> *mut T {
        self.0.get().cast()
    }

    pub(crate) fn set(&self, index: usize, value: T) {
        assert!(index < N);
        // SAFETY: in bounds, and no references into the array are made.
        unsafe { self.as_mut_ptr().add(index).write(value) }
    }

    pub(crate) fn get(&self, index: usize) -> T {
        assert!(index < N);
        // SAFETY: in bounds and initialised, and no references into the array are made.
        unsafe { self.as_mut_ptr().add(index).read() }
    }

    pub(crate) fn into_inner(self) -> [T; N] {
        self.0.into_inner()
    }
}

/// Runs a kernel of `blocks` blocks of `threads` threads, with 8 KiB of dynamic shared memory.
pub(crate) fn run(blocks: u32, threads: u32, kernel: impl Fn() + Sync) -> Result<(), LaunchError> {
    let mut config = LaunchConfig::new([blocks, 1, 1], [threads, 1, 1]);
    config.dynamic_shared_bytes = 8192;
    config.yield_limit = 100_000;
    Emulator::default().launch(&config, kernel)
}
