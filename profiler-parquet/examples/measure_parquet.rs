//! What it takes to write a table of many regions: `measure parquet|arrow REGIONS FILE`.
//!
//! Prints the time of writing alone, the bytes of the file, and the memory of the process before and
//! at the peak; run it under `/usr/bin/time -v` for the whole process.

#[path = "../tests/support/mod.rs"]
mod support;

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use profiler_parquet::{write_arrow, write_parquet};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, regions, path] = arguments.as_slice() else {
        return Err("usage: measure parquet|arrow REGIONS FILE".into());
    };
    let trace = support::many_regions(regions.parse()?);
    let before = memory("VmRSS:")?;
    let start = Instant::now();
    let file = File::create(path)?;
    match format.as_str() {
        "parquet" => write_parquet(&trace, file)?,
        "arrow" => write_arrow(&trace, file)?,
        other => return Err(format!("{other} is no format; take parquet or arrow").into()),
    }
    let seconds = start.elapsed().as_secs_f64();
    let rows: usize =
        trace.warps.iter().map(|warp| 1 + warp.regions.len() + warp.marks.len()).sum();
    let bytes = std::fs::metadata(path)?.len();
    let line = format!(
        "{format}: {rows} rows in {seconds:.2} s ({:.2} million/s), {bytes} bytes ({:.1} a row); \
         {before} KiB before, {} KiB at the peak\n",
        rows as f64 / seconds / 1e6,
        bytes as f64 / rows as f64,
        memory("VmHWM:")?,
    );
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes())?;
    Ok(())
}

/// A line of what Linux says of this process, in KiB.
fn memory(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
