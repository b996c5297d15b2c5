//! Timelines of a trace in memory, and of one that is decoded while it is written.

use std::io::{self, Write};

use super::write::buffered;
use super::{ExportOptions, chrome, perfetto, walk};
use crate::decode::Decoder;
use crate::diagnostic::Diagnostics;
use crate::source::WarpSource;

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
        walk::expect(self.warp_count());
        self.write(0, |trace| write_perfetto(trace, writer, options))
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
        walk::expect(self.warp_count());
        self.write(0, |trace| write_chrome(trace, writer, options))
    }
}

pub(super) fn write_perfetto(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ExportOptions,
) -> io::Result<()> {
    buffered(writer, |writer| {
        let mut sink = perfetto::Perfetto::new(source.outline(), writer)?;
        walk::walk(source, options, &mut sink)
    })
}

pub(super) fn write_chrome(
    source: &impl WarpSource,
    writer: impl Write,
    options: &ExportOptions,
) -> io::Result<()> {
    buffered(writer, |writer| {
        let mut sink = chrome::Chrome::new(source.outline(), writer)?;
        walk::walk(source, options, &mut sink)?;
        sink.finish()
    })
}
