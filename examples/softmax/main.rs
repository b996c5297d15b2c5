//! Softmax over rows of unequal length: divergence, load imbalance, a branch without lane 0; see
//! `docs/examples/softmax.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod problem;

use std::path::PathBuf;

use clap::Parser;
use example_kernels::softmax::{BLOCK, BLOCKS_PER_SM, softmax};
use problem::Problem;
use profiler_host::{Backend, BackendChoice, Profiler, Session, include_ptx, launch};

/// Computes the softmax of rows of unequal length, and shows where the time goes.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; auto takes the GPU if there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for softmax.pftrace and softmax.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers; on the emulator it always does
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend, out, small } = Arguments::parse();
    // The kernel asks for arrays that begin a line of memory; the emulator aligns buffers if told to.
    let backend = Backend::choose(backend, include_ptx!("softmax"))?.with_buffer_alignment(256);
    println!("softmax runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }

    let small = small || !backend.is_gpu();
    let problem = Problem::new(small);
    let rows = problem.rows();
    let grid = if small { 1 } else { BLOCKS_PER_SM } * backend.device_info().sm_count;
    let input = backend.upload(&problem.input)?;
    let offsets = backend.upload(&problem.offsets)?;
    let mut output = backend.zeroed::<f32>(problem.input.len())?;
    let (from, at, to) = (input.as_ptr(), offsets.as_ptr(), output.as_mut_ptr());
    let launch = |session: &mut Session<'_>| {
        // SAFETY: there are rows + 1 offsets, which rise to the length of input and output; buffers are
        // aligned to 256 bytes. Nothing else uses them before the kernel has ended, for which `capture`
        // waits.
        unsafe { launch!(session, softmax<<<grid, BLOCK>>>(from, to, at, rows)) }
    };

    // How much a warp records depends on its rows: a first run, which only counts, finds it out.
    let profiler = Profiler::builder().measure_record_cost().build()?;
    let profiler = profiler.infer_capacity(|counting| {
        let mut session = backend.session(counting)?;
        launch(&mut session)?;
        session.capture()
    })?;
    let mut session = backend.session(&profiler)?;
    launch(&mut session)?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    problem.check(&output.read()?);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("softmax").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
