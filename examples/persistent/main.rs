//! A persistent kernel with a work queue: which SM did what, what fetching costs, and the tail; see
//! `docs/examples/persistent.md`.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

mod problem;

use std::path::PathBuf;

use clap::Parser;
use example_kernels::persistent::{BLOCK, Task, persistent};
use problem::Problem;
use profiler_host::{Backend, BackendChoice, Profiler, include_ptx, launch};

/// Works through a queue of tasks, and shows which SM did what.
#[derive(Parser)]
struct Arguments {
    /// Where the kernel runs; auto takes the GPU if there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    backend: BackendChoice,

    /// Folder for persistent.pftrace and persistent.capture
    #[arg(long, default_value = "target/profiles", value_name = "DIR")]
    out: PathBuf,

    /// Does less work, for sanitizers; on the emulator it always does
    #[arg(long)]
    small: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Arguments { backend, out, small } = Arguments::parse();
    let backend = Backend::choose(backend, include_ptx!("persistent"))?;
    println!("persistent runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }

    let problem = Problem::new(small || !backend.is_gpu());
    let (input, words) = (backend.upload(&problem.input)?, backend.upload(&problem.task_words())?);
    let mut output = backend.zeroed::<f32>(problem.outputs())?;
    let mut queue = backend.zeroed::<u32>(1)?;
    let (tasks, count) = (words.as_ptr().cast::<Task>(), problem.tasks.len() as u32);
    let (queue_at, from, to) = (queue.as_mut_ptr(), input.as_ptr(), output.as_mut_ptr());

    // One block on each SM. At worst, one of them does everything: three records a task, since a
    // region with a value takes two, and one for the fetch that finds the queue empty.
    let grid = backend.device_info().sm_count;
    let profiler = Profiler::builder()
        .records_per_warp(3 * count + 1)
        .for_grid(grid, BLOCK, 1)
        .measure_record_cost()
        .build()?;
    let mut session = backend.session(&profiler)?;
    // SAFETY: the tasks lie within input and output; a task is four words, and aligned as one; the queue
    // begins at 0. Nothing else uses the buffers before the kernel has ended, for which `capture` waits.
    unsafe { launch!(session, persistent<<<grid, BLOCK>>>(tasks, count, queue_at, from, to)) }?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    problem.check(&output.read()?);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&out)?;
    let file = |ending| out.join("persistent").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}
