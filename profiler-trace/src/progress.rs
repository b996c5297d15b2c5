//! How far work has come, for whoever waits for it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// What counts the work of this thread.
    static WATCHED: RefCell<Option<Progress>> = const { RefCell::new(None) };
}

/// Counts the steps of work that is watched. A clone counts the same work, so that another thread
/// can show how far it has come.
///
/// A step is a warp of a trace that was gone through once, or a row of a comparison that was tested.
/// What takes long in this crate, in `profiler-report` and in `profiler-parquet` says how many steps
/// it will take, and counts them. What is not watched counts nothing.
///
/// ```
/// # fn decode(capture: &profiler_trace::Capture) {
/// use profiler_trace::{Progress, decode};
///
/// let progress = Progress::default();
/// let trace = progress.watch(|| decode(capture));
/// assert_eq!(progress.done(), trace.warps.len() as u64);
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress {
    /// Does work whose steps count here: those that are done on this thread, and on threads that a
    /// [`Decoder`](crate::Decoder) starts for it.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        /// Watches as before, also where the work panics.
        struct Before(Option<Progress>);
        impl Drop for Before {
            fn drop(&mut self) {
                WATCHED.set(self.0.take());
            }
        }
        let _before = Before(WATCHED.replace(Some(self.clone())));
        work()
    }

    /// How many steps the work will take, as far as that is known. It may grow, and some may be left
    /// out.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.0.expected.load(Ordering::Relaxed)
    }

    /// How many steps are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// What watches the work of this thread.
    pub(crate) fn current() -> Option<Self> {
        WATCHED.with_borrow(Clone::clone)
    }

    /// For what does the work: so many steps will follow on this thread.
    pub fn expect(steps: usize) {
        WATCHED.with_borrow(|watched| {
            if let Some(progress) = watched {
                progress.0.expected.fetch_add(steps as u64, Ordering::Relaxed);
            }
        });
    }

    /// For what does the work: a step is done.
    pub fn step() {
        WATCHED.with_borrow(|watched| {
            if let Some(progress) = watched {
                progress.0.done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// For what does the work: counts each item as a step when the next is asked for.
    pub fn each<Item>(items: impl IntoIterator<Item = Item>) -> impl Iterator<Item = Item> {
        let mut is_first = true;
        let mut items = items.into_iter();
        std::iter::from_fn(move || {
            if !std::mem::take(&mut is_first) {
                Self::step();
            }
            items.next()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn steps_count_where_they_are_watched() {
        let (outer, inner) = (Progress::default(), Progress::default());
        Progress::step();
        outer.watch(|| {
            Progress::expect(3);
            Progress::step();
            inner.watch(|| Progress::each([1, 2]).for_each(drop));
            Progress::step();
        });
        Progress::step();
        assert_eq!((outer.expected(), outer.done()), (3, 2));
        assert_eq!((inner.expected(), inner.done()), (0, 2));
    }

    #[test]
    fn work_that_panics_is_watched_no_longer() {
        let progress = Progress::default();
        let watched = progress.clone();
        let work = move || watched.watch(|| panic!("on purpose"));
        assert!(std::panic::catch_unwind(work).is_err());
        Progress::step();
        assert_eq!(progress.done(), 0);
    }
}
