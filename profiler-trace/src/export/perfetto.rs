//! Perfetto's native format: a stream of packets, one or two for a slice.
//!
//! Repeated data is written once: names, argument names, units and source positions are interned,
//! the track of an event is the default that [`Sink::select`] sets, and times are deltas on a clock
//! of the packet sequence's own. A slice of a microsecond, with its place in the source and no
//! arguments, takes 27 bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};

use crate::export::proto::{
    AnnotationValue, BOOTTIME, CHILDREN_BY_RANK, COUNTER, Clock, ClockSnapshot, CounterDescriptor,
    DebugAnnotation, INCREMENTAL_STATE_CLEARED, INSTANT, InternedData, InternedString, NEVER_MERGE,
    PACKET_FIELD, ProcessDescriptor, SEQUENCE, SEQUENCE_CLOCK, SLICE_BEGIN, SLICE_END, ShortEvent,
    ShortPacket, SourceLocation, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
    TrackEventDefaults, most_bytes,
};
use crate::export::sink::{Argument, Event, Name, Sink, Suffix, Track};
use crate::model::{SiteIndex, Trace, Value};

/// Names beyond this many bytes are cut, as the length of a packet is limited.
const LONGEST_NAME: usize = 1 << 20;

pub(super) struct Perfetto<'t, W> {
    trace: &'t Trace,
    writer: W,
    buffer: Vec<u8>,
    /// The time of the sequence's clock.
    now: u64,
    names: Interner,
    /// Of each site, what is known of it, so that no text is made for each event.
    sites: Vec<KnownSite>,
    /// The names of arguments; there are some twenty of them.
    argument_names: Vec<&'static str>,
    texts: Interner,
    /// The number of places in the source that have a number.
    places: u64,
}

/// Interned numbers of a site.
#[derive(Clone, Default)]
struct KnownSite {
    /// Of its name, by what follows the name.
    names: [Option<u64>; Suffix::COUNT],
    /// Of its place in the source.
    place: Option<u64>,
    /// Of the unit of its values.
    unit: Option<u64>,
}

/// Interned numbers of an event.
struct Known {
    name: u64,
    place: u64,
    /// Of the unit of its value.
    unit: Option<u64>,
}

/// The names of arguments that have a number from the begin, so that nothing looks for them.
const FIRST_ARGUMENTS: [&str; 2] = ["value", "unit"];
const VALUE: u64 = 1;
const UNIT: u64 = 2;

/// Numbers texts from 1 in the order of their first use.
#[derive(Default)]
struct Interner(HashMap<String, u64>);

impl Interner {
    /// The number of a text that has one.
    fn known(&self, text: &str) -> Option<u64> {
        self.0.get(text).copied()
    }

    /// The number of a text, and whether it is new.
    fn get(&mut self, text: &str) -> (u64, bool) {
        if let Some(iid) = self.known(text) {
            return (iid, false);
        }
        let next = self.0.len() as u64 + 1;
        self.0.insert(text.to_owned(), next);
        (next, true)
    }
}

