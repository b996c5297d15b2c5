//! Chrome's JSON, written event by event.

use std::fmt;
use std::io::{self, Write};
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::export::sink::{Argument, Event, Name, Sink, Suffix, Track};
use crate::model::Trace;
use crate::source::notes;

pub(super) struct Chrome<'t, W> {
    trace: &'t Trace,
    writer: W,
    /// Whether an event was written already.
    started: bool,
    /// Process and thread of what follows.
    on: (u32, u64),
    /// Of each site, by what follows its name, the members of an event without arguments.
    sites: Vec<[Option<Rc<str>>; Suffix::COUNT]>,
}

impl<'t, W: Write> Chrome<'t, W> {
    /// Writes the head.
    pub(super) fn new(trace: &'t Trace, mut writer: W) -> io::Result<Self> {
        writer.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let sites = vec![[const { None }; Suffix::COUNT]; trace.sites.len()];
        Ok(Self { trace, writer, started: false, on: (0, 0), sites })
    }

    /// Writes the tail: what holds for the whole trace.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let cost = trace.record_cost;
        let diagnostics: Vec<String> =
            trace.diagnostics.list.iter().map(ToString::to_string).collect();
        let other = json!({
            "device": notes::device(&trace.device),
            "emulated": trace.device.emulated,
            "driver": trace.device.driver,
            "recorded": trace.recorded(),
            "lost": trace.lost(),
            "origin_ns": trace.origin_ns,
            "resolution_ns": trace.resolution_ns,
            "alignment_ns": trace.alignment_ns,
            "clock_mhz": trace.clock_mhz,
            "record_cost_inside_ticks": cost.map(|cost| cost.one_lane.inside_ticks()),
            "record_cost_total_ticks": cost.map(|cost| cost.one_lane.total_ticks()),
            "record_cost": cost,
            "record_cost_subtracted": trace.cost_subtracted,
            "diagnostics": diagnostics,
        });
        self.writer.write_all(b"\n],\"otherData\":")?;
        serde_json::to_writer(&mut self.writer, &other)?;
        self.writer.write_all(b"}\n")
    }

    fn separate(&mut self) -> io::Result<()> {
        self.writer.write_all(if self.started { b",\n" } else { b"\n" })?;
        self.started = true;
        Ok(())
    }

    /// An event on the selected track, of a phase (which needs no escape), with the `rest` of its
    /// members, which is what an object holds within its braces.
    fn event(&mut self, phase: &str, ns: u64, duration: Option<u64>, rest: &str) -> io::Result<()> {
        self.separate()?;
        let (process, track) = self.on;
        write!(
            self.writer,
            "{{\"ph\":\"{phase}\",\"pid\":{process},\"tid\":{track},\"ts\":{}",
            Microseconds(ns)
        )?;
        if let Some(duration) = duration {
            write!(self.writer, ",\"dur\":{}", Microseconds(duration))?;
        }
        if phase == "i" {
            // It is one of its thread.
            self.writer.write_all(b",\"s\":\"t\"")?;
        }
        write!(self.writer, ",{rest}}}")
    }

    fn metadata(&mut self, kind: &str, on: (u32, u64), name: &str, value: Value) -> io::Result<()> {
        let event = json!({
            "ph": "M", "name": kind, "pid": on.0, "tid": on.1, "args": { name: value },
        });
        self.separate()?;
        Ok(serde_json::to_writer(&mut self.writer, &event)?)
    }

    fn flows(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        for id in &event.flows_from {
            let rest = json!({ "id": id, "cat": "signal", "name": "signal" });
            self.event("s", ns, None, &members(&rest)?)?;
        }
        for id in &event.flows_to {
            let rest = json!({ "id": id, "cat": "signal", "name": "signal", "bp": "e" });
            self.event("f", ns, None, &members(&rest)?)?;
        }
        Ok(())
    }

    /// An event with a name and what is known of it.
    fn named(
        &mut self,
        phase: &str,
        ns: u64,
        duration: Option<u64>,
        event: &Event<'_>,
    ) -> io::Result<()> {
        let known = match (event.site, event.name) {
            (Some(site), Name::Site { suffix, .. })
                if event.value.is_none() && event.others.is_empty() =>
            {
                Some((site.0 as usize, suffix as usize))
            }
            _ => None,
        };
        let text = known.and_then(|(site, suffix)| self.sites.get(site)?[suffix].clone());
        let rest = match text {
            Some(text) => text,
            None => {
                let rest: Rc<str> = self.describe(event)?.into();
                if let Some((site, suffix)) = known
                    && let Some(site) = self.sites.get_mut(site)
                {
                    site[suffix] = Some(Rc::clone(&rest));
                }
                rest
            }
        };
        self.event(phase, ns, duration, &rest)
    }

    fn describe(&self, event: &Event<'_>) -> io::Result<String> {
        let mut rest = Map::new();
        rest.insert("name".into(), event.name.text().into());
        let mut arguments = Map::new();
        for (name, argument) in event.arguments() {
            arguments.insert(name.into(), value(argument));
        }
        let site = event.site.and_then(|site| self.trace.sites.get(site.0 as usize));
        // A kernel that nobody annotated has no place.
        if let Some(site) = site.filter(|site| !site.file.is_empty()) {
            let place = format!("{}:{}:{}", site.file, site.line, site.column);
            arguments.insert("source".into(), place.into());
        }
        if !arguments.is_empty() {
            rest.insert("args".into(), arguments.into());
        }
        members(&rest.into())
    }
}

/// The members of an object, without the braces.
fn members(object: &Value) -> io::Result<String> {
    let text = serde_json::to_string(object)?;
    let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    Ok(inner.unwrap_or_default().to_owned())
}

impl<W: Write> Sink for Chrome<'_, W> {
    fn process(&mut self, id: u32, name: &str) -> io::Result<()> {
        self.metadata("process_name", (id, 0), "name", name.into())?;
        self.metadata("process_sort_index", (id, 0), "sort_index", id.into())
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        // Counters belong to the process, and have their names with each value.
        if track.group || track.unit.is_some() {
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
        self.named("X", ns, Some(end_ns.saturating_sub(ns)), event)?;
        self.flows(ns, event)
    }

    fn end(&mut self, _ns: u64) -> io::Result<()> {
        // Complete events say their duration when they begin.
        Ok(())
    }

    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        if event.flows_from.is_empty() && event.flows_to.is_empty() {
            return self.named("i", ns, None, event);
        }
        // Arrows bind to slices only, so the ends of one are slices without duration.
        self.named("X", ns, Some(0), event)?;
        self.flows(ns, event)
    }

    fn counter(&mut self, ns: u64, track: &str, value: i64) -> io::Result<()> {
        let rest = json!({ "name": track, "args": { "value": value as f64 } });
        self.event("C", ns, None, &members(&rest)?)
    }
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

/// Nanoseconds in the unit of the format, with the digits after the point that make them whole.
struct Microseconds(u64);

impl fmt::Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
