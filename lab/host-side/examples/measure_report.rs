//! Writes pages of traces of growing size: how long it took, how large they are, and how soon a
//! browser has painted and finished them.
//!
//! ```sh
//! cargo run --release --manifest-path lab/host-side/Cargo.toml --example measure_report -- FOLDER [REGIONS..]
//! ```
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

#[path = "../../../profiler-report/tests/support/mod.rs"]
mod support;
#[path = "../../../profiler-report/tests/support/browser.rs"]
mod tool;

use std::fs::File;
use std::path::PathBuf;
use std::time::Instant;

use profiler_report::{ReportOptions, write_html};
use tool::Browser;

/// The number of times that each page is written, and opened.
const REPEATED: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder for the pages")?);
    let sizes = arguments.map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    let sizes = if sizes.is_empty() { vec![10_000, 1_000_000, 10_000_000] } else { sizes };
    std::fs::create_dir_all(&folder)?;
    let browser = Browser::find();
    if let Err(missing) = &browser {
        println!("pages are not opened: {missing}");
    }
    for size in sizes {
        let trace = support::large(size);
        let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
        let path = folder.join(format!("report-{size}.html"));
        println!("{regions} regions");
        for _ in 0..REPEATED {
            let start = Instant::now();
            write_html(&trace, File::create(&path)?, &ReportOptions::default())?;
            println!("  written in {:.3} s", start.elapsed().as_secs_f64());
        }
        println!("  {} bytes", std::fs::metadata(&path)?.len());
        drop(trace);
        for _ in 0..if browser.is_ok() { REPEATED } else { 0 } {
            let (paint, ready) = browser.clone()?.time(&path)?;
            println!("  opened: first paint {paint:.0} ms, ready {ready:.0} ms");
        }
    }
    Ok(())
}
