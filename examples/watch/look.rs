//! Looks at a kernel while it runs.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use profiler_host::{Error, Trace, Watch};

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// The time between two looks while there is nothing to see yet.
const BEFORE_THE_FIRST: Duration = Duration::from_millis(1);

/// Prints where the warps are until the sender of `end` is gone, and once more then. `in_real_time` says
/// whether the kernel's clock runs as the host's does.
pub(crate) fn look(
    watch: &Watch,
    end: &Receiver<Infallible>,
    in_real_time: bool,
) -> Result<(), Error> {
    // A time of the kernel, and when it was seen: a warp that stays where it is leaves no later one.
    let mut seen: Option<(f64, Instant)> = None;
    let mut pause = Duration::ZERO;
    loop {
        let is_last = end.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected);
        let at = Instant::now();
        let trace = watch.snapshot()?;
        if trace.warps.is_empty() && !is_last {
            pause = BEFORE_THE_FIRST;
            continue;
        }
        let last = last_time(&trace);
        let now = match seen {
            Some((time, seen_at)) if in_real_time && !is_last => {
                last.max(time + at.duration_since(seen_at).as_nanos() as f64)
            }
            _ => last,
        };
        // What happened later than was thought says better what time it is.
        if now == last {
            seen = Some((last, at));
        }
        println!("{}", where_warps_are(&trace, now));
        if is_last {
            return Ok(());
        }
        pause = PAUSE;
    }
}

/// The last time that anything in the trace happened, in nanoseconds.
pub(crate) fn last_time(trace: &Trace) -> f64 {
    trace.launches.iter().map(|launch| launch.end_ns).fold(0.0, f64::max)
}

/// How many warps are in which region, and how long the one that is there longest.
pub(crate) fn where_warps_are(trace: &Trace, now: f64) -> String {
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
