//! The code of `profiler-preload` as a shared library, with the functions of the driver that it stands in for.

pub use profiler_preload;
