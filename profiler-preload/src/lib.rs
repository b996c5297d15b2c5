//! The library that `profiler record` loads into a program, under the name of the CUDA driver's library.
//!
//! Programs find the driver by the name `libcuda.so.1`, and the dynamic loader gives them what is loaded under that
//! name already: this library. It forwards the driver's functions (`table`) and has some itself (`hooks`): those
//! that load modules, launch kernels, and hand out functions. PTX is rewritten on its way to the driver (`image`), and
//! NVRTC is made to give PTX (`nvrtc`). A launch that is to be recorded runs between two small kernels, in the program's
//! own stream, that switch records of its module on and off and read the time (`plan`). A thread copies what was
//! recorded to a file (`drain`).
//!
//! Nothing here waits for the program's kernels, and whatever fails lets the program go on as it would without.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod context;
mod drain;
mod driver;
mod hooks;
mod image;
mod module;
mod nvrtc;
mod plan;
mod session;
mod table;
