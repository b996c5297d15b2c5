//! Definitions of the functions that `cust` and `cust_raw` declare and leave to the linker.

mod codes;
mod functions;
