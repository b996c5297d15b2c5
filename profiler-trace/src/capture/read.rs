//! Reads a capture file: whatever is whole of it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::format::{BlockHeader, HEADER_BYTES, PART_BYTES, Parsed, SYNC, Section};
use super::lost::slots_of;
use super::metadata::{self, Metadata};
use super::sections::{Parts, Placed, Sections};
use super::{Capture, CaptureArray, CaptureDamage, CaptureError};

impl Capture {
    /// Reads a file that [`Capture::write`] wrote. Damaged and missing parts are returned with the
    /// capture, and are in [`Capture::damage`], too.
    ///
    /// ```
    /// use profiler_trace::{Capture, decode};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("capture-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("gemm.capture");
    /// # let captured = Capture::default(); // in place of what a session read back
    /// captured.write(&path)?;
    ///
    /// let (capture, damage) = Capture::read(&path)?;
    /// for damage in &damage {
    ///     eprintln!("{}: {damage}", path.display());
    /// }
    /// let trace = decode(&capture);
    /// # assert_eq!((capture, damage.len(), trace.warps.len()), (captured, 0, 0));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError::OfFile`], with the reason in it: no capture, another version, nothing whole in it.
    pub fn read(path: impl AsRef<Path>) -> Result<(Self, Vec<CaptureDamage>), CaptureError> {
        let path = path.as_ref();
        let read = File::open(path).map_err(CaptureError::Io).and_then(Self::read_from);
        read.map_err(|error| CaptureError::OfFile { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads what [`Capture::write_to`] wrote, from its begin to the reader's end. Beside the capture
    /// itself this takes about 3 MiB of memory. The reader need not be buffered.
    ///
    /// # Errors
    ///
    /// See [`CaptureError`].
    pub fn read_from(reader: impl Read) -> Result<(Self, Vec<CaptureDamage>), CaptureError> {
        Self::read_from_within(reader, u64::MAX)
    }

    /// [`Capture::read_from`] of a file whose metadata and arrays may have so many bytes in all,
    /// unpacked: for captures of strangers, as a few bytes of a file can stand for many megabytes.
    ///
    /// While an array grows, it may take four times its bytes for a moment.
    ///
    /// ```
    /// use profiler_trace::{Capture, CaptureError};
    ///
    /// let mut file = Vec::new();
    /// Capture::default().write_to(&mut file)?;
    /// assert!(Capture::read_from_within(file.as_slice(), 1 << 30).is_ok());
    /// let refused = Capture::read_from_within(file.as_slice(), 10);
    /// assert!(matches!(refused, Err(CaptureError::TooLarge { limit: 10 })));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`CaptureError`]; [`CaptureError::TooLarge`] among them.
    pub fn read_from_within(
        reader: impl Read,
        limit: u64,
    ) -> Result<(Self, Vec<CaptureDamage>), CaptureError> {
        let mut scan = Scan::new(reader, limit);
        scan.run()?;
        let Scan { mut sections, mut damage, seen, .. } = scan;
        let parts = sections.take(Section::Metadata);
        if parts.bytes.is_empty() || !parts.missing(parts.total).is_empty() {
            return Err(match seen {
                Seen::NoByte => CaptureError::Empty,
                Seen::Nothing => CaptureError::NotACapture,
                Seen::Sync => CaptureError::NoMetadata { damage },
            });
        }
        let Metadata { mut capture, bytes } =
            metadata::decode(&parts.bytes).map_err(|error| CaptureError::Metadata { error })?;
        for (module, bytes) in (0..).zip(bytes) {
            for (array, total) in CaptureArray::ALL.into_iter().zip(bytes) {
                let mut parts = sections.take(Section::Array { module, array });
                if parts.total != total && !parts.bytes.is_empty() {
                    damage.push(CaptureDamage::Unexpected { module, array });
                    parts = Parts::default();
                }
                let of = &mut capture.modules[module as usize];
                damage.extend(parts.missing(total).into_iter().map(|bytes| {
                    let slots = slots_of(array, &bytes, &of.descriptor);
                    CaptureDamage::Missing { module, array, bytes, slots }
                }));
                *of.array_mut(array) = parts.bytes;
            }
        }
        damage.extend(sections.rest().filter_map(|section| match section {
            Section::Array { module, array } => Some(CaptureDamage::Unexpected { module, array }),
            Section::Metadata | Section::End => None,
        }));
        capture.damage.append(&mut damage);
        let damage = capture.damage.clone();
        Ok((capture, damage))
    }
}

/// The kind of file, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Not a byte.
    NoByte,
    /// Nothing that is in a capture.
    Nothing,
    /// At least what blocks begin with.
    Sync,
}

/// Goes through the blocks of a file.
struct Scan<R> {
    source: Source<R>,
    sections: Sections,
    damage: Vec<CaptureDamage>,
    seen: Seen,
    /// The begin of the damaged bytes that the scan is in.
    damaged_from: Option<u64>,
    /// Damaged bytes so far.
    damaged_bytes: u64,
}

impl<R: Read> Scan<R> {
    fn new(reader: R, limit: u64) -> Self {
        Self {
            source: Source { reader, buffer: Vec::new(), start: 0, position: 0 },
            sections: Sections::within(limit),
            damage: Vec::new(),
            seen: Seen::Nothing,
            damaged_from: None,
            damaged_bytes: 0,
        }
    }

    fn run(&mut self) -> Result<(), CaptureError> {
        loop {
            let bytes = self.source.peek(HEADER_BYTES)?;
            let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
                let rest = bytes.len();
                if rest > 0 {
                    // A file that ends within its first header is a capture all the same.
                    if SYNC.starts_with(&bytes[..rest.min(SYNC.len())]) {
                        self.seen = Seen::Sync;
                    }
                    self.skip(rest);
                }
                break;
            };
            if header.starts_with(&SYNC) {
                self.seen = Seen::Sync;
            }
            match BlockHeader::parse(header) {
                Parsed::Header(header) => {
                    if self.block(&header)? {
                        return Ok(());
                    }
                }
                Parsed::OtherFormat(found) => return Err(CaptureError::FormatVersion { found }),
                Parsed::OtherWire(found) => return Err(CaptureError::WireVersion { found }),
                Parsed::Damaged => {
                    let skipped = self.source.bytes_to_sync()?;
                    self.skip(skipped);
                }
            }
        }
        self.end_damage();
        let bytes = self.source.position;
        if bytes == 0 {
            self.seen = Seen::NoByte;
        }
        self.damage.push(CaptureDamage::Truncated { bytes });
        Ok(())
    }

    /// Reads a block with a whole header; whether it was the end mark.
    fn block(&mut self, header: &BlockHeader) -> Result<bool, CaptureError> {
        if header.section == Section::End {
            self.end_damage();
            self.source.consume(HEADER_BYTES);
            if !self.source.peek(1)?.is_empty() {
                self.damage.push(CaptureDamage::AfterEnd { at: self.source.position });
            }
            return Ok(true);
        }
        let bytes = HEADER_BYTES + header.payload_bytes as usize;
        let payload = self.source.peek(bytes)?.get(HEADER_BYTES..bytes);
        let hidden = self.damaged_bytes / HEADER_BYTES as u64;
        let placed = match payload {
            Some(payload) if crc32c::crc32c(payload) == header.payload_checksum => {
                self.sections.place(header, payload, hidden)?
            }
            _ => Placed::Damaged,
        };
        if placed == Placed::Whole {
            self.end_damage();
            self.source.consume(bytes);
        } else {
            // Bytes may be missing from the payload, so the next block is looked for within it.
            self.skip(HEADER_BYTES);
        }
        Ok(false)
    }

    /// Goes on after damaged bytes.
    fn skip(&mut self, bytes: usize) {
        self.damaged_from.get_or_insert(self.source.position);
        self.damaged_bytes += bytes as u64;
        self.source.consume(bytes);
    }

    /// Notes the damaged bytes that end here, if there are any.
    fn end_damage(&mut self) {
        if let Some(from) = self.damaged_from.take() {
            self.damage.push(CaptureDamage::Bytes { at: from..self.source.position });
        }
    }
}

/// A reader that can be looked ahead of.
struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The position of the next byte in the buffer.
    start: usize,
    /// The position of the next byte in the file.
    position: u64,
}

