//! The examples on the emulator, what the Hopper example has on the host, and the examples' pages.
#![allow(
    unexpected_cfgs,
    reason = "`#[kernel]` of cuda_std asks for the target by its former name, nvptx"
)]

mod emulator;
mod hopper_gemm_host;
mod pages;
mod rust_cuda;
