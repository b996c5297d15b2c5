//! Looking at kernels while they run, and a number that they read and the host writes meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use cust::memory::LockedBuffer;
use profiler_host::{BackendChoice, Trace, Watch};

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

/// Memory of the host, which on a GPU is page-locked: the GPU knows it by the same address.
pub(crate) enum Flag {
    Locked(LockedBuffer<u32>),
    Plain(Box<u32>),
}

// SAFETY: through a shared flag the number is only touched atomically; the memory belongs to no thread.
unsafe impl Sync for Flag {}

impl Flag {
    /// 0. With `BackendChoice::Gpu` a context must be there.
    pub(crate) fn new(choice: BackendChoice) -> Self {
        match choice {
            BackendChoice::Gpu => {
                Self::Locked(LockedBuffer::new(&0, 1).expect("page-locked memory"))
            }
            _ => Self::Plain(Box::new(0)),
        }
    }

    /// What kernels get.
    pub(crate) fn as_ptr(&self) -> *const u32 {
        match self {
            Self::Locked(locked) => locked.as_ptr(),
            Self::Plain(number) => &raw const **number,
        }
    }

    /// Sets it to 1 when `look` has returned, or has panicked: what waits for it must not hang.
    pub(crate) fn raise_after<R>(&self, look: impl FnOnce() -> R) -> R {
        let result = catch_unwind(AssertUnwindSafe(look));
        self.raise();
        result.unwrap_or_else(|payload| resume_unwind(payload))
    }

    /// Sets it to 1.
    pub(crate) fn raise(&self) {
        self.set(1);
    }

    /// Sets it to 0 again.
    pub(crate) fn lower(&self) {
        self.set(0);
    }

    fn set(&self, number: u32) {
        // SAFETY: the memory is live and aligned, and while it is shared all touch it atomically.
        unsafe { AtomicU32::from_ptr(self.as_ptr().cast_mut()) }.store(number, Ordering::Relaxed);
    }
}
