//! Ends the process when a thread of a kernel runs for ever: it spins on an atomic of `core`, which lets no other
//! thread of the emulator run. Nothing can take its place: at an arbitrary instruction it can be neither suspended
//! nor unwound.

use std::io::Write;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::block::thread_index;
use crate::config::{LaunchConfig, Threads};
use crate::context::RunningThread;
use crate::place::{self, Carrier};
use crate::race::Hidden;

/// The bytes of stack that a thread needs beside its own to say where it is.
const PLACE_BYTES: usize = 256 << 10;
/// Looks of the monitor in which a thread must not have suspended. A process that was stopped for long misses one.
const LOOKS: u32 = 8;

/// Which thread of a launch runs.
#[derive(Debug, Default)]
struct Turns {
    /// How often a thread began to run, and how often one suspended or ended: odd while one runs.
    count: AtomicU64,
    /// Its block, x in the lower half, and its linear index there.
    block: AtomicU64,
    thread: AtomicU32,
}

impl Turns {
    fn count(&self) -> u64 {
        // Whoever sees a count sees which thread it is of, or a later one.
        self.count.load(Ordering::Acquire)
    }
}

/// A launch whose threads are watched.
#[derive(Debug)]
struct Watched {
    turns: Arc<Turns>,
    limit: Duration,
    kernel: &'static str,
    dims: [u32; 3],
    /// The operating system's thread that all its threads run on, if it can say where.
    carrier: Option<Carrier>,
    /// The count of turns at the last look.
    seen: u64,
    /// The time that has passed since it first was that, in looks.
    quiet: Duration,
}

impl Watched {
    /// Between two looks; no more is counted of the time between them, however late the second is.
    fn interval(&self) -> Duration {
        self.limit / LOOKS
    }

    /// Whether the same thread has run for as long as the limit, given the time since the last look.
    fn is_stuck(&mut self, elapsed: Duration) -> bool {
        let count = self.turns.count();
        if count != self.seen || count.is_multiple_of(2) {
            (self.seen, self.quiet) = (count, Duration::ZERO);
            return false;
        }
        self.quiet += elapsed.min(self.interval());
        // Eighths are rounded down.
        self.quiet >= self.interval() * LOOKS
    }

    fn running(&self) -> RunningThread {
        let block = self.turns.block.load(Ordering::Relaxed);
        // The grid's extents: 31, 16 and 16 bits.
        let block = [block as u32, (block >> 32) as u32 & 0xffff, (block >> 48) as u32];
        let thread = self.turns.thread.load(Ordering::Relaxed) as usize;
        RunningThread { kernel: self.kernel, block, thread: thread_index(thread, self.dims) }
    }

    /// Says which thread waits for ever and ends the process, unless the thread has gone on meanwhile.
    fn end_process(&self) {
        let (thread, limit) = (self.running(), self.limit);
        if self.turns.count() != self.seen {
            return;
        }
        // From here on there is no way back: a thread that was asked in an allocation cannot go on.
        // SAFETY: the carrier is in the launch, which it cannot end as long as the monitor has the lock.
        let place = self.carrier.and_then(|carrier| unsafe { place::of(carrier) });
        let place =
            place.map(|place| format!("\n  it was last seen at {place}")).unwrap_or_default();
        let text = format!(
            "\nerror: {thread} has run for {limit:?} and lets no other thread run: it seems to wait for ever, in \
             the emulator{place}\nWait by profiler_kernel::atomic::spin_until, or call \
             profiler_emulator::yield_now in every turn of a loop that waits: an atomic alone lets no other thread of the emulator run. If the \
             thread computes for so long, raise LaunchConfig::spin_limit (Backend::emulator takes the \
             configuration).\n"
        );
        // The process ends, whether or not somebody reads why.
        let _ = std::io::stderr().write_all(text.as_bytes());
        std::process::abort();
    }
}

/// The launches that are watched, and how the monitor looks at them.
struct Monitor {
    watched: Vec<Watched>,
    is_running: bool,
    /// It looks again after this time; `MAX` if it waits for a launch.
    interval: Duration,
}

static MONITOR: Mutex<Monitor> =
    Mutex::new(Monitor { watched: Vec::new(), is_running: false, interval: Duration::MAX });
