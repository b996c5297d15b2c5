//! Kernels from their source to the trace, on the emulator and on a GPU, and the PTX of them.

mod barriers;
mod buffers;
mod calibration;
mod cases;
mod collectives;
mod device_crate;
mod end_to_end;
mod errors;
mod failures;
mod functions;
mod intrinsics;
mod linted;
mod ptx;
mod renamed;
mod resources;
mod review;
mod rewritten;
mod sessions;
mod streams;
mod stress;
#[path = "../support/mod.rs"]
mod support;
mod thousand;
mod walkthrough;
mod watched;
mod watched_modules;
