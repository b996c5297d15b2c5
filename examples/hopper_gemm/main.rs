//! Multiplies two bf16 matrices with what Hopper brought: the tensor memory accelerator, warp-group
//! matrix products, warps with roles; see `docs/examples/hopper_gemm.md`.

mod hopper;
mod problem;
mod rates;
mod tensor_map;

use std::process::ExitCode;

use problem::{Extents, Problem};
use profiler_examples::{Arguments, Failure, Measured, Report, Run, Size, Timing, run};
use profiler_host::{Error, Profiler, include_ptx};
use rates::Rates;

/// Launches the kernel on a back end, a session or a launcher.
macro_rules! launch_on {
    ($target:expr, $problem:expr, $grid:expr) => {{
        use example_kernels::hopper_gemm::{BLOCK, SHARED_BYTES, hopper_gemm};
        let (maps, grid) = ($problem.maps(), $grid);
        let $crate::problem::Extents { m, n, k } = $problem.extents;
        // SAFETY: the maps are those of live matrices of these extents, with the boxes that the
        // kernel asks for, in device memory, which all back ends of a process share, aligned to 256
        // bytes; the launch has the kernel's shape.
        unsafe {
            profiler_host::launch!(
                $target,
                hopper_gemm<<<grid, BLOCK, SHARED_BYTES>>>(maps, m, n, k)
            )
        }
    }};
}
use launch_on;

const NAME: &str = "hopper_gemm";
/// Extents that are no multiples of tiles: they show that what lies outside is left alone.
const SMALL: Extents = Extents { m: 520, n: 776, k: 328 };
const FULL: Extents = Extents { m: 8192, n: 8192, k: 8192 };
/// So few blocks that each computes several tiles of the small product.
const SMALL_GRID: u32 = 5;
/// The most that an element of C may differ from the reference, as a part of C's root mean square:
/// C is rounded to bf16, with an error of up to 2^-8 of an element, and the largest of so many
/// elements is six or seven times the root mean square.
const ERROR_MAX: f64 = 0.03;
/// Elements of C that are checked against sums in f64.
const SAMPLES: usize = 512;
/// The first warp of each warp group: one for each role.
const ROLES: u32 = 0b1_0001_0001;
/// At full size the trace shows a few blocks, and stays small enough for a viewer.
const FULL_BLOCK_STRIDE: u32 = 33;

fn main() -> ExitCode {
    let arguments = Arguments::read(NAME);
    let ptx = include_ptx!("hopper_gemm");
    match hopper::why_not(arguments.backend, ptx.is_some()) {
        Some(reason) => {
            say_why_not(&reason);
            ExitCode::SUCCESS
        }
        None => run(NAME, ptx, example),
    }
}

#[allow(clippy::print_stdout, reason = "the output of an example that cannot run here")]
fn say_why_not(reason: &str) {
    println!(
        "{NAME} did not run: it needs a GPU of compute capability 9.0 (H100, H200, GH200), and \
         {reason}"
    );
}

fn example(run: &Run) -> Result<Report, Failure> {
    let backend = run.backend();
    let small = Problem::of_integers(backend, SMALL)?;
    if run.size() == Size::Small {
        let measured = measure(run, &small, SMALL_GRID, 1)?;
        return Ok(Report { measured, checks: vec![small.check_exactly()?] });
    }
    launch_on!(backend, small, SMALL_GRID)?;
    let exact = small.check_exactly()?;

    let problem = Problem::random(backend, FULL)?;
    let grid = run.sm_count().min(FULL.tiles());
    let rates = Rates::measure(backend, &profiler(run, &problem, grid, 1)?, &problem, grid)?;
    rates.print(&problem);
    let mut measured = measure(run, &problem, grid, FULL_BLOCK_STRIDE)?;
    // What recording all blocks costs, with the trace of a run that recorded some.
    if let Some(timing) = &mut measured.timing {
        *timing = Timing {
            plain: rates.rested.idle,
            profiled: rates.rested.recorded,
            traced: timing.traced,
        };
    }
    let mut checks = vec![exact];
    checks.extend(problem.check(backend, SAMPLES, ERROR_MAX)?);
    Ok(Report { measured, checks })
}

/// Runs the kernel with and without a session that records every `stride`-th block.
fn measure(run: &Run, problem: &Problem<'_>, grid: u32, stride: u32) -> Result<Measured, Error> {
    let profiler = profiler(run, problem, grid, stride)?;
    run.measure(&profiler, |launcher| launch_on!(launcher, problem, grid))
}

/// A profiler of every `stride`-th block, with room for what it records. How much that is depends on
/// how many tiles a block gets, so that a first launch counts.
fn profiler(run: &Run, problem: &Problem<'_>, grid: u32, stride: u32) -> Result<Profiler, Error> {
    let profiler = Profiler::builder().warp_mask(ROLES).block_stride(stride).build()?;
    profiler.infer_capacity(|counting| {
        let mut session = run.backend().session(counting)?;
        launch_on!(session, problem, grid)?;
        session.capture()
    })
}
