//! Multiplies two bf16 matrices with what Hopper brought: the tensor memory accelerator, warp-group
//! matrix products, warps with roles; see `docs/examples/hopper_gemm.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod problem;
mod tensor_map;

use std::path::PathBuf;

use clap::Parser;
use example_kernels::hopper_gemm::{BLOCK, SHARED_BYTES, hopper_gemm};
use problem::{Problem, ROLES};
use profiler_host::{Backend, BackendChoice, Profiler, Session, include_ptx, launch};

/// Multiplies two bf16 matrices on a Hopper GPU, and shows how warps with roles work together.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; on the emulator it does not
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for hopper_gemm.pftrace and hopper_gemm.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend: choice, out, small } = Arguments::parse();
    // The kernel's PTX is for one kind of GPU. A module that all take says which kind this is.
    let device = Backend::choose(choice, include_ptx!("gemm"))?;
    if device.device_info().compute_capability != Some((9, 0)) {
        println!(
            "hopper_gemm did not run: it needs a GPU of compute capability 9.0 (H100, H200, GH200), and \
             this is {device}"
        );
        if let Some(reason) = device.reason() {
            println!("why not on the GPU: {reason}");
        }
        return Ok(());
    }
    let backend = Backend::choose(choice, include_ptx!("hopper_gemm"))?;
    println!("hopper_gemm runs on: {backend}");

    let problem = Problem::new(&backend, small)?;
    let (maps, [m, n, k]) = (problem.maps(), problem.extents);
    // So few blocks that each computes several tiles; at full size one on each SM.
    let grid = if small { 5 } else { backend.device_info().sm_count };
    let launch = |session: &mut Session<'_>| {
        // SAFETY: the maps are those of live matrices of these extents, with the boxes that the kernel
        // asks for; the launch has the kernel's shape. Nothing else uses the matrices before the kernel
        // has ended, for which `capture` waits.
        unsafe { launch!(session, hopper_gemm<<<grid, BLOCK, SHARED_BYTES>>>(maps, m, n, k)) }
    };

    // At full size a few blocks make a file small enough for a viewer. How much one records depends on how
    // many tiles it gets: a first run, which only counts, finds it out.
    let stride = if small { 1 } else { 33 };
    let profiler = Profiler::builder().warp_mask(ROLES).block_stride(stride).build()?;
    let profiler = profiler.infer_capacity(|counting| {
        let mut session = backend.session(counting)?;
        launch(&mut session)?;
        session.capture()
    })?;
    let mut session = backend.session(&profiler)?;
    launch(&mut session)?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);
    drop(session);

    problem.check(&backend)?;
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("hopper_gemm").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
