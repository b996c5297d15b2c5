//! How fast the kernel is: without annotations, with them, and with a session that records.

use std::thread::sleep;
use std::time::{Duration, Instant};

use profiler_examples::Failure;
use profiler_host::{Backend, BackendChoice, Error, Profiler, include_ptx};
use serde_json::json;

use crate::launch_on;
use crate::problem::Problem;

/// How often each variant is timed, one after the other in each round, so that what changes in the
/// course of time changes for all.
const ROUNDS: usize = 15;

/// What the GPU does between launches that are timed. Under load it draws so much power that it
/// lowers its clock, by how much depends on the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Rested,
    Loaded,
}

impl Load {
    /// Before each launch.
    const PAUSE: Duration = Duration::from_millis(20);
    /// Launches before the first that is timed.
    const WARM_UP: Duration = Duration::from_millis(500);

    fn text(self) -> &'static str {
        match self {
            Self::Rested => "rested, 20 ms between launches",
            Self::Loaded => "under load, launch after launch",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Rested => "rested",
            Self::Loaded => "loaded",
        }
    }
}

/// Median times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Of the kernel without annotations.
    without: Duration,
    /// Annotated, without a session.
    pub(crate) idle: Duration,
    /// With all blocks recorded.
    pub(crate) recorded: Duration,
}

/// Times of all three variants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    pub(crate) rested: Times,
    loaded: Times,
}

impl Rates {
    /// Times the kernel in the module of `backend`, and without annotations in one of its own.
    pub(crate) fn measure(
        backend: &Backend,
        profiler: &Profiler,
        problem: &Problem<'_>,
        grid: u32,
    ) -> Result<Self, Failure> {
        // While a session is attached to a back end, launches past it are refused.
        let gpu = |ptx| Backend::choose(BackendChoice::Gpu, ptx);
        let idle = gpu(include_ptx!("hopper_gemm"))?;
        let without = gpu(include_ptx!("hopper_gemm_off"))?;
        let mut session = backend.session(profiler)?;
        let mut times = |load: Load| -> Result<Times, Error> {
            if load == Load::Loaded {
                let begin = Instant::now();
                while begin.elapsed() < Load::WARM_UP {
                    launch_on!(without, problem, grid)?;
                    without.synchronize()?;
                }
            }
            let wait = || {
                if load == Load::Rested {
                    sleep(Load::PAUSE);
                }
            };
            let mut all = [const { Vec::new() }; 3];
            // The first round loads the kernels' code, and counts for nothing.
            for round in 0..=ROUNDS {
                session.reset()?;
                wait();
                let (_, time_without) = without.time(|| launch_on!(without, problem, grid))?;
                wait();
                let (_, time_idle) = idle.time(|| launch_on!(idle, problem, grid))?;
                wait();
                let (_, time_recorded) = backend.time(|| launch_on!(session, problem, grid))?;
                if round > 0 {
                    let round = [time_without, time_idle, time_recorded];
                    for (times, time) in all.iter_mut().zip(round) {
                        times.push(time);
                    }
                }
            }
            let [without, idle, recorded] = all.map(median);
            Ok(Times { without, idle, recorded })
        };
        Ok(Self { rested: times(Load::Rested)?, loaded: times(Load::Loaded)? })
    }

    /// Prints them, for people and, as one line of JSON, for scripts.
    #[allow(clippy::print_stdout, reason = "part of the example's output")]
    pub(crate) fn print(&self, problem: &Problem<'_>) {
        let extents = problem.extents;
        let teraflops = |time: Duration| extents.operations() / time.as_secs_f64() / 1e12;
        println!("product: {} x {} x {} in bf16", extents.m, extents.n, extents.k);
        let mut script = serde_json::Map::new();
        for (load, times) in [(Load::Rested, self.rested), (Load::Loaded, self.loaded)] {
            println!("{}:", load.text());
            for (what, time) in [
                ("without annotations", times.without),
                ("annotated, without a session", times.idle),
                ("annotated, all blocks recorded", times.recorded),
            ] {
                println!(
                    "  {:6.1} TFLOP/s, {:7.1} µs, {:+6.2} %: {what}",
                    teraflops(time),
                    time.as_secs_f64() * 1e6,
                    (time.as_secs_f64() / times.without.as_secs_f64() - 1.0) * 1e2,
                );
            }
            let rates = json!({
                "without": teraflops(times.without),
                "idle": teraflops(times.idle),
                "recorded": teraflops(times.recorded),
            });
            script.insert(load.key().to_owned(), rates);
        }
        println!("tflops: {}", serde_json::Value::Object(script));
    }
}

/// The middle one of [`ROUNDS`] times.
fn median(mut times: Vec<Duration>) -> Duration {
    const { assert!(ROUNDS % 2 == 1) };
    times.sort_unstable();
    times[ROUNDS / 2]
}
