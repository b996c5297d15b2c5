//! What `#[profiled]` says of a kernel, with profiling on and off alike.

use profiler_wire::Strategy;
use profiler_wire::header::Clock;

/// What `#[profiled]` fixes for a kernel.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Config {
    /// Whether the kernel records at all; a constant, so that `false` leaves nothing behind.
    pub enabled: bool,
    /// Who records, unless a region says otherwise.
    pub strategy: Strategy,
    /// For [`Strategy::When`]: whether this thread records.
    pub when: bool,
    /// Which clock stamps records.
    pub clock: Clock,
    /// The track field of all records of the kernel.
    pub track: u32,
}
