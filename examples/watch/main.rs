//! Watches a kernel while it runs: prints how many warps are in which region, and since when the one
//! that is there longest; see `docs/examples/watch.md`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use example_kernels::watch::{BLOCK, SLOWER, TOLERANCE, UNKNOWNS, jacobi};
use profiler_examples::{Check, Failure, Report, Run, run};
use profiler_host::{
    Error, Keep, Profiler, ProfilerBuilder, Session, Trace, Watch, include_ptx, launch,
};

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// The time between two looks while there is nothing to see yet.
const BEFORE_THE_FIRST: Duration = Duration::from_millis(1);
/// The most that an unknown may differ from what its system says that it is: the last sweep changed it
/// by no more than the tolerance, and the next one would by no more than that and the rounding of its sums,
/// some thousandths where unknowns are some ten thousand.
const ERROR_MAX: f64 = 1.5 * TOLERANCE as f64;

/// How much there is to solve.
#[derive(Clone, Copy)]
struct Extents {
    blocks: u32,
    /// Systems of a warp.
    systems: u32,
    /// How often they are solved while the kernel is watched.
    watched_rounds: u32,
    coupling: f32,
}

fn main() -> ExitCode {
    run("watch", include_ptx!("watch"), example)
}

fn example(run: &Run) -> Result<Report, Failure> {
    let extents = run.pick(
        Extents { blocks: 2, systems: 3, watched_rounds: 2, coupling: 0.5 },
        Extents { blocks: run.sm_count(), systems: 10, watched_rounds: 40, coupling: 0.9999 },
    );
    let Extents { blocks, systems, watched_rounds, coupling } = extents;
    let unknowns = (blocks * BLOCK / 32 * systems * UNKNOWNS) as usize;
    let mut random = fastrand::Rng::with_seed(1);
    let right_sides: Vec<f32> =
        std::iter::repeat_with(|| random.f32() - 0.5).take(unknowns).collect();
    let from_buffer = run.backend().upload(&right_sides)?;
    let mut to_buffer = run.backend().zeroed::<f32>(unknowns)?;
    let (from, to) = (from_buffer.as_ptr(), to_buffer.as_mut_ptr());

    // Where a warp is, its last records say.
    let last_records = profiler(extents).keep(Keep::Last).build()?;
    let session = run.backend().session(&last_records)?;
    watched(session, run.backend().is_gpu(), |session| {
        // SAFETY: as many right sides and unknowns as there are for the systems of all warps.
        unsafe {
            launch!(session, jacobi<<<blocks, BLOCK>>>(from, to, coupling, systems, watched_rounds))
        }
    })?;

    let measured = run.measure(&profiler(extents).build()?, |launcher| {
        // SAFETY: as above.
        unsafe { launch!(launcher, jacobi<<<blocks, BLOCK>>>(from, to, coupling, systems, 1)) }
    })?;
    let pairs = compare(extents, &right_sides, &to_buffer.read()?);
    let check = Check::absolute("unknowns against what their equations say", pairs, ERROR_MAX);
    Ok(Report { measured, checks: vec![check] })
}

/// A profiler with room for the records of one round: of each system two begins, two ends and a value.
fn profiler(extents: Extents) -> ProfilerBuilder {
    Profiler::builder().records_per_warp(5 * extents.systems).for_grid(extents.blocks, BLOCK, 1)
}

/// Launches a kernel and prints where its warps are until it has ended. One that fails is shown as far
/// as it came. `in_real_time` says whether the kernel's clock runs as the host's does.
fn watched<'s>(
    mut session: Session<'s>,
    in_real_time: bool,
    launch: impl FnOnce(&mut Session<'s>) -> Result<(), Error>,
) -> Result<(), Failure> {
    let watch = session.watch()?;
    let finished = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| look(&watch, &finished, in_real_time));
        let ended = {
            let _ending = Ending(&finished);
            launch(&mut session).and_then(|()| session.capture())
        };
        let looked = looking.join().map_err(|_| "the thread that looks on panicked")?;
        ended.map_err(|error| match error.salvaged() {
            Some(capture) => {
                let trace = profiler_host::trace::decode(capture);
                format!(
                    "{error}\nwhere its warps were: {}",
                    where_warps_are(&trace, last_time(&trace))
                )
                .into()
            }
            None => Failure::from(error),
        })?;
        Ok(looked?)
    })
}

