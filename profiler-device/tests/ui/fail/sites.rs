//! Kernels and lists have macros of their own. (What no rule of `site!` takes hides all later errors of a file.)
use profiler_device::{Recorder, site};

fn device(prof: Recorder<'_>) {
    prof.leader().mark(site!(Kernel, "k"));
    prof.leader().mark(site!(Mark, "k", by = quad));
}

fn main() {}
