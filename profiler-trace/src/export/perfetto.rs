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
    BOOTTIME, CHILDREN_BY_RANK, COUNTER, INCREMENTAL_STATE_CLEARED, INSTANT, Message, NEVER_MERGE,
    PACKET, SEQUENCE, SEQUENCE_CLOCK, SLICE_BEGIN, SLICE_END, clock, clock_snapshot,
    counter_descriptor, debug_annotation, interned_data, interned_string, packet,
    process_descriptor, source_location, trace_packet_defaults, track_descriptor, track_event,
    track_event_defaults,
};
use crate::export::sink::{Argument, Event, Name, Sink, Suffix, Track};
use crate::model::{SiteIndex, Trace};

/// Names beyond this many bytes are cut, as the length of a packet is limited.
const LONGEST_NAME: usize = 1 << 20;

pub(super) struct Perfetto<'t, W> {
    trace: &'t Trace,
    writer: W,
    /// Used again for each packet.
    buffer: Message,
    /// The time of the sequence's clock.
    now: u64,
    /// Of each site, what is known of it, so that no text is made for each event.
    sites: Vec<KnownSite>,
    names: Interner,
    /// There are some twenty of them, the most frequent first.
    argument_names: Vec<&'static str>,
    new_argument_names: Message,
    /// The number of places in the source that have a number.
    places: u64,
    new_places: Message,
    texts: Interner,
}

/// Interned numbers of a site.
#[derive(Clone, Default)]
struct KnownSite {
    /// Of its name, by what follows the name.
    names: [Option<u64>; Suffix::COUNT],
    /// Of its place in the source.
    place: Option<u64>,
}

/// Numbers texts from 1 in the order of their first use.
struct Interner {
    /// The field of `InternedData` that holds them.
    field: u32,
    numbers: HashMap<String, u64>,
    /// Those that the next packet tells.
    new: Message,
}

impl Interner {
    fn new(field: u32) -> Self {
        Self { field, numbers: HashMap::new(), new: Message::default() }
    }

    fn number(&mut self, text: &str) -> u64 {
        let text = clean(text);
        if let Some(&iid) = self.numbers.get(&*text) {
            return iid;
        }
        let iid = self.numbers.len() as u64 + 1;
        interned_string(&mut self.new, self.field, iid, &text);
        self.numbers.insert(text.into_owned(), iid);
        iid
    }
}

fn interned_string(data: &mut Message, field: u32, iid: u64, name: &str) {
    data.message(field, |string| {
        string.number(interned_string::IID, iid);
        string.bytes(interned_string::NAME, name);
    });
}

impl<'t, W: Write> Perfetto<'t, W> {
    /// Writes the head of the trace: the sequence and its clock.
    pub(super) fn new(trace: &'t Trace, writer: W) -> io::Result<Self> {
        let mut this = Self {
            trace,
            writer,
            buffer: Message::default(),
            now: 0,
            sites: vec![KnownSite::default(); trace.sites.len()],
            names: Interner::new(interned_data::EVENT_NAMES),
            argument_names: Vec::new(),
            new_argument_names: Message::default(),
            places: 0,
            new_places: Message::default(),
            texts: Interner::new(interned_data::DEBUG_ANNOTATION_STRING_VALUES),
        };
        for name in ["value", "unit"] {
            this.argument_name(name);
        }
        this.packet(|this, packet| {
            packet.message(packet::CLOCK_SNAPSHOT, |snapshot| {
                snapshot.message(clock_snapshot::CLOCKS, |clock| {
                    clock.number(clock::CLOCK_ID, BOOTTIME);
                    clock.number(clock::TIMESTAMP, 0);
                });
                snapshot.message(clock_snapshot::CLOCKS, |clock| {
                    clock.number(clock::CLOCK_ID, SEQUENCE_CLOCK);
                    clock.number(clock::TIMESTAMP, 0);
                    clock.number(clock::IS_INCREMENTAL, true.into());
                });
            });
            packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
            this.interned_data(packet);
            packet.number(packet::SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
            packet.number(packet::FIRST_PACKET_ON_SEQUENCE, true.into());
        })?;
        Ok(this)
    }

    fn packet(&mut self, write: impl FnOnce(&mut Self, &mut Message)) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.0.clear();
        buffer.message(PACKET, |packet| write(self, packet));
        self.buffer = buffer;
        self.writer.write_all(&self.buffer.0)
    }

