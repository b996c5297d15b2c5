//! The progress of work that takes long.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

thread_local! {
    /// The counter of this thread's work.
    static WATCHED: RefCell<Option<Progress>> = const { RefCell::new(None) };
}

/// Counts the steps of work that is watched, one pass after the other. A clone counts the same work,
/// so that another thread can show how far it has come.
///
/// A pass has a name and a number of steps: most go through the warps of a trace. Long work in this
/// crate, in `profiler-report` and in `profiler-parquet` counts. Work that is not watched counts nothing.
///
/// ```
/// # fn decode(capture: &profiler_trace::Capture) {
/// use profiler_trace::{Progress, decode};
///
/// let progress = Progress::default();
/// let trace = progress.watch(|| decode(capture));
/// assert_eq!((progress.pass(), progress.done()), ("warps decoded", trace.warps.len() as u64));
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// The name and the steps of the pass that began last.
    pass: Mutex<(&'static str, u64)>,
    done: AtomicU64,
}

impl Progress {
    /// Does work whose steps count here: those that are done on this thread, and on threads that a
    /// [`Decoder`](crate::Decoder) starts for it.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(WATCHED.replace(Some(self.clone())));
        work()
    }

    /// What the steps of the current pass are, such as "warps decoded"; empty before the first.
    #[must_use]
    pub fn pass(&self) -> &'static str {
        self.lock().0
    }

    /// The number of steps of the current pass. Some may be left out.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.lock().1
    }

    /// The number of steps of the current pass that are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, (&'static str, u64)> {
        self.0.pass.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watcher of this thread's work.
    pub(crate) fn current() -> Option<Self> {
        WATCHED.with_borrow(Clone::clone)
    }

    /// Called by the work: a pass of so many steps begins. Its name says what the steps are.
    pub fn expect(pass: &'static str, steps: usize) {
        if let Some(watched) = Self::current() {
            *watched.lock() = (pass, steps as u64);
            watched.0.done.store(0, Ordering::Relaxed);
        }
    }

    /// Called by the work: a step is done.
    pub fn step() {
        WATCHED.with_borrow(|watched| {
            if let Some(Self(counts)) = watched {
                counts.done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }

    /// Called by the work: counts each item as a step when the next item is taken.
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

/// Watches as before when it is dropped, also where the work panics.
struct Before(Option<Progress>);

impl Drop for Before {
    fn drop(&mut self) {
        WATCHED.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn steps_count_where_they_are_watched_and_in_each_pass_from_zero() {
        let (outer, inner) = (Progress::default(), Progress::default());
        Progress::step();
        outer.watch(|| {
            Progress::expect("a pass before", 2);
            Progress::each([1, 2]).for_each(drop);
            Progress::expect("things", 3);
            Progress::step();
            inner.watch(|| Progress::each([1, 2]).for_each(drop));
            Progress::step();
        });
        Progress::step();
        assert_eq!((outer.pass(), outer.expected(), outer.done()), ("things", 3, 2));
        assert_eq!((inner.pass(), inner.expected(), inner.done()), ("", 0, 2));
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
