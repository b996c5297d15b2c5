//! The tracks of the host's threads, and the arrows from the calls that launch to what they launch.

use std::collections::HashMap;
use std::io;

use super::{Item, Node, Walk, What, item};
use crate::export::arrows::Axis;
use crate::export::rows::nest;
use crate::export::sink::{Argument, Event, Sink};
use crate::host::{HostSpan, HostSpanKind, HostThread};
use crate::model::Trace;
use crate::source::WarpSource;
use crate::units::duration;

/// The arrows from calls to the kernel of the warp that entered first, by launch and by warp.
pub(super) struct Calls {
    of_launch: HashMap<usize, u64>,
    of_warp: HashMap<usize, u64>,
}

impl Calls {
    pub(super) fn new(trace: &Trace, axis: &Axis) -> Self {
        let mut calls = Self { of_launch: HashMap::new(), of_warp: HashMap::new() };
        for span in trace.host.spans() {
            let HostSpanKind::Launch(Some(launch)) = span.kind else { continue };
            let Some(warps) = trace.launches.get(launch).map(|launch| launch.warps.clone()) else {
                continue;
            };
            let entry = |warp: usize| trace.warps.get(warp).map(|warp| warp.entry.ns);
            let first = warps.min_by(|&left, &right| {
                entry(left)
                    .unwrap_or(f64::INFINITY)
                    .total_cmp(&entry(right).unwrap_or(f64::INFINITY))
            });
            let Some((warp, entry)) = first.and_then(|warp| Some((warp, entry(warp)?))) else {
                continue;
            };
            // Where the clocks are so uncertain that a kernel seems to run before it was launched,
            // no viewer can draw that.
            if axis.round(span.start_ns) <= axis.round(entry) {
                // After the numbers of the arrows from signals to waits.
                let flow = (trace.edges.len() + launch + 1) as u64;
                calls.of_launch.insert(launch, flow);
                calls.of_warp.insert(warp, flow);
            }
        }
        calls
    }

    /// The arrow that ends where this warp enters its kernel.
    pub(super) fn to_warp(&self, warp: usize) -> Option<u64> {
        self.of_warp.get(&warp).copied()
    }
}

impl<S: WarpSource, K: Sink> Walk<'_, S, K> {
    /// The host as a process, with a track for each thread. It comes before the launches: of what
    /// happens in one nanosecond, viewers take what stands first for the tail of an arrow.
    pub(super) fn host(&mut self) -> io::Result<()> {
        let trace = self.trace;
        if trace.host.is_empty() {
            return Ok(());
        }
        // After those of the launches, of which there is one in any case.
        self.process(trace.launches.len().max(1) + 1, "host")?;
        let mut root = Node::root();
        for thread in &trace.host.threads {
            let description = format!(
                "a thread of the host; its times are within {} of the device's where both clocks were read",
                duration(trace.host.uncertainty_ns)
            );
            let mut node = self.track(&mut root, &thread.name, &description, false)?;
            self.rows(&mut node, nest(items(thread)))?;
        }
        Ok(())
    }

    pub(super) fn host_event<'e>(&self, span: &'e HostSpan) -> Event<'e> {
        let mut event = Event::text(&span.name);
        if let HostSpanKind::Launch(launch) = span.kind {
            event = event.with("is_launch", Argument::Bool(true));
            if let Some(launch) = launch {
                event = event.with("launch", Argument::Unsigned(launch as u64));
                event.flows_from.extend(self.calls.of_launch.get(&launch));
            }
        }
        event
    }
}

fn items(thread: &HostThread) -> Vec<Item<What<'_>>> {
    let spans = thread.spans.iter();
    spans.map(|span| item(span.start_ns, span.end_ns, 0, What::Host(span))).collect()
}
