//! Timelines of a trace in memory, and of one that is decoded while it is written.

use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{ExportOptions, GZIP_LEVEL, chrome, perfetto, walk};
use crate::decode::Decoder;
use crate::diagnostic::Diagnostics;
use crate::source::WarpSource;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 16;

impl Decoder<'_> {
    /// Writes what [`Trace::write_perfetto_to`](crate::Trace::write_perfetto_to) writes, and decodes
    /// warps as it goes. Returns what was lost or odd in the capture,
    /// [`Trace::diagnostics`](crate::Trace::diagnostics).
    ///
    /// Next to the capture, this holds what [`Decoder::outline`] returns, the regions of one warp
    /// and, where kernels chose tracks by number, those of one such track, or of several that together
    /// have no more than a sixteenth of what is on all of them, or than 65 536 regions and marks.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_perfetto_to(
        &self,
        writer: impl Write,
        options: &ExportOptions,
    ) -> io::Result<Diagnostics> {
        self.write(|trace| write_perfetto(trace, writer, options))
    }

    /// Writes what [`Trace::write_chrome_to`](crate::Trace::write_chrome_to) writes, in the way of
    /// [`Decoder::write_perfetto_to`].
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_chrome_to(
        &self,
        writer: impl Write,
        options: &ExportOptions,
    ) -> io::Result<Diagnostics> {
        self.write(|trace| write_chrome(trace, writer, options))
    }
}

pub(super) fn write_perfetto(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ExportOptions,
) -> io::Result<()> {
    buffered(writer, options, |writer| {
        let mut sink = perfetto::Perfetto::new(source.outline(), writer)?;
        walk::walk(source, options, &mut sink)
    })
}

pub(super) fn write_chrome(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ExportOptions,
) -> io::Result<()> {
    buffered(writer, options, |writer| {
        let mut sink = chrome::Chrome::new(source.outline(), writer)?;
        walk::walk(source, options, &mut sink)?;
        sink.finish()
    })
}

/// Lets `write` write through a buffer and, if it is asked for, gzip.
fn buffered(
    mut writer: impl Write,
    options: &ExportOptions,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if !options.gzip {
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
        write(&mut writer)?;
        return writer.flush();
    }
    let packed = GzEncoder::new(&mut writer, Compression::new(GZIP_LEVEL));
    let mut packed = BufWriter::with_capacity(BUFFER_BYTES, packed);
    write(&mut packed)?;
    packed.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?;
    writer.flush()
}
