//! Protobuf's wire format, and the fields of Perfetto's messages that are written here.
//!
//! Field numbers are those of Perfetto's `protos/perfetto/trace/`; what a field means is said there.

/// A message: its fields, one after the other.
#[derive(Debug, Default)]
pub(super) struct Message(pub(super) Vec<u8>);

/// Wire types.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u32, wire_type: u32) {
        self.varint((field << 3 | wire_type).into());
    }

    /// A number without a sign, an enumerator or a bool; or a number with a sign as two's complement.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        self.varint(value);
    }

    /// Eight bytes: a `fixed64`, or the bits of a `double`.
    pub(super) fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, FIXED64);
        self.0.extend(value.to_le_bytes());
    }

    /// A string, bytes, or a message that is written already.
    pub(super) fn bytes(&mut self, field: u32, bytes: impl AsRef<[u8]>) {
        self.key(field, LENGTH);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend_from_slice(bytes.as_ref());
    }

    /// A message within, whose fields `write` writes.
    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self)) {
        self.key(field, LENGTH);
        let place = self.0.len();
        // Most messages are short, and their length is one byte.
        self.0.push(0);
        write(self);
        let length = self.0.len() - place - 1;
        if length < 0x80 {
            self.0[place] = length as u8;
        } else {
            self.0.remove(place);
            self.varint(length as u64);
            self.0[place..].rotate_left(length);
        }
    }
}

/// `Trace.packet`.
pub(super) const PACKET: u32 = 1;
/// `TracePacket.sequence_flags`: forget what was interned before.
pub(super) const INCREMENTAL_STATE_CLEARED: u64 = 1;
/// `TrackEvent.type`.
pub(super) const SLICE_BEGIN: u64 = 1;
/// `TrackEvent.type`.
pub(super) const SLICE_END: u64 = 2;
/// `TrackEvent.type`.
pub(super) const INSTANT: u64 = 3;
/// `TrackEvent.type`.
pub(super) const COUNTER: u64 = 4;
/// `TrackDescriptor.child_ordering`: by `sibling_order_rank`.
pub(super) const CHILDREN_BY_RANK: u64 = 3;
/// `TrackDescriptor.sibling_merge_behavior`: a track of its own, whatever its name.
pub(super) const NEVER_MERGE: u64 = 2;
/// A built-in clock, `BUILTIN_CLOCK_BOOTTIME`: the one that viewers show by default.
pub(super) const BOOTTIME: u64 = 6;
/// The first clock that a packet sequence may define for itself.
pub(super) const SEQUENCE_CLOCK: u64 = 64;
/// The one packet sequence of the trace.
pub(super) const SEQUENCE: u64 = 1;

/// Numbers of the fields of a message.
macro_rules! fields {
    ($($module:ident: $($field:ident = $number:literal),+;)+) => {
        $(pub(super) mod $module {
            $(pub(in crate::export) const $field: u32 = $number;)+
        })+
    };
}

fields! {
    packet: CLOCK_SNAPSHOT = 6, TIMESTAMP = 8, TRUSTED_PACKET_SEQUENCE_ID = 10,
        TRACK_EVENT = 11, INTERNED_DATA = 12, SEQUENCE_FLAGS = 13, TRACE_PACKET_DEFAULTS = 59,
        TRACK_DESCRIPTOR = 60, FIRST_PACKET_ON_SEQUENCE = 87;
    clock_snapshot: CLOCKS = 1;
    clock: CLOCK_ID = 1, TIMESTAMP = 2, IS_INCREMENTAL = 3;
    trace_packet_defaults: TRACK_EVENT_DEFAULTS = 11, TIMESTAMP_CLOCK_ID = 58;
    track_event_defaults: TRACK_UUID = 11;
    track_descriptor: UUID = 1, NAME = 2, PROCESS = 3, PARENT_UUID = 5, COUNTER = 8,
        CHILD_ORDERING = 11, SIBLING_ORDER_RANK = 12, DESCRIPTION = 14,
        SIBLING_MERGE_BEHAVIOR = 15;
    counter_descriptor: UNIT_NAME = 6;
    process_descriptor: PID = 1, PROCESS_NAME = 6;
    track_event: DEBUG_ANNOTATIONS = 4, TYPE = 9, NAME_IID = 10, COUNTER_VALUE = 30,
        SOURCE_LOCATION_IID = 34, FLOW_IDS = 47, TERMINATING_FLOW_IDS = 48;
    debug_annotation: NAME_IID = 1, BOOL_VALUE = 2, UINT_VALUE = 3, INT_VALUE = 4,
        DOUBLE_VALUE = 5, STRING_VALUE_IID = 17;
    interned_data: EVENT_NAMES = 2, DEBUG_ANNOTATION_NAMES = 3, SOURCE_LOCATIONS = 4,
        DEBUG_ANNOTATION_STRING_VALUES = 29;
    interned_string: IID = 1, NAME = 2;
    source_location: IID = 1, FILE_NAME = 2, FUNCTION_NAME = 3, LINE_NUMBER = 4;
}

#[cfg(test)]
mod tests {
    use super::Message;

    /// The bytes are those of the examples in protobuf's description of its wire format.
    #[test]
    fn fields_are_those_of_the_wire_format() {
        let mut message = Message::default();
        message.number(1, 150);
        message.bytes(2, "testing");
        message.message(3, |within| within.number(1, 150));
        let number = [0x08, 0x96, 0x01];
        assert_eq!(message.0[..3], number);
        assert_eq!(&message.0[3..12], b"\x12\x07testing");
        assert_eq!(message.0[12..], [&[0x1a, 0x03], &number[..]].concat());
        let mut message = Message::default();
        message.number(17, u64::MAX);
        message.fixed(5, 0x0102_0304_0506_0708);
        assert_eq!(message.0[..3], [0x88, 0x01, 0xff]);
        assert_eq!((message.0[11], message.0.len()), (0x01, 21));
        assert_eq!(message.0[12..], [0x29, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn a_message_within_has_any_length() {
        for length in [0, 1, 125, 126, 127, 128, 16_383, 16_384, 1 << 20] {
            let text = "x".repeat(length);
            let mut within = Message::default();
            within.bytes(2, &text);
            let (mut written, mut expected) = (Message::default(), Message::default());
            written.number(1, 7);
            written.message(3, |message| message.bytes(2, &text));
            expected.number(1, 7);
            expected.bytes(3, &within.0);
            assert_eq!(written.0, expected.0);
        }
    }
}
