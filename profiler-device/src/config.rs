//! The configuration of a kernel by `#[profiled]`, with profiling on or off.

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::Buffer;

/// The configuration of a kernel.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Config {
    /// Whether the kernel records at all; a constant, so that `false` leaves nothing behind.
    pub enabled: bool,
    /// Who records, unless a region says otherwise.
    pub strategy: Strategy,
    /// For [`Strategy::When`]: whether this thread records.
    pub when: bool,
    /// The clock that stamps records.
    pub clock: Clock,
    /// The buffer of the records; a constant, as the form of records depends on it.
    pub buffer: BufferChoice,
    /// The track field of all records of the kernel.
    pub track: u32,
}

impl Config {
    /// The buffer of the records.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn buffer(&self) -> Buffer {
        self.buffer.get()
    }
}

/// The buffer of a kernel. Without the feature `host-buffer` there is no choice, and LLVM sees none, as it would
/// allocate other registers.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct BufferChoice(#[cfg(all(feature = "enabled", feature = "host-buffer"))] Buffer);

impl BufferChoice {
    /// Whether `buffer = host` can be compiled. With profiling off there is nothing to compile.
    pub const HAS_HOST: bool = cfg!(feature = "host-buffer") || !cfg!(feature = "enabled");

    /// The buffer of `buffer = ..`.
    #[inline(always)]
    #[must_use]
    pub const fn new(buffer: Buffer) -> Self {
        #[cfg(all(feature = "enabled", feature = "host-buffer"))]
        return Self(buffer);
        #[cfg(not(all(feature = "enabled", feature = "host-buffer")))]
        {
            let _there_is_one_only = buffer;
            Self()
        }
    }

    #[cfg(all(feature = "enabled", feature = "host-buffer"))]
    #[inline(always)]
    const fn get(self) -> Buffer {
        self.0
    }

    #[cfg(all(feature = "enabled", not(feature = "host-buffer")))]
    #[inline(always)]
    const fn get(self) -> Buffer {
        Buffer::Global
    }
}
