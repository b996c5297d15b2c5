//! Perfetto's native format: a stream of packets, one or two for a slice.
//!
//! What repeats is written once: names, argument names, units and source positions are interned, the
//! track of an event is the default that [`Sink::select`] sets, and times are deltas on a clock of
//! the packet sequence's own. A slice of a
//! microsecond, with its place in the source and no arguments, takes 27 bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};

use crate::export::proto::{
    AnnotationValue, BOOTTIME, CHILDREN_BY_RANK, COUNTER, Clock, ClockSnapshot, CounterDescriptor,
    DebugAnnotation, INCREMENTAL_STATE_CLEARED, INSTANT, InternedData, InternedString, NEVER_MERGE,
    PACKET_FIELD, ProcessDescriptor, SEQUENCE, SEQUENCE_CLOCK, SLICE_BEGIN, SLICE_END, ShortPacket,
    SourceLocation, TracePacket, TracePacketDefaults, TrackDescriptor, TrackEvent,
    TrackEventDefaults,
};
use crate::export::sink::{Argument, Event, Name, Sink, Suffix, Track};
use crate::model::{SiteIndex, Trace};

/// Names beyond this many bytes are cut, as the length of a packet is limited.
const LONGEST_NAME: usize = 1 << 20;

pub(super) struct Perfetto<'t, W> {
    trace: &'t Trace,
    writer: W,
    buffer: Vec<u8>,
    /// Where the sequence's clock stands.
    now: u64,
    names: Interner<String>,
    /// Of each site, what is known of it, so that no text is made for each event.
    sites: Vec<KnownSite>,
    argument_names: Interner<&'static str>,
    texts: Interner<String>,
    /// How many places in the source have a number.
    places: u64,
}

/// Interned numbers of a site.
#[derive(Clone, Default)]
struct KnownSite {
    /// Of its name, by what follows the name.
    names: [Option<u64>; Suffix::COUNT],
    /// Of its place in the source.
    place: Option<u64>,
}

/// Numbers values from 1 in the order of their first use.
struct Interner<Key>(HashMap<Key, u64>);

impl<Key: Hash + Eq> Interner<Key> {
    fn new() -> Self {
        Self(HashMap::new())
    }

    /// The number of a value, and whether it is new.
    fn get(&mut self, key: Key) -> (u64, bool) {
        let next = self.0.len() as u64 + 1;
        let iid = *self.0.entry(key).or_insert(next);
        (iid, iid == next)
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
            names: Interner::new(),
            sites: vec![KnownSite::default(); trace.sites.len()],
            argument_names: Interner::new(),
            texts: Interner::new(),
            places: 0,
        };
        let clock = |clock_id, is_incremental| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(0),
            is_incremental,
        };
        this.packet(TracePacket {
            first_packet_on_sequence: Some(true),
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

    /// The numbers of an event that has nothing but a site and has them already.
    fn known(&self, event: &Event<'_>) -> Option<(u64, u64)> {
        let (Name::Site { suffix, .. }, Some(site)) = (event.name, event.site) else { return None };
        let is_plain =
            event.arguments.is_empty() && event.flows_from.is_empty() && event.flows_to.is_empty();
        let site = self.sites.get(site.0 as usize).filter(|_| is_plain)?;
        Some((site.names[suffix as usize]?, site.place?))
    }

    fn event(&mut self, kind: u32, ns: u64, event: &Event<'_>) -> io::Result<()> {
        if let Some(known) = self.known(event) {
            let packet = ShortPacket::event(self.delta(ns), kind, Some(known));
            return self.writer.write_all(packet.bytes());
        }
        let mut interned = InternedData::default();
        let name = self.name(event, &mut interned);
        let place = event.site.and_then(|site| self.place(site, &mut interned));
        let arguments = event.arguments.iter();
        let debug_annotations = arguments
            .map(|&(name, argument)| self.argument(name, argument, &mut interned))
            .collect();
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
        let text = clean(&event.name.text());
        let (iid, new) = self.names.get(text.clone());
        if new {
            interned.event_names.push(string(iid, text));
        }
        if let Some(known) = known {
            *known = Some(iid);
        }
        iid
    }

    fn place(&mut self, index: SiteIndex, interned: &mut InternedData) -> Option<u64> {
        let known = self.sites.get_mut(index.0 as usize)?;
        if known.place.is_none() {
            self.places += 1;
            known.place = Some(self.places);
            let site = self.trace.site(index);
            interned.source_locations.push(SourceLocation {
                iid: known.place,
                file_name: Some(clean(&site.file)),
                function_name: (!site.module.is_empty()).then(|| clean(&site.module)),
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
        let (name_iid, new) = self.argument_names.get(name);
        if new {
            interned.debug_annotation_names.push(string(name_iid, name.to_owned()));
        }
        let value = match argument {
            Argument::Unsigned(value) => AnnotationValue::Unsigned(value),
            Argument::Signed(value) => AnnotationValue::Signed(value),
            Argument::Float(value) => AnnotationValue::Float(value),
            Argument::Bool(value) => AnnotationValue::Bool(value),
            Argument::Text(text) => {
                let (iid, new) = self.texts.get(clean(text));
                if new {
                    interned.debug_annotation_string_values.push(string(iid, clean(text)));
                }
                AnnotationValue::TextIid(iid)
            }
        };
        DebugAnnotation { name_iid: Some(name_iid), value: Some(value) }
    }
}

impl<W: Write> Sink for Perfetto<'_, W> {
    fn process(&mut self, id: u32, name: &str) -> io::Result<()> {
        self.packet(TracePacket {
            track_descriptor: Some(TrackDescriptor {
                uuid: Some(process_uuid(id)),
                process: Some(ProcessDescriptor {
                    pid: Some(i32::try_from(id).map_err(io::Error::other)?),
                    process_name: Some(clean(name)),
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
                name: Some(clean(track.name)),
                description: (!description.is_empty()).then(|| clean(description)),
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
        let packet = ShortPacket::event(self.delta(ns), SLICE_END, None);
        self.writer.write_all(packet.bytes())
    }

    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(INSTANT, ns, event)
    }

    fn counter(&mut self, ns: u64, _track: &str, value: f64) -> io::Result<()> {
        // Whole numbers take less room as such.
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
fn clean(text: &str) -> String {
    let mut end = text.len().min(LONGEST_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].replace('\0', "\u{2400}")
}
