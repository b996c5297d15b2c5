//! Spans of host threads, on the axis of the GPU's timer.

use std::collections::HashMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::display::counted;
use crate::json::float;
use crate::model::{Launch, Site};
use crate::units::duration;

/// The host's part of a session, as it was recorded, with times of the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostCapture {
    /// Readings of both clocks, in order of time.
    pub clock: Vec<ClockPair>,
    /// Names of the threads that recorded.
    pub threads: Vec<String>,
    /// Their spans, in any order.
    pub spans: Vec<HostRecord>,
}

impl HostCapture {
    /// Checks what a file must have.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.clock.is_empty() || !self.clock.is_sorted_by_key(|pair| pair.host_ns) {
            return Err("host.clock is not a row of readings in order of time".to_owned());
        }
        let is_wrong = |span: &HostRecord| span.thread as usize >= self.threads.len();
        match self.spans.iter().position(is_wrong) {
            None => Ok(()),
            Some(span) => Err(format!("host.spans[{span}].thread is not the number of a thread")),
        }
    }
}

/// A reading of both clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockPair {
    /// The host's monotonic clock, in nanoseconds from a moment of its own.
    pub host_ns: u64,
    /// `%globaltimer`, in nanoseconds.
    pub device_ns: u64,
    /// The largest possible time between the two readings, in nanoseconds.
    #[serde(with = "float")]
    pub uncertainty_ns: f64,
}

/// A span of a host thread, as it was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Index into [`HostCapture::threads`].
    pub thread: u32,
    /// Its name; of a launch, the kernel's, as its module has it.
    pub name: String,
    /// Whether it is the call that launched a kernel. A call that was refused is none.
    pub is_launch: bool,
    /// Its begin, in nanoseconds of [`ClockPair::host_ns`].
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
}

/// The spans of the host, on the trace's axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostTrace {
    /// The threads that recorded something.
    pub threads: Vec<HostThread>,
    /// The largest possible error of these times against those of the GPU at the readings of both
    /// clocks, in nanoseconds. Between two readings the clocks are assumed to run evenly.
    pub uncertainty_ns: f64,
}

/// A thread of the host and its spans.
#[derive(Clone, Debug, PartialEq)]
pub struct HostThread {
    /// Its name.
    pub name: String,
    /// Its spans in order of their begin; of two that begin together, the longer first.
    pub spans: Vec<HostSpan>,
}

/// A span of a host thread.
#[derive(Clone, Debug, PartialEq)]
pub struct HostSpan {
    /// Its name; of a launch, the kernel's.
    pub name: String,
    /// Its begin, in nanoseconds on the trace's axis; it may be before 0.
    pub start_ns: f64,
    /// Its end.
    pub end_ns: f64,
    /// Its kind.
    pub kind: HostSpanKind,
}

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostSpanKind {
    /// A span that the program named.
    Span,
    /// The call that launched a kernel, with the index into
    /// [`Trace::launches`](crate::Trace::launches) if the launch is certain. It is certain if as
    /// many launches of the kernel were recorded as called, and each has a
    /// [number](Launch::grid_id) of its own, which gives the order of the calls in all streams. It
    /// is not certain if the kernel was also launched outside the session or replayed by a CUDA
    /// graph, if no warp of a launch was recorded, or if the compiler chose the kernel's name in
    /// the module (as for a generic kernel).
    Launch(Option<usize>),
}

impl HostTrace {
    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// All spans, thread by thread.
    pub fn spans(&self) -> impl Iterator<Item = &HostSpan> {
        self.threads.iter().flat_map(|thread| &thread.spans)
    }

    /// Moves the recorded spans to the axis that begins at `origin`, a reading of the timer.
    pub(crate) fn new(
        capture: &HostCapture,
        origin: u64,
        launches: &[Launch],
        sites: &[Site],
    ) -> Self {
        let mut calls: Vec<&HostRecord> = capture.spans.iter().filter(|it| it.is_launch).collect();
        calls.sort_by_key(|call| call.start_ns);
        let launched = launched_by(&calls, launches, sites);
        let mut threads: Vec<HostThread> = (capture.threads.iter())
            .map(|name| HostThread { name: name.clone(), spans: Vec::new() })
            .collect();
        let mut add = |record: &HostRecord, kind| {
            let [start_ns, end_ns] =
                [record.start_ns, record.end_ns].map(|ns| to_axis(&capture.clock, ns, origin));
            if let Some(thread) = threads.get_mut(record.thread as usize) {
                let name = record.name.clone();
                thread.spans.push(HostSpan { name, start_ns, end_ns, kind });
            }
        };
        for record in capture.spans.iter().filter(|record| !record.is_launch) {
            add(record, HostSpanKind::Span);
        }
        for (call, launch) in calls.into_iter().zip(launched) {
            add(call, HostSpanKind::Launch(launch));
        }
        threads.retain(|thread| !thread.spans.is_empty());
        for thread in &mut threads {
            thread.spans.sort_by(|left, right| {
                let starts = left.start_ns.total_cmp(&right.start_ns);
                starts.then(right.end_ns.total_cmp(&left.end_ns))
            });
        }
        let uncertainty = capture.clock.iter().map(|pair| pair.uncertainty_ns);
        Self { threads, uncertainty_ns: uncertainty.fold(0.0, f64::max) }
    }
}

