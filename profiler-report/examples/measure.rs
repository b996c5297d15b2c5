//! Writes a page for traces of growing size, and says how long it took and how large the page is.
//!
//! `cargo run --release -p profiler-report --example measure -- FOLDER [REGIONS..]`
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use profiler_report::{ReportOptions, write_html};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder for the pages")?);
    let sizes = arguments.map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    let sizes = if sizes.is_empty() { vec![10_000, 1_000_000, 10_000_000] } else { sizes };
    std::fs::create_dir_all(&folder)?;
    for size in sizes {
        let trace = support::large(size);
        let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
        let path = folder.join(format!("report-{size}.html"));
        let start = Instant::now();
        write_html(&trace, File::create(&path)?, &ReportOptions::default())?;
        let seconds = start.elapsed().as_secs_f64();
        let bytes = std::fs::metadata(&path)?.len();
        println!("{regions} regions: {seconds:.3} s, {bytes} bytes, {}", path.display());
    }
    Ok(())
}
