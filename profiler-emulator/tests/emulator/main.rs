//! Kernels on the emulator.

mod abort;
mod collectives;
mod common;
mod guards;
mod launch;
mod overflow;
mod ptx;
mod races;
mod spinning;
mod waiting;
