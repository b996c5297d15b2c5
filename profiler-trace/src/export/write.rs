//! Exports for programs other than timeline viewers: flame graphs, profiles, tables.

use std::io::{self, BufWriter, Write};

use super::{StackGroup, events, folded, hatchet};
use crate::decode::Decoder;
use crate::decode::StreamedTrace;
use crate::diagnostic::Diagnostics;
use crate::model::Trace;
use crate::source::WarpSource;

impl Trace {
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
    pub fn write_folded_to(&self, writer: impl Write, group: StackGroup) -> io::Result<()> {
        write_folded(self, writer, group)
    }

    /// Writes a profile in the literal format of Hatchet, which Triton's `proton-viewer` reads
    /// (conventionally `NAME.hatchet`). The writer need not be buffered.
    ///
    /// The frames are those of [`Trace::write_folded_to`]. For each the viewer shows
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
    pub fn write_hatchet_to(&self, writer: impl Write) -> io::Result<()> {
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
    pub fn write_events_csv_to(&self, writer: impl Write) -> io::Result<()> {
        buffered(writer, |writer| events::write_as_csv(self, writer))
    }

    /// Writes the rows of [`Trace::write_events_csv_to`] as lines of JSON: an object each, whose
    /// keys are the columns, with `null` for an empty field. Such a file can be read line by line.
    /// Values that JSON has no number for (`NaN`, `inf`) are strings. The writer need not be
    /// buffered.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_events_json_to(&self, writer: impl Write) -> io::Result<()> {
        buffered(writer, |writer| events::write_as_json(self, writer))
    }
}

impl Decoder<'_> {
    /// Writes folded stacks as [`Trace::write_folded_to`] does, and decodes the warps meanwhile.
    /// Returns [`Trace::diagnostics`].
    ///
    /// Next to the capture, this holds what [`Decoder::outline`] returns, the regions of one warp,
    /// and the stacks that [`Trace::write_folded_to`] speaks of.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_folded_to(
        &self,
        writer: impl Write,
        group: StackGroup,
    ) -> io::Result<Diagnostics> {
        self.write(|trace| write_folded(trace, writer, group))
    }

    /// As [`Trace::write_hatchet_to`], in the way of [`Decoder::write_folded_to`]. The stacks are
    /// those of all kernels.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_hatchet_to(&self, writer: impl Write) -> io::Result<Diagnostics> {
        self.write(|trace| buffered(writer, |writer| hatchet::write(trace, writer)))
    }

    /// As [`Trace::write_events_csv_to`], in the way of [`Decoder::write_folded_to`], without any
    /// stack.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_events_csv_to(&self, writer: impl Write) -> io::Result<Diagnostics> {
        self.write(|trace| buffered(writer, |writer| events::write_as_csv(trace, writer)))
    }

    /// Writes what [`Trace::write_events_json_to`] writes, in the way of
    /// [`Decoder::write_events_csv_to`].
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write_events_json_to(&self, writer: impl Write) -> io::Result<Diagnostics> {
        self.write(|trace| buffered(writer, |writer| events::write_as_json(trace, writer)))
    }

    pub(super) fn write(
        &self,
        write: impl FnOnce(&StreamedTrace<'_>) -> io::Result<()>,
    ) -> io::Result<Diagnostics> {
        let trace = self.streamed();
        write(&trace)?;
        Ok(trace.into_outline().diagnostics)
    }
}

/// Writes the folded stacks of a trace, as [`Trace::write_folded_to`] does, or of a capture that is
/// decoded meanwhile.
///
/// # Errors
///
/// Those of the writer.
pub fn write_folded(
    source: &impl WarpSource,
    writer: impl Write,
    group: StackGroup,
) -> io::Result<()> {
    buffered(writer, |writer| folded::write(source, group, writer))
}

fn buffered<W: Write>(
    writer: W,
    write: impl FnOnce(&mut BufWriter<W>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, writer);
    write(&mut writer)?;
    writer.flush()
}
