//! The progress of work that takes long.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    /// The counter of this thread's work.
    static WATCHED: RefCell<Option<Progress>> = const { RefCell::new(None) };
}

/// Counts the steps of work that is watched. A clone counts the same work, so that another thread
/// can show how far it has come.
///
/// A step is a warp of a trace that was gone through once, or a row of a comparison that was
/// tested. Long work in this crate, in `profiler-report` and in `profiler-parquet` announces its
/// number of steps before the first one, and counts them. Work that is not watched counts nothing.
///
/// The remaining steps should tell the remaining time. So work that takes longer than a warp counts
/// as several steps, and shorter work as a [part](Self::weighing) of one.
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
#[derive(Clone, Debug)]
pub struct Progress {
    counts: Arc<Counts>,
    /// The parts that a step counts.
    parts: u64,
}

/// All in parts of a step.
#[derive(Debug, Default)]
struct Counts {
    expected: AtomicU64,
    done: AtomicU64,
    /// Planned parts that the work itself has not yet expected.
    planned: AtomicU64,
}

/// Parts of a step.
const PARTS: u64 = 16;

impl Default for Progress {
    fn default() -> Self {
        Self { counts: Arc::default(), parts: PARTS }
    }
}

impl Progress {
    /// Does work whose steps count here: those that are done on this thread, and on threads that a
    /// [`Decoder`](crate::Decoder) starts for it.
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> T {
        let _before = Before(WATCHED.replace(Some(self.clone())));
        work()
    }

    /// Called by the work: each step in it counts this many sixteenths of a step.
    pub fn weighing<T>(sixteenths: u64, work: impl FnOnce() -> T) -> T {
        match Self::current() {
            Some(Self { counts, parts }) => {
                let parts = parts.saturating_mul(sixteenths) / PARTS;
                Self { counts, parts }.watch(work)
            }
            None => work(),
        }
    }

    /// The number of steps that the work will take, as far as it is known. It may grow, and some
    /// may be left out.
    #[must_use]
    pub fn expected(&self) -> u64 {
        self.counts.expected.load(Ordering::Relaxed) / PARTS
    }

    /// The number of steps that are done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.counts.done.load(Ordering::Relaxed) / PARTS
    }

    /// The watcher of this thread's work.
    pub(crate) fn current() -> Option<Self> {
        WATCHED.with_borrow(Clone::clone)
    }

    /// Called by the work: so many steps will follow on this thread.
    pub fn expect(steps: usize) {
        WATCHED.with_borrow(|watched| {
            let Some(Self { counts, parts }) = watched else { return };
            let parts = parts.saturating_mul(steps as u64);
            let left = |planned: u64| Some(planned.saturating_sub(parts));
            // Always some, so that this never fails.
            let planned = counts.planned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
            let new = parts.saturating_sub(planned.unwrap_or(0));
            counts.expected.fetch_add(new, Ordering::Relaxed);
        });
    }

    /// Called by work in several parts, each of which expects its own steps: this many will follow
    /// in all, which is then known before the first part is done.
    pub fn plan(steps: usize) {
        Self::expect(steps);
        WATCHED.with_borrow(|watched| {
            if let Some(Self { counts, parts }) = watched {
                counts.planned.fetch_add(parts.saturating_mul(steps as u64), Ordering::Relaxed);
            }
        });
    }

    /// Called by the work: a step is done.
    pub fn step() {
        Self::steps(1);
    }

    fn steps(steps: u64) {
        WATCHED.with_borrow(|watched| {
            if let Some(Self { counts, parts }) = watched {
                counts.done.fetch_add(parts.saturating_mul(steps), Ordering::Relaxed);
            }
        });
    }

    /// Spreads steps over a total of other work, such as bytes. The work calls the function with each part
    /// of the total that it has done.
    pub fn spread(steps: usize, total: usize) -> impl FnMut(usize) {
        let mut spread = Spread { steps: steps as u64, total: total as u64, done: 0, counted: 0 };
        move |done| spread.add(done)
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

/// Steps that are spread over work of another measure. The steps that are left count when this is dropped.
struct Spread {
    steps: u64,
    total: u64,
    done: u64,
    counted: u64,
}

impl Spread {
    fn add(&mut self, done: usize) {
        self.done = self.done.saturating_add(done as u64).min(self.total);
        let steps = u128::from(self.steps) * u128::from(self.done) / u128::from(self.total.max(1));
        let steps = steps as u64;
        Progress::steps(steps - self.counted);
        self.counted = steps;
    }
}

impl Drop for Spread {
    fn drop(&mut self) {
        Progress::steps(self.steps - self.counted);
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
    fn what_was_planned_is_not_expected_twice() {
        let progress = Progress::default();
        let expected = |steps: usize| {
            progress.watch(|| Progress::expect(steps));
            progress.expected()
        };
        progress.watch(|| Progress::plan(10));
        assert_eq!([expected(4), expected(6), expected(3)], [10, 10, 13]);
        progress.watch(|| Progress::plan(2));
        assert_eq!([expected(5), expected(1)], [18, 19]);
    }

    #[test]
    fn a_light_step_is_a_part_of_one() {
        let progress = Progress::default();
        progress.watch(|| {
            Progress::weighing(1, || {
                Progress::expect(32);
                Progress::each(0..31).for_each(drop);
                assert_eq!((progress.expected(), progress.done()), (2, 1));
                // Weights within weights.
                Progress::weighing(256, Progress::step);
                Progress::weighing(0, Progress::step);
            });
            Progress::step();
        });
        assert_eq!((progress.expected(), progress.done()), (2, 3));
        Progress::weighing(1, Progress::step);
    }

    #[test]
    fn steps_are_spread_over_other_work_and_end_with_it() {
        let progress = Progress::default();
        progress.watch(|| {
            let mut spread = Progress::spread(10, 1_000);
            let mut done = |work: usize| {
                spread(work);
                progress.done()
            };
            assert_eq!([done(99), done(1), done(450), done(5_000)], [0, 1, 5, 10]);
            let mut spread = Progress::spread(7, 0);
            spread(1);
            assert_eq!(progress.done(), 10);
            drop(spread);
        });
        assert_eq!(progress.done(), 17);
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
