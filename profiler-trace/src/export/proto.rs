//! The messages of a Perfetto trace, as far as they are written here.
//!
//! Field numbers are those of Perfetto's `protos/perfetto/trace/`; what a field means is said there.
#![allow(missing_docs, reason = "the fields are Perfetto's")]

use prost::{Message, Oneof};

/// `TracePacket.sequence_flags`: forget what was interned before.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TrackEvent.type`.
pub(super) const SLICE_BEGIN: u32 = 1;
/// `TrackEvent.type`.
pub(super) const SLICE_END: u32 = 2;
/// `TrackEvent.type`.
pub(super) const INSTANT: u32 = 3;
/// `TrackDescriptor.child_ordering`: by `sibling_order_rank`.
pub(super) const CHILDREN_BY_RANK: u32 = 3;
/// `TrackDescriptor.sibling_merge_behavior`: a track of its own, whatever its name.
pub(super) const NEVER_MERGE: u32 = 2;
/// A built-in clock, `BUILTIN_CLOCK_BOOTTIME`: the one that viewers show by default.
pub(super) const BOOTTIME: u32 = 6;
/// The first clock that a packet sequence may define for itself.
pub(super) const SEQUENCE_CLOCK: u32 = 64;

/// `TrackEvent.type`.
pub(super) const COUNTER: u32 = 4;

/// The one packet sequence of the trace; it fits one byte.
pub(super) const SEQUENCE: u32 = 1;

/// Field 1 of `Trace`.
pub(super) const PACKET_FIELD: u32 = 1;

/// A packet of the hot path, put together byte by byte: the same bytes as the messages below give,
/// in much less time.
pub(super) struct ShortPacket<const MOST: usize> {
    bytes: [u8; MOST],
    length: usize,
}

/// At least the bytes of the longest packet with so many arguments: a time, a name and a place of up to
/// ten bytes each, two numbers of one byte, a dozen of keys and lengths, and up to 25 an argument.
pub(super) const fn most_bytes(arguments: usize) -> usize {
    64 + 25 * arguments
}

/// The interned numbers of an event of the hot path.
#[derive(Clone, Copy)]
pub(super) struct ShortEvent<const ARGUMENTS: usize> {
    pub(super) name: u64,
    /// Of its place in the source.
    pub(super) place: u64,
    /// The name of each argument and what it says.
    pub(super) arguments: [Option<(u64, AnnotationValue)>; ARGUMENTS],
}

impl<const ARGUMENTS: usize> ShortEvent<ARGUMENTS> {
    fn arguments(&self) -> impl Iterator<Item = (u64, AnnotationValue)> {
        self.arguments.into_iter().flatten()
    }

    /// Bytes of all its fields.
    fn bytes(&self) -> u8 {
        let arguments = self.arguments().map(|argument| 2 + argument_bytes(argument)).sum::<u8>();
        arguments + 1 + varint_bytes(self.name) + 2 + varint_bytes(self.place)
    }
}

/// Bytes of a [`DebugAnnotation`].
fn argument_bytes((name, value): (u64, AnnotationValue)) -> u8 {
    let of_value = match value {
        AnnotationValue::Bool(_) => 2,
        AnnotationValue::Unsigned(value) => 1 + varint_bytes(value),
        AnnotationValue::Signed(value) => 1 + varint_bytes(value as u64),
        AnnotationValue::Float(_) => 9,
        AnnotationValue::TextIid(text) => 2 + varint_bytes(text),
    };
    1 + varint_bytes(name) + of_value
}

/// Key of a field on the wire, where it fits one byte.
const fn key(field: u32, wire_type: u8) -> u8 {
    (field as u8) << 3 | wire_type
}
const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const LENGTH: u8 = 2;

/// Bytes of a number on the wire.
const fn varint_bytes(value: u64) -> u8 {
    (u64::BITS - (value | 1).leading_zeros()).div_ceil(7) as u8
}

impl<const MOST: usize> ShortPacket<MOST> {
    /// A packet on the sequence `SEQUENCE` with an event of a type and, where it is a begin or an
    /// instant, what else it has.
    pub(super) fn event<const ARGUMENTS: usize>(
        timestamp: u64,
        kind: u32,
        event: Option<ShortEvent<ARGUMENTS>>,
    ) -> Self {
        // So lengths take one byte, too.
        const { assert!(most_bytes(ARGUMENTS) <= MOST && MOST < 128) };
        let mut packet = Self { bytes: [0; MOST], length: 0 };
        let of_event = 2 + event.as_ref().map_or(0, ShortEvent::bytes);
        let of_packet = 1 + varint_bytes(timestamp) + 2 + 2 + of_event;
        packet.put([key(PACKET_FIELD, LENGTH), of_packet, key(8, VARINT)]);
        packet.varint(timestamp);
        packet.put([key(10, VARINT), SEQUENCE as u8, key(11, LENGTH), of_event]);
        if let Some(event) = event {
            event.arguments().for_each(|argument| packet.argument(argument));
        }
        packet.put([key(9, VARINT), kind as u8]);
        if let Some(event) = event {
            packet.put([key(10, VARINT)]);
            packet.varint(event.name);
            // The key of field 34 takes two bytes.
            packet.put([0x90, 0x02]);
            packet.varint(event.place);
        }
        packet
    }