impl<'t, W: Write> Perfetto<'t, W> {
    /// Writes the head of the trace: the sequence and its clock.
    pub(super) fn new(trace: &'t Trace, writer: W) -> io::Result<Self> {
        let mut this = Self {
            trace,
            writer,
            buffer: Vec::new(),
            now: 0,
            names: Interner::default(),
            sites: vec![KnownSite::default(); trace.sites.len()],
            argument_names: FIRST_ARGUMENTS.to_vec(),
            texts: Interner::default(),
            places: 0,
        };
        let clock = |clock_id, is_incremental| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(0),
            is_incremental,
        };
        let names = (1..).zip(FIRST_ARGUMENTS);
        this.packet(TracePacket {
            first_packet_on_sequence: Some(true),
            interned_data: Some(InternedData {
                debug_annotation_names: names.map(|(iid, name)| string(iid, name.into())).collect(),
                ..InternedData::default()
            }),
            sequence_flags: Some(INCREMENTAL_STATE_CLEARED),
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![clock(BOOTTIME, None), clock(SEQUENCE_CLOCK, Some(true))],
            }),
            ..TracePacket::default()
        })?;
        Ok(this)
    }

    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: Some(SEQUENCE), ..packet };
        self.buffer.clear();
        prost::encoding::message::encode(PACKET_FIELD, &packet, &mut self.buffer);
        self.writer.write_all(&self.buffer)
    }

    /// Time since the last event. Events of a track are in order; where the next track goes back in
    /// time, the difference wraps, as two's complement does.
    fn delta(&mut self, ns: u64) -> u64 {
        let delta = ns.wrapping_sub(self.now);
        self.now = ns;
        delta
    }

    /// The numbers of an event that has nothing but a site and a value and has them already.
    fn known(&self, event: &Event<'_>) -> Option<Known> {
        let (Name::Site { suffix, .. }, Some(site)) = (event.name, event.site) else { return None };
        let is_short =
            event.others.is_empty() && event.flows_from.is_empty() && event.flows_to.is_empty();
        let site = self.sites.get(site.0 as usize).filter(|_| is_short)?;
        let unit = if event.unit.is_some() { Some(site.unit?) } else { None };
        Some(Known { name: site.names[suffix as usize]?, place: site.place?, unit })
    }

    fn known_event(
        &mut self,
        kind: u32,
        ns: u64,
        Known { name, place, unit }: Known,
        value: Option<Value>,
    ) -> io::Result<()> {
        let ns = self.delta(ns);
        let Some(value) = value else {
            let event = ShortEvent { name, place, arguments: [] };
            let packet = ShortPacket::<{ most_bytes(0) }>::event(ns, kind, Some(event));
            return self.writer.write_all(packet.bytes());
        };
        let value = match value {
            Value::Unsigned(value) => AnnotationValue::Unsigned(value),
            Value::Signed(value) => AnnotationValue::Signed(value),
            Value::Float(value) => AnnotationValue::Float(value),
        };
        let unit = unit.map(|unit| (UNIT, AnnotationValue::TextIid(unit)));
        let event = ShortEvent { name, place, arguments: [Some((VALUE, value)), unit] };
        let packet = ShortPacket::<{ most_bytes(2) }>::event(ns, kind, Some(event));
        self.writer.write_all(packet.bytes())
    }

    /// The number of an argument's name that has one.
    fn argument_name(&self, name: &str) -> Option<u64> {
        let at = self.argument_names.iter().position(|known| *known == name)?;
        Some(at as u64 + 1)
    }

    /// The value of an argument, unless it is a text without a number.
    fn argument_value(&self, argument: Argument<'_>) -> Option<AnnotationValue> {
        Some(match argument {
            Argument::Unsigned(value) => AnnotationValue::Unsigned(value),
            Argument::Signed(value) => AnnotationValue::Signed(value),
            Argument::Float(value) => AnnotationValue::Float(value),
            Argument::Bool(value) => AnnotationValue::Bool(value),
            Argument::Text(text) => AnnotationValue::TextIid(self.texts.known(&clean(text))?),
        })
    }

    fn event(&mut self, kind: u32, ns: u64, event: &Event<'_>) -> io::Result<()> {
        if let Some(known) = self.known(event) {
            return self.known_event(kind, ns, known, event.value);
        }
        let mut interned = InternedData::default();
        let name = self.name(event, &mut interned);
        let place = event.site.and_then(|site| self.place(site, &mut interned));
        let debug_annotations = (event.arguments())
            .map(|(name, argument)| self.argument(name, argument, &mut interned))
            .collect();
        let site = event.site.and_then(|site| self.sites.get_mut(site.0 as usize));
        if let (Some(unit), Some(site)) = (event.unit, site) {
            site.unit = self.texts.known(&clean(unit));
        }
        let track_event = TrackEvent {
            r#type: Some(kind),
            name_iid: Some(name),
            source_location_iid: place,
            debug_annotations,
            flow_ids: event.flows_from.clone(),
            terminating_flow_ids: event.flows_to.clone(),
            ..TrackEvent::default()
        };
        let packet = TracePacket {
            timestamp: Some(self.delta(ns)),
            track_event: Some(track_event),
            interned_data: (interned != InternedData::default()).then_some(interned),
            ..TracePacket::default()
        };
        self.packet(packet)
    }

    fn name(&mut self, event: &Event<'_>, interned: &mut InternedData) -> u64 {
        let known = match (event.site, event.name) {
            (Some(site), Name::Site { suffix, .. }) => {
                self.sites.get_mut(site.0 as usize).map(|site| &mut site.names[suffix as usize])
            }
            _ => None,
        };
        if let Some(&mut Some(iid)) = known {
            return iid;
        }
        let text = event.name.text();
        let text = clean(&text);
        let (iid, new) = self.names.get(&text);
        if new {
            interned.event_names.push(string(iid, text.into_owned()));
        }
        if let Some(known) = known {
            *known = Some(iid);
        }
        iid
    }

    fn place(&mut self, index: SiteIndex, interned: &mut InternedData) -> Option<u64> {
        if self.trace.site(index).file.is_empty() {
            return None;
        }
        let known = self.sites.get_mut(index.0 as usize)?;
        if known.place.is_none() {
            self.places += 1;
            known.place = Some(self.places);
            let site = self.trace.site(index);
            interned.source_locations.push(SourceLocation {
                iid: known.place,
                file_name: Some(clean(&site.file).into_owned()),
                function_name: (!site.module.is_empty()).then(|| clean(&site.module).into_owned()),
                line_number: Some(site.line),
            });
        }
        known.place
    }

    fn argument(
        &mut self,
        name: &'static str,
        argument: Argument<'_>,
        interned: &mut InternedData,
    ) -> DebugAnnotation {
        if self.argument_name(name).is_none() {
            self.argument_names.push(name);
            let iid = self.argument_names.len() as u64;
            interned.debug_annotation_names.push(string(iid, name.to_owned()));
        }
        if let Argument::Text(text) = argument {
            let text = clean(text);
            let (iid, new) = self.texts.get(&text);
            if new {
                interned.debug_annotation_string_values.push(string(iid, text.into_owned()));
            }
        }
        DebugAnnotation { name_iid: self.argument_name(name), value: self.argument_value(argument) }
    }
}

