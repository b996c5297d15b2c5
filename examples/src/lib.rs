//! What the example programs share: the command line, the measurement, the check, the report.
//!
//! An example is a `main` that hands its name, its PTX and a function to [`run`]. The function
//! prepares the data, lets [`Run::measure`] launch the kernel, and compares the result with a
//! reference of the host:
//!
//! ```no_run
//! use profiler_examples::{Check, Report, Run, run};
//! use profiler_host::{Profiler, launch};
//! # mod kernels { pub unsafe fn double(values: *mut f32, count: u32) {} }
//!
//! fn main() -> std::process::ExitCode {
//!     run("double", None, example) // or include_ptx!("double")
//! }
//!
//! fn example(run: &Run) -> Result<Report, profiler_examples::Failure> {
//!     let count = run.pick(1 << 10, 1 << 26);
//!     let mut values = run.backend().upload(&vec![1.0_f32; count])?;
//!     let address = values.as_mut_ptr();
//!     let profiler = Profiler::builder().records_per_warp(32).build()?;
//!     let measured = run.measure(&profiler, |launcher| {
//!         // SAFETY: one thread for each of `count` values.
//!         unsafe { launch!(launcher, kernels::double<<<4, 256>>>(address, count as u32)) }
//!     })?;
//!     let pairs = values.read()?.into_iter().map(|value| (f64::from(value), 2.0));
//!     Ok(Report { measured, checks: vec![Check::relative("values", pairs, 1e-6)] })
//! }
//! ```

mod arguments;
mod check;
mod measure;
mod report;
mod unannotated;

use std::process::ExitCode;

use profiler_host::{Backend, BackendChoice};

pub use arguments::{Arguments, Size};
pub use check::Check;
pub use measure::{Launcher, Measured, Timing};
pub use report::Report;
pub use unannotated::Annotations;
use unannotated::Unannotated;

/// Anything that ends an example early; its text is shown to the user.
pub type Failure = Box<dyn std::error::Error>;

/// What an example is run with: the back end and the size that the command line asks for.
#[derive(Debug)]
pub struct Run {
    name: &'static str,
    backend: Backend,
    /// The same kernels once more, on a GPU, for launches without a session.
    plain: Option<Backend>,
    arguments: Arguments,
    size: Size,
    /// The same kernels without annotations, if the command line names them.
    unannotated: Option<Unannotated>,
}

impl Run {
    /// Where the kernels run.
    #[must_use]
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// How much there is to do.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// The value for the size in use.
    #[must_use]
    pub fn pick<T>(&self, small: T, full: T) -> T {
        match self.size {
            Size::Small => small,
            Size::Full => full,
        }
    }

    /// How many SMs the back end has.
    #[must_use]
    pub fn sm_count(&self) -> u32 {
        self.backend.device_info().sm_count
    }
}

/// The `main` of an example: reads the command line, chooses the back end, runs `example`, prints
/// what came of it and writes `NAME.pftrace`, `NAME.json` and `NAME.capture`.
///
/// `ptx` is what `profiler_host::include_ptx!` gives. The exit code is 0 if the kernel's result was
/// right and all files were written.
#[allow(clippy::print_stderr, reason = "the last resort of a program: saying why it failed")]
pub fn run(
    name: &'static str,
    ptx: Option<&'static str>,
    example: impl FnOnce(&Run) -> Result<Report, Failure>,
) -> ExitCode {
    let arguments = Arguments::read(name);
    match run_with(name, arguments, ptx, example) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{name}: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_with(
    name: &'static str,
    arguments: Arguments,
    ptx: Option<&'static str>,
    example: impl FnOnce(&Run) -> Result<Report, Failure>,
) -> Result<bool, Failure> {
    // As a GPU aligns them: kernels read vectors from buffers of any length.
    let backend = Backend::choose(arguments.backend, ptx)?.with_buffer_alignment(256);
    report::print_backend(name, &backend);
    let default = if backend.is_gpu() { Size::Full } else { Size::Small };
    let size = arguments.size.unwrap_or(default);
    let unannotated = arguments.unannotated.as_deref();
    let unannotated = unannotated.map(|path| Unannotated::read(path, &backend)).transpose()?;
    // While a session is attached to a back end, launches past it are refused.
    let plain =
        if backend.is_gpu() { Some(Backend::choose(BackendChoice::Gpu, ptx)?) } else { None };
    let run = Run { name, backend, plain, arguments, size, unannotated };
    example(&run)?.print_and_write(&run)
}
