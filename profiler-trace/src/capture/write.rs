//! Writes a capture as a file.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::codec::Packer;
use super::format::{BlockHeader, CaptureArray, PART_BYTES, Packing, Section};
use super::{Capture, metadata};
use crate::file::FileError;

impl Capture {
    /// Saves the capture as a file; end its name in `.capture`.
    ///
    /// # Errors
    ///
    /// If the file cannot be created, for want of its folder perhaps, or not be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        FileError::of_writing(path.as_ref(), |file| self.write_to(file))
    }

    /// Writes the capture, compressed, part by part: beside the capture itself this takes about
    /// 3 MiB of memory. The writer need not be buffered.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_to(&self, writer: impl Write) -> io::Result<()> {
        let mut blocks =
            Blocks { writer: BufWriter::with_capacity(1 << 16, writer), packer: Packer::default() };
        let metadata = metadata::encode(self);
        blocks.section(Section::Metadata, &metadata)?;
        for (module, capture) in (0..).zip(&self.modules) {
            for (array, bytes) in CaptureArray::ALL.into_iter().zip(capture.arrays()) {
                blocks.section(Section::Array { module, array }, bytes)?;
            }
        }
        blocks.section(Section::Metadata, &metadata)?;
        blocks.block(Section::End, 0, 0, &[])?;
        blocks.writer.flush()
    }
}

struct Blocks<W: Write> {
    writer: BufWriter<W>,
    packer: Packer,
}

impl<W: Write> Blocks<W> {
    fn section(&mut self, section: Section, bytes: &[u8]) -> io::Result<()> {
        for (index, part) in (0..).zip(bytes.chunks(PART_BYTES)) {
            self.block(section, index * PART_BYTES as u64, bytes.len() as u64, part)?;
        }
        Ok(())
    }

    fn block(&mut self, section: Section, offset: u64, total: u64, part: &[u8]) -> io::Result<()> {
        let units = matches!(
            section,
            Section::Array { array: CaptureArray::Records | CaptureArray::Lanes, .. }
        );
        let (packing, payload) = match part {
            [] => (Packing::Plain, part),
            part => self.packer.pack(part, units),
        };
        let header = BlockHeader {
            section,
            packing,
            part_bytes: part.len() as u32,
            part_checksum: crc32c::crc32c(part),
            payload_bytes: payload.len() as u32,
            payload_checksum: crc32c::crc32c(payload),
            offset,
            total,
        };
        self.writer.write_all(&header.to_bytes())?;
        self.writer.write_all(payload)
    }
}
