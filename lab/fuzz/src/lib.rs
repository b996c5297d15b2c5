//! Functions that take hostile bytes and check what must hold of whatever is made of them: nothing
//! panics, takes for ever or takes memory out of proportion, and no wrong number comes out. The
//! fuzz targets call them, and so does a test, with the inputs that the targets found.
#![forbid(unsafe_code)]

pub mod capture_content;
pub mod capture_file;
#[path = "../../../profiler-trace/tests/support/check.rs"]
pub mod check;
pub mod descriptor;
#[path = "../../../profiler-trace/tests/support/memory.rs"]
pub mod memory;
pub mod ptx_process;
pub mod ptx_rewrite;
pub mod raw_buffer;
pub mod seeds;
pub mod site_table;
