//! The functions of the CUDA driver, bound when the program runs: the same program starts with and without a
//! driver.
//!
//! [`sys`] has what the profiler calls. On its first call each function looks its namesake up in the driver's library
//! (`libcuda.so.1`, `nvcuda.dll`), and jumps there from then on.
//!
//! # `cust`
//!
//! `cust` and `cust_raw` declare the driver's functions as `extern "C"` and leave it to the linker to find them in
//! `libcuda`; a program linked like that does not even start without a driver. With the feature `cust` this crate
//! defines the functions that `cust` calls, and some more, likewise. A program that calls other functions of `cust_raw`
//! links the driver's library itself. A program links these definitions if it mentions this crate once, as by
//! [`driver_available`].
//!
//! Result codes that `cust_raw` does not know (newer drivers return some) arrive as `CUDA_ERROR_UNKNOWN`: a value
//! outside the enumeration would be undefined behaviour.

#[cfg(feature = "cust")]
mod cust;
mod library;
pub mod sys;

pub use library::{DriverError, driver_available};
