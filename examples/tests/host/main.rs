//! The examples on the emulator, what the Hopper example has on the host, and the examples' pages.

mod emulator;
mod hopper_gemm_host;
mod pages;
mod rust_cuda;
