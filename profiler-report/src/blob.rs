//! Binary data in the page: packed, compressed, and written as text.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use profiler_trace::Progress;

/// Appends a whole number in groups of seven bits, the lowest first, each but the last with its
/// eighth bit set (LEB128).
pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a signed number: 0, -1, 1, -2, .. as 0, 1, 2, 3, ..
pub(crate) fn push_signed(bytes: &mut Vec<u8>, number: i64) {
    push(bytes, (number.wrapping_shl(1) ^ (number >> 63)).cast_unsigned());
}

/// Bytes of a step of progress, or fewer.
const PIECE_BYTES: usize = 1 << 16;

/// Writes a script element with the parts, one after the other, as zlib in base64.
pub(crate) fn write(writer: &mut impl Write, id: &str, parts: &[&[u8]]) -> io::Result<()> {
    write!(writer, "<script type=\"application/zlib+base64\" id=\"{id}\">")?;
    let text = EncoderWriter::new(&mut *writer, &STANDARD);
    let mut encoder = ZlibEncoder::new(text, Compression::default());
    let pieces: Vec<&[u8]> = parts.iter().flat_map(|part| part.chunks(PIECE_BYTES)).collect();
    Progress::expect("blocks of 64 KiB compressed", pieces.len());
    for piece in Progress::each(pieces) {
        encoder.write_all(piece)?;
    }
    encoder.finish()?.finish()?;
    writeln!(writer, "</script>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_packed_as_documented() {
        let mut bytes = Vec::new();
        push(&mut bytes, 127);
        push(&mut bytes, 128);
        push(&mut bytes, 300);
        assert_eq!(bytes, [127, 0x80, 1, 0xac, 2]);
        let mut bytes = Vec::new();
        for number in [0, -1, 1, -2, i64::MIN] {
            push_signed(&mut bytes, number);
        }
        assert_eq!(bytes[..4], [0, 1, 2, 3]);
        assert_eq!(bytes[4..], [[0xff; 9].as_slice(), &[1]].concat());
    }
}
