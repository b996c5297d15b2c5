//! Measures on a GPU what one recorded region costs; `--help` says how.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program talks to its user there"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use profiler_bench::gpu::Gpu;
use profiler_bench::point::{COMBINATIONS, Header, RECORD_COST};
use profiler_bench::report::{JsonLines, head, row};
use profiler_bench::{Error, launch_cost, measure, schemes};

/// Measures on a GPU what one recorded region costs, and what a profiled kernel's launch does.
#[derive(Debug, Parser)]
struct Arguments {
    /// Schemes to measure, with commas between [default: all]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    schemes: Vec<String>,

    /// Measure less: bodies of 8, 1, 8 and 32 warps, one block an SM, and fewer launches
    #[arg(long)]
    quick: bool,

    /// Measure every strategy with every clock, kind of record and buffer in place of the schemes; the
    /// program of `cargo lab gpu-combinations` has the kernels
    #[arg(long)]
    combinations: bool,

    /// Folder that record-cost.jsonl and launch.jsonl are written to, or record-combinations.jsonl
    #[arg(long, default_value = ".", value_name = "DIR")]
    out: PathBuf,

    /// Give up after so many seconds [default: 240, with --combinations 880]
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let limit = arguments.limit.unwrap_or(if arguments.combinations { 880 } else { 240 });
    give_up_after(Duration::from_secs(limit));
    match run(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failed) => {
            eprintln!("{failed} measurements failed; their rows say why");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Ends the program, whatever a kernel does; what was measured is in the files.
fn give_up_after(limit: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        eprintln!("error: not done after {} s, see --limit", limit.as_secs());
        std::process::exit(124);
    });
}

/// Measures everything that was asked for; gives how many measurements failed.
fn run(arguments: &Arguments) -> Result<usize, Error> {
    if arguments.combinations && cfg!(not(feature = "combinations")) {
        return Err(Error::NoCombinations);
    }
    let all = if arguments.combinations { schemes::combinations() } else { schemes::SCHEMES };
    let selected = schemes::select(all, &arguments.schemes)?;
    let configurations = measure::configurations(arguments.quick);
    let begin = Instant::now();
    let gpu = Gpu::open(&selected)?;
    println!("{}, kernels loaded in {:.1} s", gpu.name, begin.elapsed().as_secs_f64());
    let mut memory = measure::memory(&gpu, &selected, &configurations)?;
    let measurement = if arguments.combinations { COMBINATIONS } else { RECORD_COST };
    let header = Header::new(measurement, &gpu.name, gpu.sm_count, gpu.clock_mhz);
    let mut lines = JsonLines::create(arguments.out.join(format!("{measurement}.jsonl")), &header)?;
    println!("{}", head());
    let mut failed = 0;
    for scheme in selected {
        for configuration in &configurations {
            if !measure::fits(&gpu, scheme, configuration)? {
                println!(
                    "{}: {} blocks of {} warps do not fit an SM, left out",
                    scheme.name, configuration.blocks_per_sm, configuration.warps
                );
                continue;
            }
            let point = measure::measure(&gpu, &mut memory, scheme, configuration);
            println!("{}", row(&point));
            lines.push(&point)?;
            failed += usize::from(point.failed.is_some());
        }
    }
    if arguments.combinations {
        println!("done in {:.1} s", begin.elapsed().as_secs_f64());
        return Ok(failed);
    }
    // Frees the memory before sessions for many launches ask for theirs.
    drop(memory);
    let header = Header::new("launch", &gpu.name, gpu.sm_count, gpu.clock_mhz);
    let mut lines = JsonLines::create(arguments.out.join("launch.jsonl"), &header)?;
    let measured = launch_cost::measure(&gpu, arguments.quick, |points| {
        points.iter().try_for_each(|point| {
            println!("{}", launch_cost::row(point));
            lines.push(point)
        })
    });
    if let Err(error) = measured {
        println!("launches: FAILED: {error}");
        failed += 1;
    }
    println!("done in {:.1} s", begin.elapsed().as_secs_f64());
    Ok(failed)
}
