//! Producer warps copy tiles, consumer warps compute on them, and arrows show who waited for whom;
//! see `docs/examples/pipeline.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod problem;

use std::path::PathBuf;

use clap::Parser;
use example_kernels::pipeline::{BLOCK, Chunk, pipeline};
use problem::{Problem, TERMS};
use profiler_host::{Backend, BackendChoice, Profiler, include_ptx, launch};

/// Hands tiles from producer warps to consumer warps, and shows who waited for whom.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; auto takes the GPU if there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for pipeline.pftrace and pipeline.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers; on the emulator it always does
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend, out, small } = Arguments::parse();
    let backend = Backend::choose(backend, include_ptx!("pipeline"))?;
    println!("pipeline runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }

    // One block on each SM.
    let blocks = backend.device_info().sm_count;
    let problem = Problem::new(small || !backend.is_gpu(), blocks);
    let tiles = problem.tiles;
    let input = backend.upload(&problem.input)?;
    let mut sums = backend.zeroed::<f32>(problem.rows())?;
    let (from, to) = (input.as_ptr().cast::<Chunk>(), sums.as_mut_ptr());

    let profiler = Profiler::builder().build()?;
    let mut session = backend.session(&profiler)?;
    let [early, late] = TERMS;
    // SAFETY: the buffers hold this many tiles and rows, and are aligned to 256 bytes as their lengths are
    // multiples of it. Nothing else uses them before the kernel has ended, for which `capture` waits.
    unsafe { launch!(session, pipeline<<<blocks, BLOCK>>>(from, to, tiles, early, late)) }?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    problem.check(&sums.read()?);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("pipeline").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
