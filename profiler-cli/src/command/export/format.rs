//! The formats.

use std::fmt;
use std::io::{self, Write};

use clap::ValueEnum;
use profiler_trace::{Decoder, Diagnostics, Export};

use super::options::Options;
use crate::exit::Error;
use crate::output::Content;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Perfetto's own, for ui.perfetto.dev (.pftrace)
    Perfetto,
    /// Chrome's JSON, for ui.perfetto.dev and chrome://tracing (.json)
    Chrome,
    /// Hatchet's, for proton-viewer (.hatchet)
    Hatchet,
    /// Folded stacks of nanoseconds, for inferno, www.speedscope.app and others (.folded)
    Folded,
    /// A row for each kernel of a warp, region, mark and span of the host, as CSV (.csv)
    EventsCsv,
    /// The same as JSON, an object a line (.jsonl)
    EventsJson,
    /// The same without the host's spans, as a table for DuckDB, Polars or Spark (.parquet)
    #[cfg(feature = "parquet")]
    Parquet,
    /// That table as Arrow's IPC file, also called Feather (.arrow)
    #[cfg(feature = "parquet")]
    Arrow,
    /// A flame graph of regions by their own time (.svg)
    Flamegraph,
}

impl Format {
    /// The endings of a file in this format; the first is the usual one.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Perfetto => &[".pftrace", ".perfetto-trace"],
            Self::Chrome => &[".json"],
            Self::Hatchet => &[".hatchet"],
            Self::Folded => &[".folded"],
            Self::EventsCsv => &[".csv"],
            Self::EventsJson => &[".jsonl"],
            #[cfg(feature = "parquet")]
            Self::Parquet => &[".parquet"],
            #[cfg(feature = "parquet")]
            Self::Arrow => &[".arrow", ".feather"],
            Self::Flamegraph => &[".svg"],
        }
    }

    /// All endings, with their formats.
    fn all_endings() -> impl Iterator<Item = (&'static str, Self)> {
        let all = Self::value_variants().iter().copied();
        all.flat_map(|format| format.endings().iter().map(move |it| (*it, format)))
    }

    /// The format that a file's ending names, in whatever case.
    pub(super) fn of_name(name: &str) -> Result<Self, Error> {
        let lower = name.to_ascii_lowercase();
        let found = Self::all_endings().find(|(ending, _)| lower.ends_with(ending));
        found.map(|(_, format)| format).ok_or_else(|| {
            let known: Vec<&str> = Self::all_endings().map(|(ending, _)| ending).collect();
            Error::new(format!("the ending of {name} names no format"))
                .with_help(format!("give --to FORMAT, or one of the endings {}", known.join(", ")))
        })
    }

    /// Whether it is a timeline, and takes the options of timelines.
    pub(super) fn is_timeline(self) -> bool {
        matches!(self, Self::Perfetto | Self::Chrome)
    }

    /// Whether it has a place for spans of the host.
    pub(super) fn shows_host(self) -> bool {
        match self {
            Self::Perfetto | Self::Chrome | Self::EventsCsv | Self::EventsJson => true,
            Self::Hatchet | Self::Folded | Self::Flamegraph => false,
            #[cfg(feature = "parquet")]
            Self::Parquet | Self::Arrow => false,
        }
    }

    /// Whether compressing it once more gains nothing.
    pub(super) fn is_compressed(self) -> bool {
        #[cfg(feature = "parquet")]
        let is_compressed = self == Self::Parquet;
        #[cfg(not(feature = "parquet"))]
        let is_compressed = false;
        is_compressed
    }

    /// Its form on a terminal.
    pub(super) fn content(self) -> Content {
        match self {
            Self::Perfetto => Content::Binary,
            #[cfg(feature = "parquet")]
            Self::Parquet | Self::Arrow => Content::Binary,
            Self::Folded | Self::EventsCsv | Self::Flamegraph => Content::Text,
            Self::Chrome | Self::Hatchet | Self::EventsJson => Content::Json,
        }
    }

    /// Writes a capture while it is decoded, and stores its diagnostics, even if writing fails: they may be the
    /// reason, and a reader may stop early.
    pub(super) fn write(
        self,
        decoder: &Decoder<'_>,
        options: &Options,
        writer: &mut (dyn Write + Send),
        diagnostics: &mut Diagnostics,
    ) -> io::Result<()> {
        let written = self.write_all(decoder, options, writer);
        *diagnostics = decoder.diagnostics();
        written
    }

    fn write_all(
        self,
        decoder: &Decoder<'_>,
        options: &Options,
        writer: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let trace = decoder.streamed();
        match self {
            Self::Perfetto => trace.write_perfetto_to(writer, &options.timeline)?,
            Self::Chrome => trace.write_chrome_to(writer, &options.timeline)?,
            Self::Hatchet => trace.write_hatchet_to(writer)?,
            Self::Folded => trace.write_folded_to(writer, options.stacks)?,
            Self::EventsCsv => trace.write_events_csv_to(writer)?,
            Self::EventsJson => trace.write_events_json_to(writer)?,
            #[cfg(feature = "parquet")]
            Self::Parquet => profiler_parquet::write_parquet(&trace, writer)?,
            #[cfg(feature = "parquet")]
            Self::Arrow => profiler_parquet::write_arrow(&trace, writer)?,
            Self::Flamegraph => profiler_report::write_flamegraph(&trace, writer)?,
        }
        Ok(())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};

    use clap::ValueEnum;
    use profiler_test_tools::quick_or_all;
    use profiler_test_tools::synthetic::{Content, sized};
    use profiler_trace::{Decoder, DiagnosticKind, Diagnostics, Progress};

    use super::Format;
    use crate::command::export::options::FormatArguments;

    #[test]
    fn every_format_counts_all_warps_at_the_end() {
        let capture = sized(100_000, Content::Mixed).expect("the sites are whole");
        let decoder = Decoder::new(&capture);
        let warps = decoder.warp_count() as u64;
        for format in Format::value_variants() {
            let options = FormatArguments::default().of(*format).expect("no option was given");
            let progress = Progress::default();
            let written = progress.watch(|| {
                format.write(&decoder, &options, &mut std::io::sink(), &mut Diagnostics::default())
            });
            written.expect("a sink takes everything");
            assert_eq!((progress.expected(), progress.done()), (warps, warps), "{format}");
        }
    }

    /// Takes nothing, as a pipe whose reader has gone.
    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A capture was once decoded again for that.
    #[test]
    fn what_was_lost_is_known_where_nothing_can_be_written() {
        let mut capture =
            sized(quick_or_all(20_000, 100_000), Content::Mixed).expect("the sites are whole");
        capture.modules[0].lost.warps = 3;
        for format in Format::value_variants() {
            let options = FormatArguments::default().of(*format).expect("no option was given");
            let decoder = Decoder::new(&capture);
            let (progress, mut found) = (Progress::default(), Diagnostics::default());
            let written =
                progress.watch(|| format.write(&decoder, &options, &mut Closed, &mut found));
            assert_eq!(found.count(DiagnosticKind::NoSlot), 3, "{format}");
            assert!(written.is_err() && progress.pass() != "warps decoded", "{format}");
        }
    }

    #[test]
    fn a_name_asks_for_the_format_whose_ending_it_has() {
        for format in Format::value_variants() {
            for ending in format.endings() {
                let path = format!("a.b/c{ending}");
                let found = Format::of_name(&path).expect("a known ending");
                assert_eq!(found, *format, "{path}");
                let found = Format::of_name(&path.to_uppercase()).expect("a known ending");
                assert_eq!(found, *format, "{path}");
            }
        }
        let error = Format::of_name("a.json/b").expect_err("no ending");
        assert!(error.help().is_some_and(|help| help.contains(".pftrace")));
    }
}
