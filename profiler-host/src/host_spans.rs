//! The host's spans: those that the program names, and its launches.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use profiler_trace::{ClockPair, HostCapture, HostRecord};

/// Records spans of host threads, which the timeline shows beside the GPU's. Clones record into one
/// place, from any thread.
///
/// ```
/// use profiler_host::{Backend, BackendChoice, HostRecorder, Profiler};
///
/// # fn main() -> Result<(), profiler_host::Error> {
/// let host = HostRecorder::new();
/// let backend = Backend::choose(BackendChoice::Auto, None)?;
/// let values = host.in_span("copy to the device", || backend.upload(&[1.0_f32; 1024]))?;
/// let mut session = backend.session(&Profiler::builder().host(&host).build()?)?;
/// // Launches of the session are recorded by themselves.
/// {
///     let _span = host.span("copy back");
///     values.read()?;
/// }
/// let trace = session.finish()?;
/// assert_eq!(trace.host.threads[0].spans[0].name, "copy to the device");
/// # Ok(()) }
/// ```
///
/// A span takes two readings of the host's clock and some fifty bytes of memory until the recorder
/// is dropped or [cleared](Self::clear).
///
/// # One axis
///
/// The host's clock is not the GPU's. A session reads both at its begin and whenever it reads
/// records back: it launches a kernel that reads `%globaltimer`, many times, each between two
/// readings of the host's clock, and takes what all of them allow.
/// [`HostTrace::uncertainty_ns`](profiler_trace::HostTrace::uncertainty_ns) is what is left. On the
/// emulator both clocks are read by the host at the begin and the end of each launch, with no
/// uncertainty; while no kernel runs, its virtual clock stands still, and so does what the host does
/// between two launches.
#[derive(Clone)]
pub struct HostRecorder(Arc<Shared>);

struct Shared {
    /// What the times of the host count from.
    begin: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    threads: Vec<(ThreadId, String)>,
    spans: Vec<HostRecord>,
}

