//! Draws a flame graph of folded stacks with inferno, beside which our own is measured.
//!
//! ```sh
//! cargo run --release -p profiler-trace --example inferno_flamegraph -- gemm.folded > gemm.svg
//! ```

use std::fs::File;
use std::io::{BufReader, stdout};

use inferno::flamegraph::{Options, from_reader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: inferno_flamegraph FOLDED")?;
    let mut options = Options::default();
    options.count_name = "ns".to_owned();
    from_reader(&mut options, BufReader::new(File::open(file)?), stdout().lock())?;
    Ok(())
}
