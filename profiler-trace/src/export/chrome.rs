//! Chrome's JSON, written event by event.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::export::sink::{Argument, Event, Sink, Track};
use crate::export::text;
use crate::model::{RegionForm, Trace};
use crate::record_cost::{FormCosts, Wait, Waits};

pub(super) struct Chrome<'t, W> {
    trace: &'t Trace,
    writer: W,
    /// Whether an event was written already.
    started: bool,
    /// Process and thread of what follows.
    on: (u32, u64),
}

impl<'t, W: Write> Chrome<'t, W> {
    /// Writes the head.
    pub(super) fn new(trace: &'t Trace, mut writer: W) -> io::Result<Self> {
        writer.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        Ok(Self { trace, writer, started: false, on: (0, 0) })
    }

    /// Writes the tail: what holds for the whole trace.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let cost = trace.record_cost;
        let diagnostics: Vec<String> =
            trace.diagnostics.list.iter().map(ToString::to_string).collect();
        let other = json!({
            "device": text::device(&trace.device),
            "emulated": trace.device.emulated,
            "driver": trace.device.driver,
            "recorded": trace.recorded(),
            "lost": trace.lost(),
            "origin_ns": trace.origin_ns,
            "resolution_ns": trace.resolution_ns,
            "alignment_ns": trace.alignment_ns,
            "clock_mhz": trace.clock_mhz,
            "record_cost_inside_ticks": cost.map(|cost| cost.one_lane.inside_ticks(RegionForm::Block)),
            "record_cost_total_ticks": cost.map(|cost| cost.one_lane.total_ticks(RegionForm::Block)),
            "record_cost": cost.map(|cost| json!({
                "one_lane": costs(&cost.one_lane),
                "elected": costs(&cost.elected),
            })),
            "record_cost_subtracted": trace.cost_subtracted,
            "diagnostics": diagnostics,
        });
        self.writer.write_all(b"\n],\"otherData\":")?;
        serde_json::to_writer(&mut self.writer, &other)?;
        self.writer.write_all(b"}\n")
    }

    fn write(&mut self, event: &Map<String, Value>) -> io::Result<()> {
        self.writer.write_all(if self.started { b",\n" } else { b"\n" })?;
        self.started = true;
        Ok(serde_json::to_writer(&mut self.writer, event)?)
    }

    fn metadata(&mut self, kind: &str, on: (u32, u64), name: &str, value: Value) -> io::Result<()> {
        let event = json!({
            "ph": "M", "name": kind, "pid": on.0, "tid": on.1, "args": { name: value },
        });
        event.as_object().map_or(Ok(()), |event| self.write(event))
    }

    fn common(&self, phase: &str, ns: u64) -> Map<String, Value> {
        let mut event = Map::new();
        event.insert("ph".into(), phase.into());
        event.insert("pid".into(), self.on.0.into());
        event.insert("tid".into(), self.on.1.into());
        event.insert("ts".into(), microseconds(ns));
        event
    }

    fn flows(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        let ends = event.flows_from.iter().map(|id| ("s", id));
        for (phase, id) in ends.chain(event.flows_to.iter().map(|id| ("f", id))) {
            let mut flow = self.common(phase, ns);
            flow.insert("id".into(), (*id).into());
            flow.insert("cat".into(), "signal".into());
            flow.insert("name".into(), "signal".into());
            if phase == "f" {
                flow.insert("bp".into(), "e".into());
            }
            self.write(&flow)?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for Chrome<'_, W> {
    fn process(&mut self, id: u32, name: &str) -> io::Result<()> {
        self.metadata("process_name", (id, 0), "name", name.into())?;
        self.metadata("process_sort_index", (id, 0), "sort_index", id.into())
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        if track.group {
            return Ok(());
        }
        let on = (track.process, track.id);
        self.metadata("thread_name", on, "name", track.path.into())?;
        self.metadata("thread_sort_index", on, "sort_index", track.id.into())
    }

    fn select(&mut self, process: u32, track: u64) -> io::Result<()> {
        self.on = (process, track);
        Ok(())
    }

    fn begin(&mut self, ns: u64, end_ns: u64, event: &Event<'_>) -> io::Result<()> {
        let mut slice = self.common("X", ns);
        slice.insert("dur".into(), microseconds(end_ns.saturating_sub(ns)));
        self.named(slice, event)
    }

    fn end(&mut self, _ns: u64) -> io::Result<()> {
        // Complete events say their duration when they begin.
        Ok(())
    }

    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        if event.flows_from.is_empty() && event.flows_to.is_empty() {
            let mut instant = self.common("i", ns);
            instant.insert("s".into(), "t".into());
            return self.named(instant, event);
        }
        // Arrows bind to slices only, so the ends of one are slices without duration.
        let mut slice = self.common("X", ns);
        slice.insert("dur".into(), microseconds(0));
        self.named(slice, event)?;
        self.flows(ns, event)
    }
}

impl<W: Write> Chrome<'_, W> {
    fn named(&mut self, mut slice: Map<String, Value>, event: &Event<'_>) -> io::Result<()> {
        slice.insert("name".into(), event.name.text().into());
        let mut arguments = Map::new();
        for &(name, argument) in &event.arguments {
            arguments.insert(name.into(), value(argument));
        }
        if let Some(site) = event.site.and_then(|site| self.trace.sites.get(site.0 as usize)) {
            let place = format!("{}:{}:{}", site.file, site.line, site.column);
            arguments.insert("source".into(), place.into());
        }
        if !arguments.is_empty() {
            slice.insert("args".into(), arguments.into());
        }
        self.write(&slice)
    }
}

/// Every stamp's ticks, before and behind it, and the waits behind a record.
fn costs(costs: &FormCosts) -> Value {
    let wait = |wait: Wait| {
        json!({
            "mean_ticks": wait.mean_ticks,
            "most_ticks": wait.most_ticks,
        })
    };
    let Waits { nested, begin, end, record } = costs.waits;
    let waits = json!({
        "nested": wait(nested),
        "begin": wait(begin),
        "end": wait(end),
        "record": wait(record),
    });
    let stamps = costs.stamps().into_iter().map(|(name, cost)| {
        let ticks = json!({
            "before_ticks": cost.before_ticks,
            "after_ticks": cost.after_ticks,
        });
        (name.to_owned(), ticks)
    });
    Value::Object(stamps.chain([("waits".to_owned(), waits)]).collect())
}

fn value(argument: Argument<'_>) -> Value {
    match argument {
        Argument::Unsigned(value) => value.into(),
        Argument::Signed(value) => value.into(),
        // JSON has no number for infinity and none for what is not a number.
        Argument::Float(value) if !value.is_finite() => value.to_string().into(),
        Argument::Float(value) => value.into(),
        Argument::Bool(value) => value.into(),
        Argument::Text(value) => value.into(),
    }
}

/// The unit of the format. A double holds the three decimals of any time below 11 days.
fn microseconds(ns: u64) -> Value {
    (ns as f64 / 1000.0).into()
}