impl State {
    /// The number of the calling thread.
    fn thread(&mut self) -> u32 {
        let current = thread::current();
        let known = self.threads.iter().position(|(id, _)| *id == current.id());
        let index = known.unwrap_or_else(|| {
            let number = self.threads.len();
            let name = current.name().map_or_else(|| format!("thread {number}"), str::to_owned);
            self.threads.push((current.id(), name));
            number
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}

impl HostRecorder {
    /// One that has recorded nothing.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Shared { begin: Instant::now(), state: Mutex::default() }))
    }

    /// Begins a span on the calling thread's track. It ends when the value is dropped: bind it to a
    /// name, `let _span = host.span("copy");`. It cannot leave its thread:
    ///
    /// ```compile_fail,E0277
    /// let host = profiler_host::HostRecorder::new();
    /// let span = host.span("copy");
    /// std::thread::scope(|scope| scope.spawn(move || drop(span)).join());
    /// ```
    #[must_use = "the span ends when this is dropped; bind it to a name such as `_span`"]
    pub fn span(&self, name: impl Into<String>) -> HostSpan<'_> {
        let (name, start_ns) = (name.into(), self.now_ns());
        HostSpan { recorder: self, name, start_ns, thread: PhantomData }
    }

    /// Does something in a span.
    pub fn in_span<T>(&self, name: impl Into<String>, work: impl FnOnce() -> T) -> T {
        let _span = self.span(name);
        work()
    }

    /// Forgets all spans that have ended.
    pub fn clear(&self) {
        self.with(|state| state.spans.clear());
    }

    /// Nanoseconds since the recorder was made.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.0.begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// A span of the calling thread that has ended.
    fn ended(&self, name: String, is_launch: bool, start_ns: u64) -> HostRecord {
        let end_ns = self.now_ns();
        let thread = self.with(State::thread);
        HostRecord { thread, name, is_launch, start_ns, end_ns }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        // A thread that panicked while it held this left whole spans behind.
        change(&mut self.0.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for HostRecorder {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for HostRecorder {
    /// Two recorders are equal if they record into one place.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for HostRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spans = self.with(|state| state.spans.len());
        f.debug_struct("HostRecorder").field("spans", &spans).finish_non_exhaustive()
    }
}

/// A span of the host that has not ended; made by [`HostRecorder::span`].
#[derive(Debug)]
pub struct HostSpan<'r> {
    recorder: &'r HostRecorder,
    name: String,
    start_ns: u64,
    /// Not `Send`: where it ends is where it began.
    thread: PhantomData<*const ()>,
}

impl Drop for HostSpan<'_> {
    fn drop(&mut self) {
        let record = self.recorder.ended(std::mem::take(&mut self.name), false, self.start_ns);
        self.recorder.with(|state| state.spans.push(record));
    }
}

/// What a session keeps for a recorder: its launches, and readings of both clocks. Clones are of one
/// session, so that who watches it has them too.
#[derive(Clone, Debug)]
pub(crate) struct HostLog {
    recorder: HostRecorder,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    launches: Vec<HostRecord>,
    clock: Vec<ClockPair>,
}

impl HostLog {
    pub(crate) fn new(recorder: HostRecorder) -> Self {
        Self { recorder, kept: Arc::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Kept) -> T) -> T {
        // Nothing panics that holds this.
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Nanoseconds of the host's clock.
    pub(crate) fn now_ns(&self) -> u64 {
        self.recorder.now_ns()
    }

    /// Notes a launch whose call began then and ends now.
    pub(crate) fn launched(&self, kernel: &str, start_ns: u64) {
        let call = self.recorder.ended(kernel.to_owned(), true, start_ns);
        self.with(|kept| kept.launches.push(call));
    }

    /// Notes what both clocks said. Readings of one moment of the host are one.
    pub(crate) fn read_both(&self, pair: ClockPair) {
        self.with(|Kept { clock, .. }| {
            if clock.last().is_none_or(|last| last.host_ns < pair.host_ns) {
                clock.push(pair);
            }
        });
    }

    /// Forgets the launches.
    pub(crate) fn reset(&self) {
        self.with(|kept| kept.launches.clear());
    }

    /// All that was recorded so far. `now` is taken where the clocks were not read before.
    pub(crate) fn capture(&self, now: Option<ClockPair>) -> HostCapture {
        // First, as a thread is known before the first call of it is noted, and stays so.
        let (mut clock, launches) = self.with(|kept| (kept.clock.clone(), kept.launches.clone()));
        let (threads, mut spans) = self.recorder.with(|state| {
            let threads = state.threads.iter().map(|(_, name)| name.clone()).collect();
            (threads, state.spans.clone())
        });
        spans.extend(launches);
        if spans.is_empty() {
            return HostCapture::default();
        }
        if clock.is_empty() {
            clock.extend(now);
        }
        HostCapture { clock, threads, spans }
    }
}

#[cfg(test)]
mod tests {
    use super::{HostLog, HostRecorder};
    use profiler_trace::ClockPair;

    #[test]
    fn spans_are_of_their_threads_and_end_where_they_are_dropped() {
        let host = HostRecorder::new();
        let outer = host.span("outer");
        host.in_span("inner", || ());
        let other = host.clone();
        let named = std::thread::Builder::new().name("loader".to_owned());
        let loader = named.spawn(move || other.in_span("load", || ())).expect("a thread");
        loader.join().expect("it does not panic");
        drop(outer);
        let log = HostLog::new(host.clone());
        log.launched("kernel", log.now_ns());
        let pair = ClockPair { host_ns: 0, device_ns: 7, uncertainty_ns: 1.0 };
        assert_eq!(log.capture(Some(pair)).clock, [pair]);
        log.read_both(pair);
        log.read_both(pair);
        let capture = log.capture(None);
        assert_eq!((capture.clock.len(), capture.threads.len()), (1, 2));
        assert!(capture.threads.contains(&"loader".to_owned()));
        let span = |name: &str| capture.spans.iter().find(|span| span.name == name).expect("it");
        assert_ne!(span("load").thread, span("outer").thread);
        assert_eq!(span("inner").thread, span("outer").thread);
        assert!(span("outer").start_ns <= span("inner").start_ns);
        assert!(span("inner").end_ns <= span("outer").end_ns);
        assert!(span("kernel").is_launch && !span("inner").is_launch);
        log.reset();
        host.clear();
        assert!(log.capture(Some(pair)).spans.is_empty());
    }

    #[test]
    fn who_watches_knows_the_thread_of_each_call() {
        let log = HostLog::new(HostRecorder::new());
        std::thread::scope(|scope| {
            for _ in 0..200 {
                scope.spawn(|| log.launched("kernel", log.now_ns()));
                let capture = log.capture(None);
                let threads = capture.threads.len();
                assert!(capture.spans.iter().all(|span| (span.thread as usize) < threads));
            }
        });
        assert_eq!(log.capture(None).spans.len(), 200);
    }
}
