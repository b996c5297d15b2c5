//! Writes a made-up capture of a given size, to try and to measure what reads captures.
//!
//! ```sh
//! cargo run --release -p profiler-trace --example synthetic_capture -- 1000000 million.capture
//! ```

use profiler_test_tools::synthetic::{Content, sized};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: synthetic_capture RECORDS FILE";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [records, file] = arguments.as_slice() else { return Err(usage.into()) };
    let records = records.parse().map_err(|error| format!("{usage}: RECORDS: {error}"))?;
    sized(records, Content::Regions)?.write(file)?;
    Ok(())
}
