//! Kernels on the emulator.

mod abort;
mod collectives;
mod common;
mod launch;
mod overflow;
mod ptx;
mod races;
mod waiting;
