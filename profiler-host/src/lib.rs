//! Sessions that profile the inside of Rust GPU kernels.
//!
//! A [`Profiler`] holds the options. It attaches a [`Session`] to a module that the program loaded
//! (`Profiler::attach`), or to a [`Backend`], which is a GPU or the CPU emulator. A session ends in
//! a [`Trace`]: a timeline and statistics.
//!
//! # On modules of one's own
//!
//! ```no_run
//! # #[cfg(feature = "cust")] {
//! use cust::launch;
//! use cust::prelude::*;
//! use profiler_host::{Keep, Profiler};
//!
//! # const PTX: &str = "";
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let _context = cust::quick_init()?;
//! let module = Module::from_ptx(PTX, &[])?;
//! let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
//!
//! let profiler = Profiler::builder().records_per_warp(2048).keep(Keep::Last).warps(0..4).build()?;
//! let session = profiler.attach(&module, PTX)?;
//! // SAFETY: the kernel takes no arguments.
//! unsafe { launch!(module.gemm<<<132, 256, 0, stream>>>()) }?; // cust's own, unchanged
//! let trace = session.finish()?;
//! trace.write_perfetto("gemm.pftrace")?;
//! # Ok(()) } }
//! ```
//!
//! # With and without a GPU
//!
//! ```
//! use profiler_host::{Backend, BackendChoice, Profiler, launch};
//!
//! mod kernels {
//!     pub unsafe fn double(values: *mut f32, count: u32) {
//!         let [thread, ..] = profiler_emulator::thread_index();
//!         if thread < count {
//!             unsafe { *values.add(thread as usize) *= 2.0 };
//!         }
//!     }
//! }
//!
//! # fn main() -> Result<(), profiler_host::Error> {
//! let ptx = None; // `include_ptx!("kernels")` in a crate with a build script
//! let backend = Backend::choose(BackendChoice::Auto, ptx)?;
//! if let Some(reason) = backend.reason() {
//!     println!("running on the emulator: {reason}");
//! }
//! let mut values = backend.upload(&[1.0_f32, 2.0, 3.0])?;
//! let profiler = Profiler::builder().build()?;
//! let mut session = backend.session(&profiler)?;
//! // SAFETY: the kernel touches the first 3 elements of a buffer of 3.
//! unsafe { launch!(session, kernels::double<<<1, 32>>>(values.as_mut_ptr(), 3)) }?;
//! let trace = session.finish()?;
//! assert_eq!(values.read()?, [2.0, 4.0, 6.0]);
//! # Ok(()) }
//! ```
//!
//! Both `cust` and this crate have a macro `launch!`. `cust`'s calls itself by its bare name, so in a
//! file that uses both, import `cust`'s and write this crate's in full: `profiler_host::launch!(..)`.
//!
//! # Dropped records
//!
//! A session's buffers have a fixed size. Dropped records are counted exactly, and the trace's diagnostics
//! say which size keeps them all. [`Profiler::infer_capacity`] finds it by a run that only counts.
//!
//! # While a kernel runs, and after it failed
//!
//! A kernel that traps takes all device memory with it. A kernel annotated with
//! `#[profiled(buffer = host)]` writes its records to memory of this process instead, the begin and the
//! end of a region each when it happens. [`Session::watch`] gives a [`Watch`], with which any thread reads
//! the records while the kernel runs. The error of a failed kernel holds its records
//! ([`Error::salvaged`]), and an export on drop is written as ever. Regions that had not ended are open.
//!
//! ```no_run
//! # use profiler_host::{Error, Session};
//! # fn finish(session: Session<'_>) -> Result<(), Error> {
//! let trace = match session.finish() {
//!     Err(error) => match error.salvaged() {
//!         Some(capture) => profiler_host::trace::decode(capture),
//!         None => return Err(error),
//!     },
//!     Ok(trace) => trace,
//! };
//! println!("{}", trace.diagnostics);
//! # Ok(()) }
//! ```
//!
//! The session's arrays then take as many bytes of page-locked memory as otherwise of the GPU's. To take
//! less, give `max_warps` or [`ProfilerBuilder::for_grid`].
//!
//! # Host libraries
//!
//! | feature | what sessions take |
//! |---|---|
//! | `cust` | its modules and functions |
//! | `cudarc` | its functions, which stand for their modules |
//! | neither | [`RawModule`], [`RawFunction`]: the driver's handles, of any library |
//!
//! The driver is found when the program runs. The feature `cust` also brings definitions of the driver's functions
//! that `cust` calls: a program that uses `cust` and names nothing of this crate must still link it by
//! `use profiler_host as _;`.

mod arrays;
mod backend;
mod calibration;
mod capacity;
mod emulator;
mod error;
mod export;
#[cfg(feature = "cuda")]
mod gpu;
mod guards;
#[cfg(all(doctest, feature = "cudarc"))]
#[doc = include_str!("../../docs/host-libraries.md")]
mod host_libraries {}
mod host_memory;
mod host_spans;
#[cfg(doctest)]
#[doc = include_str!("../../docs/host-tests.md")]
mod host_tests {}
mod launch;
mod layout;
mod live;
mod options;
mod profiler;
mod session;

pub use backend::{Backend, BackendChoice, Buffer};
pub use error::Error;
pub use export::{set_export, write_trace};
#[cfg(feature = "cuda")]
pub use gpu::{AsFunction, AsModule, RawFunction, RawModule, kernel_resources};
pub use host_spans::{HostRecorder, HostSpan};
pub use launch::{Extent, Kernel, Shape, non_empty, plain_name};
pub use live::Watch;
pub use options::{Keep, Slots};
pub use profiler::{Profiler, ProfilerBuilder};
pub use profiler_trace as trace;
pub use profiler_trace::{Capture, KernelResources, RecordCost, ResourceEffect, Trace};
pub use session::Session;
