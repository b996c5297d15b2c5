//! Exports for other programs, of a trace in memory and of one that is decoded meanwhile.

use std::io::{self, BufWriter, Write};

use super::{ExportOptions, StackGroup, chrome, events, folded, hatchet, perfetto, walk};
use crate::source::WarpSource;

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a trace for other programs: one in memory, or a [`StreamedTrace`](crate::StreamedTrace), whose
/// warps are decoded meanwhile. Both write the same bytes.
///
/// ```
/// # fn export(capture: &profiler_trace::Capture, file: std::fs::File) -> std::io::Result<()> {
/// use profiler_trace::{Decoder, Export};
///
/// Decoder::new(capture).streamed().write_perfetto_to(file, &Default::default())
/// # }
/// ```
pub trait Export: WarpSource + Sized {
    /// Writes a timeline in Perfetto's native format. The writer need not be buffered.
    ///
    /// Timestamps are whole nanoseconds on the trace's axis; if anything lies before its origin, all
    /// are moved by what brings the earliest to 0. Rounding keeps order and nesting.
    ///
    /// Beside the outline, this holds the regions of one warp and, where kernels chose tracks by number,
    /// those of one such track, or of several that together have no more than a sixteenth of what is on
    /// all of them, or than 65 536 regions and marks.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_perfetto_to(&self, writer: impl Write, options: &ExportOptions) -> io::Result<()> {
        buffered(writer, |writer| {
            let mut sink = perfetto::Perfetto::new(self.outline(), writer)?;
            walk::walk(self, options, &mut sink)
        })
    }

    /// Writes a timeline as Chrome JSON. The writer need not be buffered.
    ///
    /// Timestamps are microseconds with three decimals, on the same axis as in
    /// [`Export::write_perfetto_to`], and so is the memory that it takes.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_chrome_to(&self, writer: impl Write, options: &ExportOptions) -> io::Result<()> {
        buffered(writer, |writer| {
            let mut sink = chrome::Chrome::new(self.outline(), writer)?;
            walk::walk(self, options, &mut sink)?;
            sink.finish()
        })
    }

    /// Writes folded stacks, from which inferno and other tools make flame graphs: a line for each
    /// distinct stack, `kernel;region;region 1234`. The writer need not be buffered.
    ///
    /// Values are whole nanoseconds in the stack and in no deeper one, summed over all lanes, warps
    /// and launches. They are rounded so that the sum of each frame is right to a nanosecond, even
    /// with many lines.
    ///
    /// At every moment a lane has one stack: the regions that are open then, the one that began
    /// first outermost. If regions cross, the time that both are open is in both, one above the
    /// other, and counted once. Frames of one region, wherever they are, sum up to the region's
    /// time; kernels sum up to the time between their warps' entries and exits. Regions of lanes
    /// other than lane 0 lie in a root of their own, `kernel (other lanes)`, which is as wide as
    /// they are: lanes run at the same time, and the kernel's own time is counted once for a warp.
    ///
    /// Regions without an end last until their warp left and are called `name (open)`, warps that
    /// never left until their launch ended, `kernel (never left)`. Of warps that lost records, the
    /// time outside regions has a frame of its own, since the lost records may have been in it.
    /// Regions in more than 128 others share one frame. Marks are not shown. A `;` in a name is
    /// written as `；` (U+FF1B), a control character as its picture (`␊`), and a space that readers
    /// would trim as `␠` or, before a number at the end, as a no-break space.
    ///
    /// Memory beside the trace grows with the number of distinct stacks (by block and by warp, of one
    /// block), and with the regions of one warp.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_folded_to(&self, writer: impl Write, group: StackGroup) -> io::Result<()> {
        buffered(writer, |writer| folded::write(self, group, writer))
    }

    /// Writes a profile in the literal format of Hatchet, which Triton's `proton-viewer` reads
    /// (conventionally `NAME.hatchet`). The writer need not be buffered.
    ///
    /// The frames are those of [`Export::write_folded_to`]. For each the viewer shows
    ///
    /// - `-m cycles`: its cycles, summed over all recorders;
    /// - `-m normalized_cycles`: the cycles that warps spent in it, divided by the warps of the launch that
    ///   could record it, summed over launches. While several lanes of a warp are in regions of one
    ///   name it counts once, for the frame that began first. Of one launch it is [`crate::Summary::mean_per_warp`], and the figure
    ///   that proton gives for a region in which no other lies. (Proton divides by all warps of the
    ///   launch, and of a region with others in it the viewer adds their cycles to its own again.)
    /// - `-m time/ns` and its other units: its time.
    ///
    /// The file holds the figures of each frame without the frames below it, and the viewer sums
    /// them up. They may be negative for `normalized_cycles` if fewer warps record a region than
    /// the one around it. If records hold `%globaltimer` instead of cycles, there is only `time`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_hatchet_to(&self, writer: impl Write) -> io::Result<()> {
        buffered(writer, |writer| hatchet::write(self, writer))
    }

    /// Writes a row for every kernel of a warp, every region, every mark and every span of the
    /// host, as CSV (RFC 4180, lines end as on Unix) with a line of column names first. A field is
    /// empty if the row has nothing for it. Floating point numbers have as many digits as it takes
    /// to read the same number again. The writer need not be buffered.
    ///
    /// `docs/formats.md` lists the columns; the first, `schema`, is their version.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_events_csv_to(&self, writer: impl Write) -> io::Result<()> {
        buffered(writer, |writer| events::write_as_csv(self, writer))
    }

    /// Writes the rows of [`Export::write_events_csv_to`] as lines of JSON: an object each, whose
    /// keys are the columns, with `null` for an empty field. Such a file can be read line by line.
    /// Values that JSON has no number for (`NaN`, `inf`) are strings. The writer need not be
    /// buffered.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    fn write_events_json_to(&self, writer: impl Write) -> io::Result<()> {
        buffered(writer, |writer| events::write_as_json(self, writer))
    }
}

impl<Source: WarpSource> Export for Source {}

/// Lets `write` write through a buffer.
pub(super) fn buffered<W: Write>(
    writer: W,
    write: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, writer);
    write(&mut writer)?;
    writer.flush()
}
