//! Watches a kernel while it runs: prints how many warps are in which region, and since when the one
//! that is there longest.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the output of the example")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use profiler_examples::{Arguments, Failure, Size};
use profiler_host::{
    Backend, Capture, Error, Profiler, Session, Trace, Watch, include_ptx, launch,
};
use watch_kernels::{BLOCK, long};

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(250);

fn main() -> ExitCode {
    match watch(&Arguments::read("watch")) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("watch: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn watch(arguments: &Arguments) -> Result<(), Failure> {
    if !arguments.half_density.is_empty() || arguments.unannotated.is_some() {
        return Err(
            "it measures nothing, and takes neither --half-density nor --unannotated".into()
        );
    }
    let backend = Backend::choose(arguments.backend, include_ptx!("watch_kernels"))?;
    println!("watch runs on: {backend}");
    let size = arguments.size.unwrap_or(if backend.is_gpu() { Size::Full } else { Size::Small });
    let (grid, steps, phase_ns) = match size {
        Size::Small => (2, 4, 5_000),
        Size::Full => (backend.device_info().sm_count, 20, 5_000_000),
    };
    let warps = grid * BLOCK / 32;
    let mut done = backend.zeroed::<u32>(warps as usize)?;

    // In each step two begins, two ends and a value, of two words each.
    let units = 5 * steps / arguments.squeeze.unwrap_or(1);
    let profiler = Profiler::builder().words_per_warp(2 * units);
    let session = backend.session(&profiler.for_grid(grid, BLOCK, 1)?.build()?)?;
    let watch = session.watch()?;
    let finished = AtomicBool::new(false);
    let capture = std::thread::scope(|scope| {
        scope.spawn(|| look(&watch, &finished));
        let capture = run(session, done.as_mut_ptr(), grid, steps, phase_ns);
        finished.store(true, Ordering::Relaxed);
        capture
    })?;
    let trace = profiler_host::trace::decode(&capture);

    let correct = done.read()?.iter().all(|&number| number == steps);
    println!("\n{}", trace.stats());
    std::fs::create_dir_all(&arguments.out)?;
    let path = arguments.out.join("watch.pftrace");
    trace.write_perfetto(&path)?;
    println!("wrote {} (open it at https://ui.perfetto.dev)", path.display());
    let path = arguments.out.join("watch.capture");
    let written = capture.write(&path);
    written.map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
    println!("wrote {} (for the command `profiler`)", path.display());
    println!("result: {}", if correct { "correct" } else { "wrong" });
    if correct { Ok(()) } else { Err("a warp left early".into()) }
}

/// Launches the kernel and waits for it. One that fails is shown as far as it came.
fn run(
    mut session: Session<'_>,
    done: *mut u32,
    grid: u32,
    steps: u32,
    phase_ns: u32,
) -> Result<Capture, Failure> {
    // SAFETY: one number a warp.
    unsafe { launch!(session, long<<<grid, BLOCK>>>(done, steps, phase_ns)) }?;
    session.capture().map_err(|error| match error.salvaged() {
        Some(capture) => {
            let trace = profiler_host::trace::decode(capture);
            format!("{error}\nwhere its warps were: {}", where_warps_are(&trace)).into()
        }
        None => error.into(),
    })
}

/// Prints what is to be seen until the kernel has ended, and once more then.
fn look(watch: &Watch, finished: &AtomicBool) -> Result<(), Error> {
    loop {
        let is_last = finished.load(Ordering::Relaxed);
        println!("{}", where_warps_are(&watch.snapshot()?));
        if is_last {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

/// How many warps are in which region, and how long the one that is there longest.
fn where_warps_are(trace: &Trace) -> String {
    let mut inside = BTreeMap::<&str, (usize, f64, String)>::new();
    let now = trace.launches.iter().map(|launch| launch.end_ns).fold(0.0, f64::max);
    let (mut left, mut between) = (0, 0);
    for warp in &trace.warps {
        // Of regions in regions, the inner one stands behind the outer one.
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
