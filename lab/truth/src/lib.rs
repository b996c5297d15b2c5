//! Are the recorded times true? Kernels that measure their own work, launched with profiling, and
//! what the profiler says of them compared with what they say themselves.
//!
//! Each test of [`TESTS`] appends its findings as lines of JSON to `truth.jsonl` in a folder, prints
//! a table, and holds them against its limits. [`plot`] draws the lines, [`table`] lays those of the
//! cross-check beside what a peer has added to them.

mod arguments;
mod cross_check;
mod density;
mod frequency;
mod known_work;
mod latency;
mod plot;
mod releases;
mod report;
mod schedule;
mod statistics;

use std::time::Duration;

use profiler_host::{Backend, BackendChoice, include_ptx};

pub use arguments::{Arguments, Command, RunArguments, Size};
pub use cross_check::table;
pub use plot::plot;
use report::lines;
pub use report::{LINES, Report};
pub use statistics::Summary;

/// Anything that ends a test early; its text is shown to the user.
pub type Failure = Box<dyn std::error::Error>;

/// A test: its name, what it asks, and what runs it.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Its name on the command line and in the lines.
    pub name: &'static str,
    /// What it finds out.
    pub purpose: &'static str,
    run: fn(&Run, &mut Report) -> Result<(), Failure>,
}

/// All tests.
pub const TESTS: [Test; 10] = [
    Test {
        name: "known-work",
        purpose: "regions of known length, by every strategy, clock and form, nested up to 8 deep, \
                  and into memory of the host",
        run: known_work::run,
    },
    Test {
        name: "crowded-work",
        purpose: "regions of known length of 8, 16 and 32 warps of an SM that record at once",
        run: known_work::run_crowded,
    },
    Test {
        name: "mapping",
        purpose: "marks of all SMs at one moment, at the ends and in the middle of long kernels",
        run: releases::run,
    },
    Test {
        name: "latency",
        purpose: "the latency of dependent loads in regions, and without regions",
        run: latency::run,
    },
    Test {
        name: "cross-check",
        purpose: "bodies of known length in regions, which a peer records too",
        run: cross_check::run,
    },
    Test {
        name: "frequency",
        purpose: "regions of 1 ms while the GPU's clock falls under load and rises again",
        run: frequency::run,
    },
    Test {
        name: "boost",
        purpose: "regions of 0.1 ms from the begin of a kernel on, before which the GPU was idle",
        run: frequency::boost,
    },
    Test {
        name: "density",
        purpose: "regions beside more and beside fewer others",
        run: density::run,
    },
    Test {
        name: "idle",
        purpose: "a kernel without a session, and the same with profiling compiled out",
        run: density::idle,
    },
    Test { name: "long", purpose: "a kernel of 9 seconds", run: schedule::long },
];

/// What a test is run with.
#[derive(Debug)]
pub struct Run {
    backend: Backend,
    size: Size,
    /// How long the GPU is left idle before the kernel of the test that is about that.
    idle: Duration,
    /// The kernels of known work to run; all where none is named.
    kernels: Vec<String>,
}

impl Run {
    /// A back end with the kernels of all tests.
    ///
    /// # Errors
    ///
    /// See [`Backend::choose`].
    pub fn new(arguments: &RunArguments) -> Result<Self, Failure> {
        let backend = Backend::choose(arguments.backend, PTX)?;
        let default = if backend.is_gpu() { Size::Full } else { Size::Small };
        let idle = if backend.is_gpu() { frequency::IDLE } else { Duration::ZERO };
        let idle = arguments.idle.map_or(idle, Duration::from_secs);
        let kernels = arguments.kernels.clone();
        Ok(Self { backend, size: arguments.size.unwrap_or(default), idle, kernels })
    }

    /// Where the kernels run.
    #[must_use]
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The value for the size in use.
    fn pick<T>(&self, small: T, full: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Full => full,
        }
    }

    /// A back end with the kernels whose records go to memory of the host.
    fn hosted(&self) -> Result<Backend, Failure> {
        let (choice, ptx) = match self.backend.is_gpu() {
            true => (BackendChoice::Gpu, HOSTED_PTX),
            false => (BackendChoice::Emulator, None),
        };
        Ok(Backend::choose(choice, ptx)?)
    }

    /// Whether this kernel of known work is to be run.
    fn wants_kernel(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|name| name == kernel)
    }

    fn sm_count(&self) -> u32 {
        self.backend.device_info().sm_count
    }
}

/// The kernels, where there was a compiler for them.
const PTX: Option<&str> = include_ptx!("truth_kernels");
/// Those whose records go to memory of the host, likewise.
const HOSTED_PTX: Option<&str> = include_ptx!("truth_hosted_kernels");

impl Test {
    /// Runs the test; limits that do not hold are noted in the report.
    ///
    /// # Errors
    ///
    /// What kept the test from coming to its end.
    pub fn run(&self, run: &Run, report: &mut Report) -> Result<(), Failure> {
        (self.run)(run, report)
    }
}
