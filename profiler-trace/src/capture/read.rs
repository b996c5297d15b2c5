//! Reads a capture file, block by block, in the order in which it was written.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::codec::Packer;
use super::format::{BlockHeader, CaptureArray, HEADER_BYTES, SYNC, Section};
use super::metadata::{self, Metadata};
use super::{Capture, CaptureError};

impl Capture {
    /// Reads a file that [`Capture::write`] wrote. All of it is under checksums, and a file that is
    /// not wholly as it was written is refused.
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
    /// let capture = Capture::read(&path)?;
    /// let trace = decode(&capture);
    /// # assert_eq!((capture, trace.warps.len()), (captured, 0));
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError::OfFile`], with the reason in it: no capture, another version, a damaged file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CaptureError> {
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
    pub fn read_from(reader: impl Read) -> Result<Self, CaptureError> {
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
    pub fn read_from_within(reader: impl Read, limit: u64) -> Result<Self, CaptureError> {
        let mut blocks = Blocks {
            reader,
            buffer: Vec::new(),
            position: 0,
            packer: Packer::default(),
            limit,
            bytes: 0,
        };
        let text = blocks.section(Section::Metadata, None)?;
        let Metadata { mut capture, bytes } =
            metadata::decode(&text).map_err(|error| CaptureError::Metadata { error })?;
        let text_bytes = text.len() as u64;
        drop(text);
        for ((index, module), lengths) in (0..).zip(&mut capture.modules).zip(bytes) {
            let arrays = CaptureArray::ALL.into_iter().zip(module.arrays_mut());
            for ((array, bytes), length) in arrays.zip(lengths) {
                // An empty array has no block.
                if length > 0 {
                    let section = Section::Array { module: index, array };
                    *bytes = blocks.section(section, Some(length))?;
                }
            }
        }
        // The copy of the metadata takes the place of the first one, which is gone.
        blocks.bytes -= text_bytes;
        blocks.section(Section::Metadata, Some(text_bytes))?;
        blocks.end()?;
        Ok(capture)
    }
}

/// The blocks of a file, from the next one on.
struct Blocks<R> {
    reader: R,
    /// The bytes that were read last.
    buffer: Vec<u8>,
    /// The place of the next byte in the file.
    position: u64,
    packer: Packer,
    /// Bytes that all sections may have, unpacked.
    limit: u64,
    /// Bytes that those read so far have.
    bytes: u64,
}

impl<R: Read> Blocks<R> {
    /// Reads a section, of this length if it is known.
    fn section(
        &mut self,
        section: Section,
        mut length: Option<u64>,
    ) -> Result<Vec<u8>, CaptureError> {
        let mut bytes = Vec::new();
        loop {
            let at = self.position;
            let header = self.header()?;
            let length = *length.get_or_insert(header.total);
            let expected = (section, bytes.len() as u64, length);
            if (header.section, header.offset, header.total) != expected {
                return Err(damaged(at, "another block belongs there"));
            }
            self.part(at, &header, &mut bytes)?;
            if bytes.len() as u64 == length {
                return Ok(bytes);
            }
        }
    }

    /// Reads the end mark, after which nothing may follow.
    fn end(&mut self) -> Result<(), CaptureError> {
        let at = self.position;
        if self.header()?.section != Section::End {
            return Err(damaged(at, "the end mark belongs there"));
        }
        let at = self.position;
        if self.read(1)?.is_empty() {
            Ok(())
        } else {
            Err(damaged(at, "the end mark is before it"))
        }
    }

    fn header(&mut self) -> Result<BlockHeader, CaptureError> {
        let at = self.position;
        let bytes = self.read(HEADER_BYTES)?;
        if at == 0 && bytes.is_empty() {
            return Err(CaptureError::Empty);
        }
        if at == 0 && bytes.iter().zip(&SYNC).any(|(byte, sync)| byte != sync) {
            return Err(CaptureError::NotACapture);
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(CaptureError::Truncated { bytes: self.position });
        };
        BlockHeader::parse(header, at)
    }

    /// Appends the part of the block that begins at `at`, whose header was read.
    fn part(
        &mut self,
        at: u64,
        header: &BlockHeader,
        bytes: &mut Vec<u8>,
    ) -> Result<(), CaptureError> {
        if u64::from(header.part_bytes) > self.limit - self.bytes {
            return Err(CaptureError::TooLarge { limit: self.limit });
        }
        self.bytes += u64::from(header.part_bytes);
        let payload_bytes = header.payload_bytes as usize;
        if self.read(payload_bytes)?.len() < payload_bytes {
            return Err(CaptureError::Truncated { bytes: self.position });
        }
        let start = bytes.len();
        grow(bytes, start + header.part_bytes as usize, header.total)?;
        let part = &mut bytes[start..];
        let is_whole = crc32c::crc32c(&self.buffer) == header.payload_checksum
            && self.packer.unpack(header.packing, &self.buffer, part)
            && crc32c::crc32c(part) == header.part_checksum;
        if is_whole { Ok(()) } else { Err(damaged(at, "the block does not fit its checksum")) }
    }

    /// The next bytes, fewer only where the file ends.
    fn read(&mut self, bytes: usize) -> io::Result<&[u8]> {
        self.buffer.clear();
        self.reader.by_ref().take(bytes as u64).read_to_end(&mut self.buffer)?;
        self.position += self.buffer.len() as u64;
        Ok(&self.buffer)
    }
}

fn damaged(at: u64, error: &'static str) -> CaptureError {
    CaptureError::Damaged { at, error }
}

/// Makes an array longer. It never reserves more than a few times what is there, whatever length the
/// file claims, and in the end exactly that.
fn grow(bytes: &mut Vec<u8>, length: usize, total: u64) -> io::Result<()> {
    if length > bytes.capacity() {
        let total = usize::try_from(total).unwrap_or(usize::MAX);
        let capacity = bytes.len().saturating_mul(3).min(total).max(length);
        bytes.try_reserve_exact(capacity - bytes.len())?;
    }
    bytes.resize(length, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    //! Files that no writer makes, though their checksums are right.

    use super::super::format::{PART_BYTES, Packing};
    use super::*;
    use crate::model::DeviceInfo;
    use crate::synthetic::{Keep, SyntheticModule};

    /// A block whose part is `part_bytes` zeros.
    fn zeros(section: Section, offset: u64, part_bytes: u32, total: u64) -> Vec<u8> {
        let part = vec![0; part_bytes as usize];
        let header = BlockHeader {
            section,
            packing: Packing::Zeros,
            part_bytes,
            part_checksum: crc32c::crc32c(&part),
            payload_bytes: 0,
            payload_checksum: 0,
            offset,
            total,
        };
        header.to_bytes().to_vec()
    }

    fn plain(section: Section, part: &[u8]) -> Vec<u8> {
        let checksum = crc32c::crc32c(part);
        let header = BlockHeader {
            section,
            packing: Packing::Plain,
            part_bytes: part.len() as u32,
            part_checksum: checksum,
            payload_bytes: part.len() as u32,
            payload_checksum: checksum,
            offset: 0,
            total: part.len() as u64,
        };
        [&header.to_bytes(), part].concat()
    }

    fn end() -> Vec<u8> {
        plain(Section::End, &[])
    }

    fn capture() -> Capture {
        let module = SyntheticModule::new(Keep::First, 4);
        Capture {
            device: DeviceInfo { name: "synthetic".to_owned(), ..DeviceInfo::default() },
            ..module.into_capture().expect("no site is whole")
        }
    }

    /// The metadata of [`capture`] with a text in place of another.
    fn metadata_with(text: &str, replacement: &str) -> Vec<u8> {
        let json = String::from_utf8(metadata::encode(&capture())).expect("JSON is text");
        assert!(json.contains(text), "{json}");
        json.replacen(text, replacement, 1).into_bytes()
    }

    const RECORDS: Section = Section::Array { module: 0, array: CaptureArray::Records };

    /// Reads blocks after metadata that claim so many bytes of records.
    fn refused(records: u64, blocks: &[Vec<u8>]) -> String {
        let metadata = metadata_with("\"records\":0", &format!("\"records\":{records}"));
        let metadata = plain(Section::Metadata, &metadata);
        let whole = [std::slice::from_ref(&metadata), blocks, &[metadata.clone(), end()]];
        Capture::read_from(whole.concat().concat().as_slice()).expect_err("refused").to_string()
    }

    #[test]
    fn claims_take_no_memory() {
        let mut bytes = Vec::new();
        for part in 1..=4 {
            grow(&mut bytes, part * PART_BYTES, 1 << 60).expect("memory");
            assert!(bytes.capacity() <= 3 * part * PART_BYTES, "{}", bytes.capacity());
        }
        let part = zeros(RECORDS, 0, PART_BYTES as u32, 1 << 60);
        let error = refused(1 << 60, &[part]);
        assert!(error.contains("another block belongs there"), "{error}");
    }

    #[test]
    fn blocks_that_do_not_follow_are_refused() {
        let other = |module, array| zeros(Section::Array { module, array }, 0, 16, 16);
        let records = || zeros(RECORDS, 0, 16, 16);
        for blocks in [
            // Of another length than the metadata have.
            vec![zeros(RECORDS, 0, 32, 32)],
            vec![],
            vec![other(0, CaptureArray::Lanes)],
            vec![other(1, CaptureArray::Records)],
            vec![records(), records()],
            vec![records(), other(9, CaptureArray::Lanes)],
            vec![records(), end()],
        ] {
            let error = refused(16, &blocks);
            assert!(error.contains("another block belongs there; copy"), "{error}");
        }
        let more = plain(Section::Metadata, &metadata_with("\"records\":0", "\"records\":16"));
        let error = refused(16, &[records(), more]);
        assert!(error.contains("the end mark belongs there"), "{error}");
    }

    #[test]
    fn a_part_that_unpacks_to_something_else_is_damaged() {
        let mut block = plain(RECORDS, &[7; 16]);
        let bytes = block.first_chunk().expect("a header");
        let header = BlockHeader::parse(bytes, 0).expect("a whole block");
        let wrong = BlockHeader { part_checksum: header.part_checksum ^ 1, ..header };
        block[..HEADER_BYTES].copy_from_slice(&wrong.to_bytes());
        let error = refused(16, &[block]);
        assert!(error.contains("the block does not fit its checksum"), "{error}");
    }

    #[test]
    fn metadata_that_mean_nothing_are_refused_and_say_where() {
        let read = |metadata: &[u8]| {
            let file = [plain(Section::Metadata, metadata), end()].concat();
            Capture::read_from(file.as_slice()).expect_err("refused").to_string()
        };
        let site = |id: u32, kind: &str, strategy: u32| {
            let place = r#""name":"","file":"","module":"","line":1,"column":1"#;
            format!(r#""sites":[{{"id":{id},"kind":"{kind}","strategy":{strategy},{place}}}]"#)
        };
        for (text, replacement, said) in [
            (
                "\"emulated\":false",
                "\"emulated\":0",
                "integer `0`, expected a boolean at line 1 column",
            ),
            ("\"sm_count\":0", "\"sm_count\":-1", "integer `-1`, expected u32 at line 1 column"),
            ("\"finished\"", "\"paused\"", "unknown variant `paused`, expected one of `finished`"),
            ("\"sites\":[]", &site(0, "mark", 0), "0 is not the id of a site"),
            (
                "\"sites\":[]",
                &site(1, "spot", 0),
                "unknown variant `spot`, expected one of `kernel`",
            ),
            ("\"sites\":[]", &site(1, "mark", 30583), "30583 is not the code of a strategy"),
            ("\"name\"", "\"nom\"", "missing field `name` at line 1 column"),
            ("\"sites\":[]", "\"sites\":[7]", "invalid type: integer `7`"),
            (
                "\"descriptor\":\"",
                "\"descriptor\":\"00",
                "the descriptor is not 256 hexadecimal digits",
            ),
            (
                "\"missing\":[]",
                "\"missing\":[7]",
                "missing is not empty: the capture was read from",
            ),
            ("{", "", "line 1"),
        ] {
            let error = read(&metadata_with(text, replacement));
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn members_that_are_not_known_are_skipped() {
        let metadata = metadata_with("{", "{\"color\":\"blue\",");
        let metadata = plain(Section::Metadata, &metadata);
        let file = [metadata.clone(), metadata, end()].concat();
        assert_eq!(Capture::read_from(file.as_slice()).expect("whole"), capture());
    }

    #[test]
    fn other_versions_are_refused_with_both_named() {
        let mut file = Vec::new();
        capture().write_to(&mut file).expect("a vector takes everything");
        let with = |at: usize, version: u16| {
            let mut file = file.clone();
            file[at..at + 2].copy_from_slice(&version.to_le_bytes());
            let checked = HEADER_BYTES - 4;
            let checksum = crc32c::crc32c(&file[..checked]);
            file[checked..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
            Capture::read_from(file.as_slice()).expect_err("refused").to_string()
        };
        let format = with(8, 9);
        assert!(format.contains("has format version 9, this library reads version 1"), "{format}");
        let wire = with(10, 2);
        assert!(wire.contains("have wire version 2, this library reads version 1;"), "{wire}");
    }

    #[test]
    fn numbers_that_json_has_not_come_back() {
        let mut odd = capture();
        odd.device.clock_mhz = Some(f64::NAN);
        let read = metadata::decode(&metadata::encode(&odd)).expect("readable").capture;
        assert!(read.device.clock_mhz.is_some_and(f64::is_nan));
        for number in [f64::INFINITY, -0.0, 0.1 + 0.2, f64::MIN_POSITIVE / 3.0] {
            odd.device.clock_mhz = Some(number);
            let read = metadata::decode(&metadata::encode(&odd)).expect("readable").capture;
            assert_eq!(read.device.clock_mhz.map(f64::to_bits), Some(number.to_bits()));
        }
    }
}
