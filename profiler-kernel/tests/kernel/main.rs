//! The twins of the device functions.

mod collectives;
mod common;
mod hopper;
mod tiles;
