//! Reads captures and decodes them.

use std::fs;
use std::io::{self, BufReader, Read};

use profiler_trace::{Capture, CaptureError, Decoder, StreamedTrace, Trace};

use crate::arguments::{File, ReadingArguments};
use crate::console::Console;
use crate::exit::{Error, cannot_read, chain};
use crate::units::bytes;

/// A capture, and the size of its file.
pub(crate) struct Loaded {
    /// The capture.
    pub(crate) capture: Capture,
    /// The size of the file.
    pub(crate) file_bytes: u64,
}

/// Refuses more than one capture from standard input.
pub(crate) fn check<'f>(files: impl IntoIterator<Item = &'f File>) -> Result<(), Error> {
    let piped = files.into_iter().filter(|file| **file == File::Standard).count();
    if piped > 1 {
        return Err(Error::new(format!(
            "standard input is named {piped} times, and can be read once"
        ))
        .with_help("name files; `-` may stand for one of the captures"));
    }
    Ok(())
}

/// Reads a capture.
pub(crate) fn capture(
    file: &File,
    arguments: ReadingArguments,
    console: &Console,
) -> Result<Loaded, Error> {
    let name = file.input_name().to_string();
    let unreadable = |error: io::Error| cannot_read(&name, &error);
    let (reader, total): (Box<dyn Read>, Option<u64>) = match file {
        File::Standard => (Box::new(io::stdin().lock()), None),
        File::Path(path) if path.as_os_str().is_empty() => {
            return Err(Error::new("cannot read a capture: the path is empty")
                .with_help("give the path of a capture, or `-` for standard input"));
        }
        File::Path(path) => {
            let opened = fs::File::open(path).map_err(unreadable)?;
            let about = opened.metadata().map_err(unreadable)?;
            if about.is_dir() {
                return Err(Error::new(format!("cannot read {name}: it is a folder"))
                    .with_help("name one of the captures in it"));
            }
            (Box::new(opened), about.is_file().then_some(about.len()))
        }
    };
    let progress = console.reading(&format!("reading {name}"), total);
    let reader = BufReader::with_capacity(1 << 16, progress.bar.wrap_read(reader));
    let limit = arguments.memory_limit.unwrap_or(u64::MAX);
    let read = Capture::read_from_within(reader, limit);
    let capture = read.map_err(|error| match error {
        CaptureError::Io(error) => unreadable(error),
        CaptureError::TooLarge { limit } => Error::new(format!(
            "{name} holds more than the {} that --memory-limit allows",
            bytes(limit)
        ))
        .with_help("if you trust where it comes from, raise --memory-limit, or leave it out"),
        error => Error::new(format!("{name}: {}", chain(&error))),
    })?;
    let file_bytes = progress.bar.position();
    Ok(Loaded { capture, file_bytes })
}

/// The decoder of a capture, as the arguments ask for it.
pub(crate) fn decoder(capture: &Capture, arguments: ReadingArguments) -> Decoder<'_> {
    let decoder = Decoder::new(capture);
    if arguments.subtract_cost { decoder.subtract_record_cost() } else { decoder }
}

/// Decodes all of a capture but its regions, which are decoded on demand.
pub(crate) fn streamed<'d>(decoder: &'d Decoder<'_>, console: &Console) -> StreamedTrace<'d> {
    console.work("decoding", || decoder.streamed())
}

/// Decodes a capture, and drops it.
pub(crate) fn decoded(capture: Capture, arguments: ReadingArguments, console: &Console) -> Trace {
    console.work("decoding", || {
        let trace = decoder(&capture, arguments).trace();
        drop(capture);
        trace
    })
}

/// A decoded capture without its regions, which take most of the memory of a trace.
pub(crate) struct Outline {
    /// Everything else.
    pub(crate) trace: Trace,
    /// The number of regions.
    pub(crate) regions: usize,
}

/// Decodes a capture, and drops it, for commands that need no single region.
pub(crate) fn outlined(
    capture: Capture,
    arguments: ReadingArguments,
    console: &Console,
) -> Outline {
    console.work("decoding", || {
        let decoder = decoder(&capture, arguments);
        let trace = decoder.streamed();
        Outline { regions: trace.region_count(), trace: trace.into_outline() }
    })
}