    /// A packet with an event, whose fields `write` writes.
    fn event_packet(
        &mut self,
        ns: u64,
        write: impl FnOnce(&mut Self, &mut Message),
    ) -> io::Result<()> {
        // Events of a track are in order. Where the next track goes back in time, the difference wraps,
        // as two's complement does.
        let delta = ns.wrapping_sub(self.now);
        self.now = ns;
        self.packet(|this, packet| {
            packet.number(packet::TIMESTAMP, delta);
            packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
            packet.message(packet::TRACK_EVENT, |message| write(this, message));
            this.interned_data(packet);
        })
    }

    /// Tells what got a number since the last packet, if anything did.
    fn interned_data(&mut self, packet: &mut Message) {
        let new = [
            &mut self.names.new.0,
            &mut self.new_argument_names.0,
            &mut self.new_places.0,
            &mut self.texts.new.0,
        ];
        if new.iter().any(|new| !new.is_empty()) {
            packet.message(packet::INTERNED_DATA, |data| {
                new.into_iter().for_each(|new| data.0.append(new));
            });
        }
    }

    fn event(&mut self, kind: u64, ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event_packet(ns, |this, message| {
            for (name, argument) in event.arguments() {
                message.message(track_event::DEBUG_ANNOTATIONS, |annotation| {
                    this.argument(name, argument, annotation);
                });
            }
            message.number(track_event::TYPE, kind);
            message.number(track_event::NAME_IID, this.name(event));
            if let Some(place) = event.site.and_then(|site| this.place(site)) {
                message.number(track_event::SOURCE_LOCATION_IID, place);
            }
            for &flow in &event.flows_from {
                message.fixed(track_event::FLOW_IDS, flow);
            }
            for &flow in &event.flows_to {
                message.fixed(track_event::TERMINATING_FLOW_IDS, flow);
            }
        })
    }

    fn argument(&mut self, name: &'static str, argument: Argument<'_>, annotation: &mut Message) {
        annotation.number(debug_annotation::NAME_IID, self.argument_name(name));
        match argument {
            Argument::Unsigned(value) => annotation.number(debug_annotation::UINT_VALUE, value),
            Argument::Signed(value) => {
                annotation.number(debug_annotation::INT_VALUE, value as u64);
            }
            Argument::Float(value) => {
                annotation.fixed(debug_annotation::DOUBLE_VALUE, value.to_bits());
            }
            Argument::Bool(value) => annotation.number(debug_annotation::BOOL_VALUE, value.into()),
            Argument::Text(text) => {
                annotation.number(debug_annotation::STRING_VALUE_IID, self.texts.number(text));
            }
        }
    }

    fn argument_name(&mut self, name: &'static str) -> u64 {
        let known = self.argument_names.iter().position(|known| *known == name);
        let at = known.unwrap_or(self.argument_names.len());
        let iid = at as u64 + 1;
        if known.is_none() {
            self.argument_names.push(name);
            let field = interned_data::DEBUG_ANNOTATION_NAMES;
            interned_string(&mut self.new_argument_names, field, iid, name);
        }
        iid
    }

    fn name(&mut self, event: &Event<'_>) -> u64 {
        let known = match (event.site, event.name) {
            (Some(site), Name::Site { suffix, .. }) => {
                self.sites.get_mut(site.0 as usize).map(|site| &mut site.names[suffix as usize])
            }
            _ => None,
        };
        match known {
            Some(known) => *known.get_or_insert_with(|| self.names.number(&event.name.text())),
            None => self.names.number(&event.name.text()),
        }
    }