impl<W: Write> Sink for Perfetto<'_, W> {
    fn process(&mut self, id: u32, name: &str) -> io::Result<()> {
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(process_uuid(id)),
                process: Some(ProcessDescriptor {
                    pid: Some(i32::try_from(id).map_err(io::Error::other)?),
                    process_name: Some(clean(name).into_owned()),
                }),
                child_ordering: Some(CHILDREN_BY_RANK),
                ..TrackDescriptor::default()
            }),
            ..TracePacket::default()
        })
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        let description = track.description;
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(track_uuid(track.id)),
                parent_uuid: Some(track.parent.map_or(process_uuid(track.process), track_uuid)),
                name: Some(clean(track.name).into_owned()),
                description: (!description.is_empty()).then(|| clean(description).into_owned()),
                child_ordering: Some(CHILDREN_BY_RANK),
                sibling_order_rank: Some(i32::try_from(track.rank).map_err(io::Error::other)?),
                sibling_merge_behavior: Some(NEVER_MERGE),
                counter: track
                    .unit
                    .map(|unit| CounterDescriptor { unit_name: Some(unit.to_owned()) }),
                process: None,
            }),
            ..TracePacket::default()
        })
    }

    fn select(&mut self, _process: u32, track: u64) -> io::Result<()> {
        self.packet(TracePacket {
            trace_packet_defaults: Some(TracePacketDefaults {
                track_event_defaults: Some(TrackEventDefaults {
                    track_uuid: Some(track_uuid(track)),
                }),
                timestamp_clock_id: Some(SEQUENCE_CLOCK),
            }),
            ..TracePacket::default()
        })
    }

    fn begin(&mut self, ns: u64, _end_ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(SLICE_BEGIN, ns, event)
    }

    fn end(&mut self, ns: u64) -> io::Result<()> {
        let packet = ShortPacket::<{ most_bytes(0) }>::event::<0>(self.delta(ns), SLICE_END, None);
        self.writer.write_all(packet.bytes())
    }

    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(INSTANT, ns, event)
    }

    fn counter(&mut self, ns: u64, _track: &str, value: f64) -> io::Result<()> {
        // Whole numbers take less buffer as such.
        let is_whole = value.fract() == 0.0;
        let track_event = TrackEvent {
            r#type: Some(COUNTER),
            counter_value: is_whole.then_some(value as i64),
            double_counter_value: (!is_whole).then_some(value),
            ..TrackEvent::default()
        };
        let timestamp = Some(self.delta(ns));
        let track_event = Some(track_event);
        self.packet(TracePacket { timestamp, track_event, ..TracePacket::default() })
    }
}

/// Processes and tracks share one space of identifiers, in which 0 has a meaning of its own.
fn process_uuid(id: u32) -> u64 {
    u64::from(id) << 1 | 1
}

fn track_uuid(id: u64) -> u64 {
    id << 1
}

fn string(iid: u64, name: String) -> InternedString {
    InternedString { iid: Some(iid), name: Some(name) }
}

/// Text that the trace processor shows whole: it ends strings at a NUL.
fn clean(text: &str) -> Cow<'_, str> {
    let mut end = text.len().min(LONGEST_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    if text.contains('\0') {
        return text.replace('\0', "\u{2400}").into();
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NAME, clean};

    #[test]
    fn long_texts_are_cut_between_characters() {
        let of_three_bytes = "\u{2192}".repeat(LONGEST_NAME / 3 + 1);
        let text = clean(&of_three_bytes);
        assert_eq!((text.len(), LONGEST_NAME % 3), (LONGEST_NAME - 1, 1));
        assert!(of_three_bytes.starts_with(&*text));
        assert_eq!(clean("a\0b"), "a\u{2400}b");
    }
}
