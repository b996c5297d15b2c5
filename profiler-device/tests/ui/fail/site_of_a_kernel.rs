//! Kernels and lists have macros of their own.
use profiler_device::{Recorder, site};

fn device(prof: Recorder<'_>) {
    prof.leader().mark(site!(Kernel, "k"));
    prof.leader().mark(site!(Mark, "k", by = quad));
}

fn main() {}