static CHANGED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Monitor> {
    // Nothing that holds the lock can panic; a poisoned lock would still hold a whole value.
    MONITOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn monitor() {
    let _hidden = Hidden::new();
    let mut monitor = lock();
    loop {
        let interval = monitor.watched.iter().map(Watched::interval).min();
        monitor.interval = interval.unwrap_or(Duration::MAX);
        let began = Instant::now();
        monitor = match interval {
            None => CHANGED.wait(monitor).unwrap_or_else(PoisonError::into_inner),
            Some(interval) => {
                let waited = CHANGED.wait_timeout(monitor, interval);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        let elapsed = began.elapsed();
        for watched in &mut monitor.watched {
            if watched.is_stuck(elapsed) {
                watched.end_process();
            }
        }
    }
}

/// Watches the threads of a launch while it lives.
pub(crate) struct Watch(Arc<Turns>);

impl Watch {
    /// Called by the thread that runs the launch.
    pub(crate) fn new(config: &LaunchConfig, kernel: &'static str) -> Self {
        let turns = Arc::<Turns>::default();
        if config.spin_limit != Duration::MAX {
            let carried = config.threads == Threads::Coroutines
                && !cfg!(profiler_os_threads)
                && config.stack_bytes >= PLACE_BYTES;
            let watched = Watched {
                turns: Arc::clone(&turns),
                limit: config.spin_limit,
                kernel,
                dims: config.block,
                carrier: carried.then(place::carrier),
                seen: 0,
                quiet: Duration::ZERO,
            };
            let mut all = lock();
            // Without a monitor a launch is not watched; it runs all the same.
            all.is_running |= !all.is_running
                && Builder::new().name("gpu-watchdog".into()).spawn(monitor).is_ok();
            if watched.interval() < all.interval {
                CHANGED.notify_one();
            }
            all.watched.push(watched);
        }
        Self(turns)
    }

    /// A thread begins to run, or to run again. Until [`has_run`](Self::has_run), nothing else happens.
    pub(crate) fn runs(&self, [x, y, z]: [u32; 3], thread: usize) {
        let block = u64::from(x) | u64::from(y) << 32 | u64::from(z) << 48;
        self.0.block.store(block, Ordering::Relaxed);
        // A block has at most 1024 threads.
        self.0.thread.store(thread as u32, Ordering::Relaxed);
        self.count();
    }

    /// The thread has suspended or ended.
    pub(crate) fn has_run(&self) {
        self.count();
    }

    fn count(&self) {
        // One thread counts at a time.
        self.0.count.store(self.0.count.load(Ordering::Relaxed) + 1, Ordering::Release);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut all = lock();
        if let Some(at) = all.watched.iter().position(|of| Arc::ptr_eq(&of.turns, &self.0)) {
            all.watched.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(limit: Duration) -> Watched {
        Watched {
            turns: Arc::default(),
            limit,
            kernel: "kernel",
            dims: [8, 4, 1],
            carrier: None,
            seen: 0,
            quiet: Duration::ZERO,
        }
    }

    #[test]
    fn a_thread_is_stuck_once_it_has_run_for_the_limit_without_a_turn() {
        const LIMIT: Duration = Duration::from_secs(8);
        let mut of = watched(LIMIT);
        let watch = Watch(Arc::clone(&of.turns));
        let looks = |of: &mut Watched, count: u32| {
            (0..count).map(|_| of.is_stuck(LIMIT / LOOKS)).filter(|is_stuck| *is_stuck).count()
        };
        watch.runs([3, 2, 1], 9);
        assert_eq!(looks(&mut of, 1 + 7), 0);
        watch.has_run();
        assert_eq!(looks(&mut of, 100), 0, "none runs");
        watch.runs([4, 3, 2], 10);
        assert_eq!(looks(&mut of, 1 + 7), 0, "another turn");
        assert_eq!(looks(&mut of, 1), 1);
        assert_eq!(
            of.running().to_string(),
            "thread [2, 1, 0] of block [4, 3, 2] of kernel `kernel`"
        );
        watch.has_run();
        watch.runs([0x7fff_fffe, 0xfffe, 0xffff], 0);
        assert_eq!(of.running().block, [0x7fff_fffe, 0xfffe, 0xffff]);
    }

    /// A debugger or a laptop that sleeps stops the kernel as well.
    #[test]
    fn a_process_that_was_stopped_is_not_judged_by_that_time() {
        let mut of = watched(Duration::from_secs(8));
        Watch(Arc::clone(&of.turns)).runs([0; 3], 0);
        assert!(!of.is_stuck(Duration::ZERO));
        assert!(!of.is_stuck(Duration::from_secs(3600)));
        assert_eq!(of.quiet, Duration::from_secs(1));
    }

    #[test]
    fn a_limit_too_short_to_be_divided_ends_as_well() {
        let mut of = watched(Duration::from_nanos(1));
        Watch(Arc::clone(&of.turns)).runs([0; 3], 0);
        assert!(!of.is_stuck(Duration::from_secs(1)));
        assert!(of.is_stuck(Duration::from_secs(1)));
    }
}