/// The least number of bytes to read at once.
const READ_BYTES: usize = 1 << 18;
/// The longest block.
const _: () = assert!(PART_BYTES + HEADER_BYTES < 1 << 21);

impl<R: Read> Source<R> {
    /// The next bytes, fewer only where the file ends.
    fn peek(&mut self, bytes: usize) -> io::Result<&[u8]> {
        let held = self.buffer.len() - self.start;
        if held < bytes {
            self.buffer.drain(..self.start);
            self.start = 0;
            let more = (bytes - held).max(READ_BYTES) as u64;
            self.reader.by_ref().take(more).read_to_end(&mut self.buffer)?;
        }
        let end = self.buffer.len().min(self.start + bytes);
        Ok(&self.buffer[self.start..end])
    }

    fn consume(&mut self, bytes: usize) {
        self.start += bytes;
        self.position += bytes as u64;
    }

    /// How many bytes of those at hand, at least one, lie before what may be the begin of a block.
    fn bytes_to_sync(&mut self) -> io::Result<usize> {
        self.peek(READ_BYTES)?;
        let bytes = &self.buffer[self.start..];
        let Some(after) = bytes.get(1..) else { return Ok(bytes.len()) };
        let found = memchr::memmem::find(after, &SYNC);
        // A sync may lie half after what is at hand.
        let none = after.len().saturating_sub(SYNC.len() - 1);
        Ok(1 + found.unwrap_or(none))
    }
}

#[cfg(test)]
mod tests;