impl fmt::Display for HostTrace {
    /// The numbers of threads, spans and calls, the calls without a certain launch, and the
    /// uncertainty of the times.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_call = |span: &&HostSpan| matches!(span.kind, HostSpanKind::Launch(_));
        let calls = self.spans().filter(is_call).count();
        let spans = self.spans().count() - calls;
        write!(
            f,
            "{}, {}, {}",
            counted(self.threads.len() as u64, "thread"),
            counted(spans as u64, "span"),
            counted(calls as u64, "launch call"),
        )?;
        match self.spans().filter(|span| span.kind == HostSpanKind::Launch(None)).count() {
            0 => f.write_str(", ")?,
            uncertain => write!(f, " ({uncertain} not matched with a launch), ")?,
        }
        match self.uncertainty_ns {
            0.0 => f.write_str("on the clock of the device itself"),
            ns => write!(f, "within {} of the device's clock where both were read", duration(ns)),
        }
    }
}

/// The launch of each call, with the calls in order of their begin; `None` if it is not certain.
///
/// In several streams launches may begin in another order than they were called in. `%gridid` keeps
/// that order: it is the launch's number in its context (PTX ISA, "Special Registers: %gridid"), and
/// a part of what the host queues, as a replayed graph shows, which repeats it.
fn launched_by(calls: &[&HostRecord], launches: &[Launch], sites: &[Site]) -> Vec<Option<usize>> {
    let mut kernels: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (index, call) in calls.iter().enumerate() {
        kernels.entry(&call.name).or_default().0.push(index);
    }
    for (index, launch) in launches.iter().enumerate() {
        let site = sites.get(launch.kernel.0 as usize);
        let name = site.map(|site| site.symbol.as_deref().unwrap_or(&site.name));
        if let Some((_, of_kernel)) = name.and_then(|name| kernels.get_mut(name)) {
            of_kernel.push(index);
        }
    }
    let mut launched = vec![None; calls.len()];
    for (callers, mut of_kernel) in kernels.into_values() {
        of_kernel.sort_by_key(|&launch| launches[launch].grid_id);
        let number = |launch: usize| launches[launch].grid_id;
        let are_in_order = callers.len() == of_kernel.len()
            && of_kernel.windows(2).all(|pair| number(pair[0]) < number(pair[1]))
            // Of calls at the same time it is not known which came first.
            && callers.windows(2).all(|pair| calls[pair[0]].end_ns <= calls[pair[1]].start_ns);
        if are_in_order {
            for (caller, launch) in callers.into_iter().zip(of_kernel) {
                launched[caller] = Some(launch);
            }
        }
    }
    launched
}

/// A time of the host on the axis that begins at `origin`. Before the first pair and after the last
/// both clocks run alike; between two, as fast as the pairs say.
fn to_axis(clock: &[ClockPair], host_ns: u64, origin: u64) -> f64 {
    let apart = |from: u64, to: u64| (i128::from(to) - i128::from(from)) as f64;
    let next = clock.partition_point(|pair| pair.host_ns <= host_ns);
    let Some(before) = next.checked_sub(1).and_then(|at| clock.get(at)).or(clock.first()) else {
        return host_ns as f64;
    };
    let rate = match clock.get(next) {
        Some(after) if next > 0 => {
            apart(before.device_ns, after.device_ns) / apart(before.host_ns, after.host_ns)
        }
        _ => 1.0,
    };
    apart(origin, before.device_ns) + rate * apart(before.host_ns, host_ns)
}

#[cfg(test)]
mod tests {
    use super::{ClockPair, to_axis};

    /// A timer of today, which has no room in a double for single nanoseconds.
    const NOW: u64 = 1_763_700_000_000_000_000;

    #[test]
    fn times_are_mapped_through_the_readings_around_them() {
        let pair = |host_ns, device_ns| ClockPair { host_ns, device_ns, uncertainty_ns: 1.0 };
        let clock = [pair(1_000, NOW + 500), pair(2_000, NOW + 1_000), pair(3_000, NOW + 3_000)];
        let on_axis = |host_ns| to_axis(&clock, host_ns, NOW);
        assert_eq!([0, 1_000, 1_500, 2_000].map(on_axis), [-500.0, 500.0, 750.0, 1_000.0]);
        assert_eq!([2_001, 2_500, 3_000, 4_000].map(on_axis), [1_002.0, 2_000.0, 3_000.0, 4_000.0]);
    }

    #[test]
    fn readings_of_any_kind_give_a_number() {
        let pair = |host_ns, device_ns| ClockPair { host_ns, device_ns, uncertainty_ns: 0.0 };
        for clock in [vec![], vec![pair(5, 5), pair(5, 9)], vec![pair(u64::MAX, 0)]] {
            for host_ns in [0, 5, 6, u64::MAX] {
                assert!(to_axis(&clock, host_ns, u64::MAX).is_finite(), "{clock:?} {host_ns}");
            }
        }
    }
}
