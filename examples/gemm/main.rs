//! Multiplies two bf16 matrices on tensor cores and shows what its warps wait for; see
//! `docs/examples/gemm.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod problem;

use std::path::PathBuf;

use clap::Parser;
use example_kernels::gemm::{BLOCK, SHARED_BYTES, TILE_M, TILE_N, gemm};
use problem::Problem;
use profiler_host::{Backend, BackendChoice, Profiler, include_ptx, launch};

/// Multiplies two bf16 matrices on tensor cores, and shows what its warps wait for.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; auto takes the GPU if there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for gemm.pftrace and gemm.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers; on the emulator it always does
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend, out, small } = Arguments::parse();
    let backend = Backend::choose(backend, include_ptx!("gemm"))?;
    println!("gemm runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }

    let small = small || !backend.is_gpu();
    let problem = Problem::new(small);
    let Problem { m, n, k, .. } = problem;
    let (a, b) = (backend.upload(&problem.a)?, backend.upload(&problem.b)?);
    let mut c = backend.zeroed::<f32>(m as usize * n as usize)?;
    let to = c.as_mut_ptr();

    // Every fourth block, from the first wave of blocks to the last, makes a file small enough for a
    // viewer.
    let profiler = Profiler::builder().block_stride(if small { 1 } else { 4 }).build()?;
    let mut session = backend.session(&profiler)?;
    let grid = (n / TILE_N, m / TILE_M);
    // SAFETY: the buffers hold matrices of these extents, and are aligned to 256 bytes as their lengths
    // are multiples of it; the extents are whole tiles, and the launch is the one that the kernel asks
    // for. Nothing else uses the buffers before the kernel has ended, for which `capture` waits.
    unsafe {
        launch!(session, gemm<<<grid, BLOCK, SHARED_BYTES>>>(a.as_ptr(), b.as_ptr(), to, n, k))
    }?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    problem.check(&c.read()?);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("gemm").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