    fn argument(&mut self, argument: (u64, AnnotationValue)) {
        let (name, value) = argument;
        self.put([key(4, LENGTH), argument_bytes(argument), key(1, VARINT)]);
        self.varint(name);
        match value {
            AnnotationValue::Bool(value) => self.put([key(2, VARINT), value.into()]),
            AnnotationValue::Unsigned(value) => {
                self.put([key(3, VARINT)]);
                self.varint(value);
            }
            AnnotationValue::Signed(value) => {
                self.put([key(4, VARINT)]);
                self.varint(value as u64);
            }
            AnnotationValue::Float(value) => {
                self.put([key(5, FIXED64)]);
                self.put(value.to_le_bytes());
            }
            AnnotationValue::TextIid(text) => {
                // The key of field 17 takes two bytes.
                self.put([0x88, 0x01]);
                self.varint(text);
            }
        }
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..][..N].copy_from_slice(&bytes);
        self.length += N;
    }

    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put([value as u8 | 0x80]);
            value >>= 7;
        }
        self.put([value as u8]);
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(message, optional, tag = "6")]
    pub(super) clock_snapshot: Option<ClockSnapshot>,
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "59")]
    pub(super) trace_packet_defaults: Option<TracePacketDefaults>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
    #[prost(bool, optional, tag = "87")]
    pub(super) first_packet_on_sequence: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ClockSnapshot {
    #[prost(message, repeated, tag = "1")]
    pub(super) clocks: Vec<Clock>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Clock {
    #[prost(uint32, optional, tag = "1")]
    pub(super) clock_id: Option<u32>,
    #[prost(uint64, optional, tag = "2")]
    pub(super) timestamp: Option<u64>,
    #[prost(bool, optional, tag = "3")]
    pub(super) is_incremental: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacketDefaults {
    #[prost(message, optional, tag = "11")]
    pub(super) track_event_defaults: Option<TrackEventDefaults>,
    #[prost(uint32, optional, tag = "58")]
    pub(super) timestamp_clock_id: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEventDefaults {
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(uint32, optional, tag = "11")]
    pub(super) child_ordering: Option<u32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
    #[prost(string, optional, tag = "14")]
    pub(super) description: Option<String>,
    #[prost(uint32, optional, tag = "15")]
    pub(super) sibling_merge_behavior: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, optional, tag = "6")]
    pub(super) unit_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub(super) pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub(super) process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(uint32, optional, tag = "9")]
    pub(super) r#type: Option<u32>,
    #[prost(uint64, optional, tag = "10")]
    pub(super) name_iid: Option<u64>,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    #[prost(uint64, optional, tag = "34")]
    pub(super) source_location_iid: Option<u64>,
    #[prost(double, optional, tag = "44")]
    pub(super) double_counter_value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) name_iid: Option<u64>,
    #[prost(oneof = "AnnotationValue", tags = "2, 3, 4, 5, 17")]
    pub(super) value: Option<AnnotationValue>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub(super) enum AnnotationValue {
    #[prost(bool, tag = "2")]
    Bool(bool),
    #[prost(uint64, tag = "3")]
    Unsigned(u64),
    #[prost(int64, tag = "4")]
    Signed(i64),
    #[prost(double, tag = "5")]
    Float(f64),
    #[prost(uint64, tag = "17")]
    TextIid(u64),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    pub(super) debug_annotation_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "4")]
    pub(super) source_locations: Vec<SourceLocation>,
    /// Its `str` field is of type bytes, which on the wire is the same as a string.
    #[prost(message, repeated, tag = "29")]
    pub(super) debug_annotation_string_values: Vec<InternedString>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedString {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SourceLocation {
    #[prost(uint64, optional, tag = "1")]
    pub(super) iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) file_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub(super) function_name: Option<String>,
    #[prost(uint32, optional, tag = "4")]
    pub(super) line_number: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const MOST: usize, const ARGUMENTS: usize>(
        timestamp: u64,
        short: Option<ShortEvent<ARGUMENTS>>,
    ) {
        let arguments = short.iter().flat_map(|short| short.arguments.into_iter().flatten());
        let event = TrackEvent {
            r#type: Some(SLICE_BEGIN),
            name_iid: short.map(|short| short.name),
            source_location_iid: short.map(|short| short.place),
            debug_annotations: arguments
                .map(|(name, value)| DebugAnnotation { name_iid: Some(name), value: Some(value) })
                .collect(),
            ..TrackEvent::default()
        };
        let packet = TracePacket {
            timestamp: Some(timestamp),
            trusted_packet_sequence_id: Some(SEQUENCE),
            track_event: Some(event),
            ..TracePacket::default()
        };
        let mut expected = Vec::new();
        prost::encoding::message::encode(PACKET_FIELD, &packet, &mut expected);
        let packet = ShortPacket::<MOST>::event(timestamp, SLICE_BEGIN, short);
        assert_eq!(packet.bytes(), expected);
    }

    #[test]
    fn short_packets_are_those_of_the_messages() {
        let values = [
            AnnotationValue::Bool(true),
            AnnotationValue::Bool(false),
            AnnotationValue::Unsigned(0),
            AnnotationValue::Unsigned(300),
            AnnotationValue::Unsigned(u64::MAX),
            AnnotationValue::Signed(1),
            AnnotationValue::Signed(-1),
            AnnotationValue::Float(-0.5),
            AnnotationValue::TextIid(u64::MAX),
        ];
        for timestamp in [0, 127, 128, 300, 1 << 40, u64::MAX] {
            check::<{ most_bytes(0) }, 0>(timestamp, None);
            for (name, place) in [(1, 1), (127, 128), (u64::MAX, u64::MAX)] {
                check::<{ most_bytes(0) }, 0>(
                    timestamp,
                    Some(ShortEvent { name, place, arguments: [] }),
                );
                for value in values {
                    let [small, large] = [1, u64::MAX].map(|name| Some((name, value)));
                    for arguments in [[small, None], [large, None], [large, small], [large, large]]
                    {
                        let event = ShortEvent { name, place, arguments };
                        check::<{ most_bytes(2) }, 2>(timestamp, Some(event));
                    }
                }
            }
        }
    }
}