/// Says that the kernel has ended, or that who waited for it panicked, when it is dropped.
struct Ending<'f>(&'f AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Prints what is to be seen until the kernel has ended, and once more then.
#[allow(clippy::print_stdout, reason = "this is the output of the example")]
fn look(watch: &Watch, finished: &AtomicBool, in_real_time: bool) -> Result<(), Error> {
    // A time of the kernel, and when it was seen: a warp that stays where it is leaves no later one.
    let mut seen: Option<(f64, Instant)> = None;
    loop {
        let is_last = finished.load(Ordering::Relaxed);
        let at = Instant::now();
        let trace = watch.snapshot()?;
        let last = last_time(&trace);
        let now = match seen {
            Some((time, seen_at)) if in_real_time && !is_last => {
                last.max(time + at.duration_since(seen_at).as_nanos() as f64)
            }
            _ => last,
        };
        if trace.warps.is_empty() && !is_last {
            std::thread::sleep(BEFORE_THE_FIRST);
            continue;
        }
        // What happened later than was thought says better what time it is.
        if now == last {
            seen = Some((last, at));
        }
        println!("{}", where_warps_are(&trace, now));
        if is_last {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// The last time that anything in the trace happened, in nanoseconds.
fn last_time(trace: &Trace) -> f64 {
    trace.launches.iter().map(|launch| launch.end_ns).fold(0.0, f64::max)
}

/// How many warps are in which region, and how long the one that is there longest.
fn where_warps_are(trace: &Trace, now: f64) -> String {
    let mut inside = BTreeMap::<&str, (usize, f64, String)>::new();
    let (mut left, mut between) = (0, 0);
    for warp in &trace.warps {
        // Of regions in regions, the inner one stands after the outer one.
        let open = warp.regions.iter().rfind(|region| region.end.is_none());
        match open {
            None if warp.exit.is_some() => left += 1,
            None => between += 1,
            Some(region) => {
                let name = trace.site(region.site).name.as_str();
                let since = now - region.start.ns;
                let known = inside.entry(name).or_insert((0, f64::MIN, String::new()));
                known.0 += 1;
                if since > known.1 {
                    (known.1, known.2) =
                        (since, format!("block {} warp {}", warp.block[0], warp.warp));
                }
            }
        }
    }
    let mut text = format!("{:>9.3} ms:", now / 1e6);
    for (name, (warps, since, longest)) in inside {
        text += &format!(" {warps} in {name} ({longest} for {:.3} ms);", since / 1e6);
    }
    text + &format!(" {between} between regions; {left} left")
}

/// Pairs of an unknown and what its equation makes of its neighbours.
fn compare(extents: Extents, right_sides: &[f32], solutions: &[f32]) -> Vec<(f64, f64)> {
    let ring = UNKNOWNS as usize;
    let of_warp = extents.systems as usize * ring;
    let last_warp = solutions.len() - of_warp;
    let mut pairs = Vec::with_capacity(solutions.len());
    for (system, unknowns) in solutions.chunks_exact(ring).enumerate() {
        let first = system * ring;
        let is_slow = first >= last_warp;
        let slower = if is_slow { f64::from(SLOWER) } else { 1.0 };
        let coupling = 1.0 - (1.0 - f64::from(extents.coupling)) / slower;
        for (index, &unknown) in unknowns.iter().enumerate() {
            let neighbour = |other: usize| f64::from(unknowns[other % ring]);
            let neighbours = neighbour(index + ring - 1) + neighbour(index + 1);
            let right_side = f64::from(right_sides[first + index]);
            pairs.push((f64::from(unknown), coupling * 0.5 * neighbours + right_side));
        }
    }
    pairs
}
