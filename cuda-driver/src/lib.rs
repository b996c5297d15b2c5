//! The functions of the CUDA driver, bound when the program runs.
//!
//! `cust` and `cust_raw` declare the driver's functions as `extern "C"` and leave it to the linker
//! to find them in `libcuda`; a program linked like that does not even start without a driver.
//! This crate defines every one of these symbols itself: on its first call each looks its namesake
//! up in the driver's library (`libcuda.so.1`, `nvcuda.dll`) and from then on jumps there. Without
//! a driver all of them answer `CUDA_ERROR_NO_DEVICE`; a function that an old driver lacks answers
//! `CUDA_ERROR_NOT_SUPPORTED`.
//!
//! A program gets these definitions by linking this crate, which takes one mention of it:
//! [`driver_available`] does.
//!
//! Result codes that `cust_raw` does not know (newer drivers return some) arrive as
//! `CUDA_ERROR_UNKNOWN`: a value outside the enumeration would be undefined behaviour.

mod codes;
mod functions_execution;
mod functions_memory;
mod library;

pub use library::{DriverError, driver_available};
