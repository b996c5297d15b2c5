//! Looking at kernels while they run.

use std::time::{Duration, Instant};

use profiler_host::{Trace, Watch};

/// Longer than any of this takes; what would wait for ever fails then.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// Takes snapshots until one is as asked for; where none is, gives up.
pub(crate) fn wait_for(
    watch: &Watch,
    give_up: impl FnOnce(),
    is_it: impl Fn(&Trace) -> bool,
) -> Trace {
    let begin = Instant::now();
    loop {
        let trace = watch.snapshot().expect("a snapshot");
        if is_it(&trace) {
            return trace;
        }
        if begin.elapsed() > LIMIT {
            give_up();
            panic!("nothing of the kind in {LIMIT:?}: {trace:?}");
        }
        std::thread::yield_now();
    }
}
