//! Random programs of regions, marks, tokens and branches, run by the kernels of
//! `kernels`, and what the profiler then says held against a reference.
//!
//! The reference knows nothing of buffers, units in memory or pairing: it follows each lane through the
//! program (`script`), finds out when it does what (`reference`), and which of the records
//! that it emitted are left (`expected`). [`check()`] compares, and `edges` has the rule of the
//! arrows.
//!
//! With the emulator's virtual clock everything is known, to the tick. On a GPU the order of a
//! lane's records is, and all counts; who is elected where the lanes of a warp have parted is up to
//! the hardware: see [`Times::Hardware`].

mod case;
mod check;
mod edges;
mod expected;
mod kernels;
mod plant;
mod program;
mod reference;
mod run;
mod script;

pub use profiler_emulator::ClockMode;
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::Backend;

pub use case::{Case, Options, Outcome, cases};
pub use check::{Compared, Times, check};
pub use kernels::{HOSTED, KERNELS, Kernel};
pub use plant::Plant;
pub use program::{Node, programs};
pub use run::{Arguments, Failure, run};
pub use test_kernels_programs::Operation;

/// Stack of a thread on the emulator: without optimization the function that programs call some ten deep
/// takes 25 KiB.
const STACK_BYTES: usize = 512 << 10;

/// The emulator that a case asks for, just made: its virtual clock begins anew.
#[must_use]
pub fn emulator(case: &Case) -> Backend {
    emulator_by(ClockMode::Virtual, case)
}

/// The same by a clock. By the serial one, lanes read other times also where they are together.
#[must_use]
pub fn emulator_by(clock: ClockMode, case: &Case) -> Backend {
    let template =
        LaunchConfig { stack_bytes: STACK_BYTES, clock, ..LaunchConfig::new([1; 3], [1; 3]) };
    Backend::emulator(Emulator::new(case.sm_count), template)
}
