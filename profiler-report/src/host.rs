//! The host's threads: rows above those of the GPU in the timeline.

use std::collections::HashMap;
use std::ops::Range;

use profiler_trace::{HostSpan, HostSpanKind, HostThread, Trace};
use serde_json::{Value, json};

use crate::detail::{MAX_LAYERS, layer};
use crate::nesting::finite;
use crate::overview::Axis;
use crate::text::things;

/// The number of spans in a page: the longest.
const MAX_SPANS: usize = 20_000;
/// The timeline opens with all spans of the host if they last at most so many times the GPU's time.
const WIDEST_VIEW: f64 = 4.0;

/// The rows of the host's threads.
pub(crate) struct Host<'t> {
    /// The extent of the timeline; at least the GPU's time.
    limits: Axis,
    threads: Vec<(&'t HostThread, Vec<&'t HostSpan>)>,
    left_out: usize,
    /// The number of spans outside of these limits.
    outside: usize,
}

impl<'t> Host<'t> {
    /// `whole` is the GPU's time in the trace, `axis` the part that the timeline shows.
    pub(crate) fn new(
        trace: &'t Trace,
        whole: Axis,
        axis: Axis,
        window: Option<&Range<f64>>,
    ) -> Self {
        let ends = trace.host.spans().flat_map(|span| [start(span), end(span)]);
        let reach = ends
            .fold(whole, |reach, ns| Axis { start: reach.start.min(ns), end: reach.end.max(ns) });
        let limits = reach.within(window).unwrap_or(axis);
        let is_in = |span: &&HostSpan| start(span) <= limits.end && end(span) >= limits.start;
        let mut lengths: Vec<f64> = trace.host.spans().filter(is_in).map(length).collect();
        let outside = trace.host.spans().count() - lengths.len();
        let left_out = lengths.len().saturating_sub(MAX_SPANS);
        lengths.sort_by(|left, right| right.total_cmp(left));
        // Of equally long spans at the limit, only as many as fit are kept.
        let shortest = lengths.get(MAX_SPANS).copied().unwrap_or(f64::NEG_INFINITY);
        let mut buffer =
            MAX_SPANS - lengths.iter().take(MAX_SPANS).filter(|ns| **ns > shortest).count();
        let mut is_kept = |span: &&HostSpan| {
            if !is_in(span) || length(span) < shortest {
                return false;
            }
            let fits = length(span) > shortest || buffer > 0;
            buffer -= usize::from(fits && length(span) == shortest);
            fits
        };
        let mut threads = Vec::new();
        for thread in &trace.host.threads {
            let spans: Vec<_> = thread.spans.iter().filter(|span| is_kept(span)).collect();
            if !spans.is_empty() {
                threads.push((thread, spans));
            }
        }
        Self { limits, threads, left_out, outside }
    }

    /// The data of the page's script: for each thread its spans in order of their begin, each as begin,
    /// length, index of its name, and layer; a call that launches has in addition the launch (-1 if it is
    /// not known) and its begin from the call's begin.
    pub(crate) fn data(&self, trace: &Trace, axis: Axis) -> Value {
        let mut names: Vec<&str> = Vec::new();
        let mut index: HashMap<&str, usize> = HashMap::new();
        let mut threads = Vec::new();
        for (thread, spans) in &self.threads {
            let mut ends = Vec::new();
            let spans = spans.iter().map(|span| {
                let (start, end) = (start(span), end(span));
                let layer = layer(&mut ends, start, end).min(MAX_LAYERS - 1);
                let name = *index.entry(&span.name).or_insert_with(|| {
                    names.push(&span.name);
                    names.len() - 1
                });
                let mut row = vec![tenths(start), tenths(end - start), name.into(), layer.into()];
                if let HostSpanKind::Launch(launch) = span.kind {
                    let known = launch.and_then(|at| Some((at, trace.launches.get(at)?)));
                    row.push(known.map_or((-1).into(), |(at, _)| at.into()));
                    row.extend(known.map(|(_, launch)| tenths(finite(launch.start_ns) - start)));
                }
                Value::from(row)
            });
            let spans: Vec<Value> = spans.collect();
            threads.push(json!({ "name": thread.name, "spans": spans }));
        }
        let home = if self.opens_with_all(axis) { self.limits } else { axis };
        let pair = |axis: Axis| json!({ "start": axis.start, "end": axis.end });
        json!({ "limits": pair(self.limits), "home": pair(home), "names": names, "threads": threads })
    }

    fn opens_with_all(&self, axis: Axis) -> bool {
        axis.length() <= 0.0 || self.limits.length() <= WIDEST_VIEW * axis.length()
    }

    /// The note below the timeline about these rows.
    pub(crate) fn note(&self, trace: &Trace, axis: Axis) -> Option<String> {
        if trace.host.is_empty() {
            return None;
        }
        let mut note = format!(
            "Threads of the host are above the GPU's rows: {}. Calls that launch have a stronger \
             colour.",
            trace.host
        );
        if self.outside > 0 {
            let spans = things(self.outside as u64, "span lies", "spans lie");
            note += &format!(" Of these, {spans} outside of the window and not in this page.");
        }
        if self.left_out > 0 {
            let spans = things(self.left_out as u64, "span", "spans");
            note += &format!(" Left out of this page: {spans}, the shortest.");
        }
        if !self.opens_with_all(axis) {
            note += " The timeline opens at the kernels; Show all, or 0, shows all of the host.";
        }
        Some(note)
    }
}

fn start(span: &HostSpan) -> f64 {
    finite(span.start_ns)
}

fn end(span: &HostSpan) -> f64 {
    finite(span.end_ns).max(start(span))
}

fn length(span: &HostSpan) -> f64 {
    end(span) - start(span)
}

/// Nanoseconds with one decimal.
fn tenths(ns: f64) -> Value {
    ((ns * 10.0).round() / 10.0).into()
}
