//! Watches a kernel while it runs: prints how many warps are in which region, and since when the one
//! that is there longest; see `docs/examples/watch.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod look;
mod problem;

use std::path::PathBuf;
use std::sync::mpsc;

use clap::Parser;
use example_kernels::watch::{BLOCK, jacobi};
use look::{last_time, look, where_warps_are};
use problem::Problem;
use profiler_host::{Backend, BackendChoice, Keep, Profiler, Session, include_ptx, launch};

/// Solves linear systems, and shows where the kernel's warps are while it runs.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; auto takes the GPU if there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for watch.pftrace and watch.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers; on the emulator it always does
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend, out, small } = Arguments::parse();
    let backend = Backend::choose(backend, include_ptx!("watch"))?;
    println!("watch runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }

    let problem = Problem::new(small || !backend.is_gpu(), backend.device_info().sm_count);
    let Problem { blocks, systems, watched_rounds, coupling, .. } = problem;
    let right_sides = backend.upload(&problem.right_sides)?;
    let mut solutions = backend.zeroed::<f32>(problem.right_sides.len())?;
    let (from, to) = (right_sides.as_ptr(), solutions.as_mut_ptr());
    let launch = |session: &mut Session<'_>, rounds| {
        // SAFETY: there are as many right sides and unknowns as the systems of all warps have. Nothing
        // else uses them before the kernel has ended, for which `capture` waits.
        unsafe { launch!(session, jacobi<<<blocks, BLOCK>>>(from, to, coupling, systems, rounds)) }
    };

    // Room for one round: of each system two begins, two ends and a value. Where a warp is, its last
    // records say.
    let profiler = Profiler::builder().records_per_warp(5 * systems).for_grid(blocks, BLOCK, 1);
    let mut session = backend.session(&profiler.clone().keep(Keep::Last).build()?)?;
    let watch = session.watch()?;
    let (running, end) = mpsc::channel();
    let in_real_time = backend.is_gpu();
    let (ended, looked) = std::thread::scope(|scope| {
        let looking = scope.spawn(move || look(&watch, &end, in_real_time));
        let ended = launch(&mut session, watched_rounds).and_then(|()| session.capture());
        // Whoever looks on sees the other end of the channel go.
        drop(running);
        (ended, looking.join())
    });
    looked.map_err(|_| "the thread that looks on panicked")??;
    if let Err(error) = &ended
        && let Some(capture) = error.salvaged()
    {
        let trace = profiler_host::trace::decode(capture);
        println!("where its warps were: {}", where_warps_are(&trace, last_time(&trace)));
    }
    ended?;
    drop(session);

    let mut session = backend.session(&profiler.build()?)?;
    launch(&mut session, 1)?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    problem.check(&solutions.read()?);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("watch").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