    fn place(&mut self, index: SiteIndex) -> Option<u64> {
        let site = self.trace.site(index);
        if site.file.is_empty() {
            return None;
        }
        let known = self.sites.get_mut(index.0 as usize)?;
        if known.place.is_none() {
            self.places += 1;
            known.place = Some(self.places);
            self.new_places.message(interned_data::SOURCE_LOCATIONS, |place| {
                place.number(source_location::IID, self.places);
                place.bytes(source_location::FILE_NAME, &*clean(&site.file));
                if !site.module.is_empty() {
                    place.bytes(source_location::FUNCTION_NAME, &*clean(&site.module));
                }
                place.number(source_location::LINE_NUMBER, site.line.into());
            });
        }
        known.place
    }

    fn descriptor(&mut self, write: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet(|_, packet| {
            packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
            packet.message(packet::TRACK_DESCRIPTOR, write);
        })
    }
}

impl<W: Write> Sink for Perfetto<'_, W> {
    fn process(&mut self, id: u32, name: &str) -> io::Result<()> {
        let pid = i32::try_from(id).map_err(io::Error::other)?;
        self.descriptor(|descriptor| {
            descriptor.number(track_descriptor::UUID, process_uuid(id));
            descriptor.message(track_descriptor::PROCESS, |process| {
                process.number(process_descriptor::PID, pid as u64);
                process.bytes(process_descriptor::PROCESS_NAME, &*clean(name));
            });
            descriptor.number(track_descriptor::CHILD_ORDERING, CHILDREN_BY_RANK);
        })
    }

    fn track(&mut self, track: &Track<'_>) -> io::Result<()> {
        let rank = i32::try_from(track.rank).map_err(io::Error::other)?;
        self.descriptor(|descriptor| {
            let parent = track.parent.map_or(process_uuid(track.process), track_uuid);
            descriptor.number(track_descriptor::UUID, track_uuid(track.id));
            descriptor.bytes(track_descriptor::NAME, &*clean(track.name));
            descriptor.number(track_descriptor::PARENT_UUID, parent);
            if let Some(unit) = track.unit {
                descriptor.message(track_descriptor::COUNTER, |counter| {
                    counter.bytes(counter_descriptor::UNIT_NAME, unit);
                });
            }
            descriptor.number(track_descriptor::CHILD_ORDERING, CHILDREN_BY_RANK);
            descriptor.number(track_descriptor::SIBLING_ORDER_RANK, rank as u64);
            if !track.description.is_empty() {
                descriptor.bytes(track_descriptor::DESCRIPTION, &*clean(track.description));
            }
            descriptor.number(track_descriptor::SIBLING_MERGE_BEHAVIOR, NEVER_MERGE);
        })
    }

    fn select(&mut self, _process: u32, track: u64) -> io::Result<()> {
        self.packet(|_, packet| {
            packet.number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE);
            packet.message(packet::TRACE_PACKET_DEFAULTS, |defaults| {
                defaults.message(trace_packet_defaults::TRACK_EVENT_DEFAULTS, |defaults| {
                    defaults.number(track_event_defaults::TRACK_UUID, track_uuid(track));
                });
                defaults.number(trace_packet_defaults::TIMESTAMP_CLOCK_ID, SEQUENCE_CLOCK);
            });
        })
    }

    fn begin(&mut self, ns: u64, _end_ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(SLICE_BEGIN, ns, event)
    }

    fn end(&mut self, ns: u64) -> io::Result<()> {
        self.event_packet(ns, |_, event| event.number(track_event::TYPE, SLICE_END))
    }

    fn instant(&mut self, ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(INSTANT, ns, event)
    }

    fn counter(&mut self, ns: u64, _track: &str, value: i64) -> io::Result<()> {
        self.event_packet(ns, |_, event| {
            event.number(track_event::TYPE, COUNTER);
            event.number(track_event::COUNTER_VALUE, value as u64);
        })
    }
}

/// Processes and tracks share one space of identifiers, in which 0 has a meaning of its own.
fn process_uuid(id: u32) -> u64 {
    u64::from(id) << 1 | 1
}

fn track_uuid(id: u64) -> u64 {
    id << 1
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
