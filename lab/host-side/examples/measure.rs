//! What a step on a capture of a given size takes as a whole process: time, and peak memory.
//!
//! ```sh
//! cargo run --release --manifest-path lab/host-side/Cargo.toml --example measure -- decode 10000000
//! ```
//!
//! prints one line of JSON. With a FILE what the step writes is kept: `capture` makes a capture of any
//! size for the command line, with a cost of recording that `--subtract-cost` subtracts. The steps are those of [`STEPS`]. Times are of the step alone; memory is
//! of the whole process, with the capture in it.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::time::Instant;

use profiler_test_tools::synthetic::{Content, sized};
use profiler_trace::{Capture, Decoder, Export, ExportOptions, RecordCost, Stats, StatsQuery};

type Step = fn(&Capture, &Decoder<'_>, &mut Counted) -> io::Result<()>;

/// Each step by name.
const STEPS: &[(&str, Step)] = &[
    ("nothing", |_, _, _| Ok(())),
    ("capture", |capture, _, sink| capture.write_to(sink)),
    ("pair", |_, decoder, _| {
        decoder.each_warp(|records| {
            black_box(records.regions().len());
        });
        Ok(())
    }),
    ("visit", |_, decoder, _| {
        // Whole picoseconds, as a sum of integers does not make each addition wait for the last.
        let mut picoseconds = 0;
        decoder.each_warp(|records| {
            let lengths =
                records.regions().filter_map(|region| Some(region.end?.ns - region.start.ns));
            picoseconds += lengths.map(|ns| (ns * 1000.0) as i64).sum::<i64>();
        });
        black_box(picoseconds);
        Ok(())
    }),
    ("decode", |_, decoder, _| {
        black_box(decoder.trace());
        Ok(())
    }),
    ("decode+stats", |_, decoder, _| {
        black_box(decoder.trace().stats());
        Ok(())
    }),
    ("stats", |_, decoder, _| {
        black_box(Stats::of(&decoder.streamed(), &StatsQuery::new()));
        Ok(())
    }),
    ("decode+perfetto", |_, decoder, sink| {
        decoder.trace().write_perfetto_to(sink, &ExportOptions::default())?;
        Ok(())
    }),
    ("perfetto", |_, decoder, sink| {
        decoder.streamed().write_perfetto_to(sink, &ExportOptions::default())?;
        Ok(())
    }),
    ("chrome", |_, decoder, sink| {
        decoder.streamed().write_chrome_to(sink, &ExportOptions::default())?;
        Ok(())
    }),
    ("decode+chrome", |_, decoder, sink| {
        decoder.trace().write_chrome_to(sink, &ExportOptions::default())?;
        Ok(())
    }),
];

/// Counts what is written, and writes it to a file if there is one.
struct Counted {
    bytes: u64,
    file: Option<File>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.file {
            Some(file) => file.write(bytes)?,
            None => black_box(bytes).len(),
        };
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line of `/proc/self/status`, in bytes.
fn memory(line: &str) -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib = status.lines().find_map(|text| text.strip_prefix(line)?.split_whitespace().nth(1));
    let kib = kib.and_then(|kib| kib.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::Error::other(format!("no {line} is known")))
}

/// Seconds that the main thread was on a processor: what other work on the machine took is no part.
fn processor_seconds() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
    ns.map(|ns| ns * 1e-9).ok_or_else(|| io::Error::other("/proc/self/schedstat has no time"))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let steps: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    let all = || Content::ALL.into_iter();
    let contents = all().map(|(name, _)| name).collect::<Vec<_>>().join("|");
    let usage = format!("usage: measure {} RECORDS [THREADS [{contents} [FILE]]]", steps.join("|"));
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or(usage.as_str())?;
    let &(_, step) = STEPS.iter().find(|(known, _)| *known == name).ok_or(usage.as_str())?;
    let records: u64 = arguments.next().ok_or(usage.as_str())?.parse()?;
    let threads: NonZeroUsize = arguments.next().as_deref().unwrap_or("1").parse()?;
    let word = arguments.next().unwrap_or_else(|| "regions".to_owned());
    let content = all().find(|(known, _)| *known == word);
    let (_, content) = content.ok_or(usage.as_str())?;
    let file = arguments.next().map(File::create).transpose()?;
    let mut sink = Counted { bytes: 0, file };
    let record_cost = Some(RecordCost::uniform(2.0, 5.0));
    let capture = Capture { record_cost, ..sized(records, content)? };
    let capture_bytes = memory("VmRSS")?;
    let (start, processor_start) = (Instant::now(), processor_seconds()?);
    let decoder = Decoder::new(&capture).threads(threads);
    let ready = processor_seconds()? - processor_start;
    step(&capture, &decoder, &mut sink)?;
    let written = sink.bytes;
    let seconds = start.elapsed().as_secs_f64();
    let processor = processor_seconds()? - processor_start;
    writeln!(
        io::stdout(),
        "{{\"step\": \"{name}\", \"content\": \"{word}\", \"records\": {records}, \
         \"threads\": {threads}, \
         \"seconds\": {seconds:.4}, \"processor_seconds\": {processor:.4}, \
         \"processor_seconds_until_ready\": {ready:.4}, \
         \"processor_ns_per_record\": {:.2}, \"written_bytes\": {written}, \
         \"capture_resident_bytes\": {capture_bytes}, \"peak_bytes\": {}}}",
        processor * 1e9 / records as f64,
        memory("VmHWM")?,
    )?;
    Ok(())
}
