//! Times a kernel in three variants, whose launches alternate.

use std::thread::sleep;
use std::time::Duration;

use profiler_host::{
    Backend, BackendChoice, Error, Kernel, Profiler, ResourceEffect, Session, Shape,
};

pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The variants of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Without,
    Idle,
    Recorded,
}

impl Variant {
    const ALL: [Self; 3] = [Self::Without, Self::Idle, Self::Recorded];

    fn text(self) -> &'static str {
        match self {
            Self::Without => "without annotations",
            Self::Idle => "annotated, without a session",
            Self::Recorded => "annotated, recorded",
        }
    }
}

/// A kernel's modules, one for each variant: while a session is attached to one, launches past it are
/// refused.
pub(crate) struct Builds {
    without: Backend,
    idle: Backend,
    recorded: Backend,
}

/// What `launch!` launches on: a session, or a back end for a run without one.
pub(crate) struct Launcher<'l, 'b> {
    backend: &'l Backend,
    session: Option<&'l mut Session<'b>>,
    /// The last launch.
    launched: Option<(&'static str, Shape)>,
}

impl Launcher<'_, '_> {
    /// Launches a kernel; `profiler_host::launch!` expands to this.
    ///
    /// # Safety
    ///
    /// The arguments and the shape must be what the kernel asks for.
    pub(crate) unsafe fn launch_kernel<K: Kernel>(
        &mut self,
        name: &'static str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> std::result::Result<(), Error> {
        self.launched = Some((name, shape));
        match &mut self.session {
            // SAFETY: the caller's.
            Some(session) => unsafe { session.launch_kernel(name, shape, kernel, arguments) },
            // SAFETY: the caller's.
            None => unsafe { self.backend.launch_kernel(name, shape, kernel, arguments) },
        }
    }
}

impl Builds {
    pub(crate) fn load(
        annotated: Option<&'static str>,
        without: Option<&'static str>,
    ) -> Result<Self> {
        let gpu = |ptx| Backend::choose(BackendChoice::Gpu, ptx);
        Ok(Self { without: gpu(without)?, idle: gpu(annotated)?, recorded: gpu(annotated)? })
    }

    /// The back end for buffers, which all share.
    pub(crate) fn backend(&self) -> &Backend {
        &self.recorded
    }

    /// Times what `launch` launches, which computes the same each time after an untimed `prepare`, and
    /// prints what annotations and recording cost. A matrix product has a rate by its `extents`.
    pub(crate) fn measure(
        &self,
        profiler: &Profiler,
        extents: Option<[u32; 3]>,
        mut prepare: impl FnMut() -> std::result::Result<(), Error>,
        mut launch: impl FnMut(&mut Launcher<'_, '_>) -> std::result::Result<(), Error>,
    ) -> Result {
        // Buffers are zeroed in this one's stream, and the others launch in streams of their own.
        self.recorded.synchronize()?;
        let mut session = self.recorded.session(profiler)?;
        let mut launched = None;
        let mut time = |variant, pause| -> Result<Duration> {
            prepare()?;
            if variant == Variant::Recorded {
                session.reset()?;
            }
            sleep(pause);
            let (backend, session) = match variant {
                Variant::Without => (&self.without, None),
                Variant::Idle => (&self.idle, None),
                Variant::Recorded => (&self.recorded, Some(&mut session)),
            };
            let mut launcher = Launcher { backend, session, launched: None };
            let (_, time) = backend.time(|| launch(&mut launcher))?;
            launched = launcher.launched;
            Ok(time)
        };
        for (title, rounds, pause, variants) in [
            ("without a session, launch after launch", 201, 0, &Variant::ALL[..2]),
            ("launch after launch", 21, 0, &Variant::ALL[..]),
            ("20 ms between launches", 15, 20, &Variant::ALL[..]),
        ] {
            let pause = Duration::from_millis(pause);
            let times = by_turns(rounds, variants, |variant| time(variant, pause))?;
            println!("{title}, medians of {rounds}, each beside the one above:");
            print(variants, &times, extents);
        }
        let by_events = time(Variant::Recorded, Duration::ZERO)?;
        let (kernel, Shape { block, dynamic_shared_bytes, .. }) = launched.ok_or("no launch")?;
        let resources = |backend: &Backend| backend.resources(kernel, block, dynamic_shared_bytes);
        let effect = ResourceEffect {
            kernel: kernel.to_owned(),
            block: block.0,
            dynamic_shared_bytes,
            without: resources(&self.without)?,
            with: resources(&self.idle)?,
        };
        println!("resources: {effect}");
        let trace = session.trace()?;
        if trace.lost() > 0 {
            return Err(format!("{} records were lost; make more room", trace.lost()).into());
        }
        let shown = trace.launches.last().ok_or("the trace has no launch")?;
        let (by_events, by_trace) = (by_events.as_secs_f64() * 1e6, shown.end_ns - shown.start_ns);
        println!(
            "last launch: {} records, {by_events:.1} µs by CUDA events, {:.1} µs from first entry to last \
             exit (ratio {:.4})\n",
            trace.recorded(),
            by_trace / 1e3,
            by_trace / 1e3 / by_events,
        );
        Ok(())
    }
}

/// Median times of variants that are launched by turns, so that a clock that changes with temperature and
/// power changes for all.
fn by_turns(
    rounds: usize,
    variants: &[Variant],
    mut time: impl FnMut(Variant) -> Result<Duration>,
) -> Result<Vec<Duration>> {
    let mut times = vec![Vec::new(); variants.len()];
    // The first round loads the kernels' code, and counts for nothing.
    for round in 0..=rounds {
        for turn in 0..variants.len() {
            // Each comes first in its turn.
            let at = (round + turn) % variants.len();
            let time = time(variants[at])?;
            if round > 0 {
                times[at].push(time);
            }
        }
    }
    let medians = times.into_iter().map(|mut times| {
        times.sort_unstable();
        times[rounds / 2]
    });
    Ok(medians.collect())
}

fn print(variants: &[Variant], times: &[Duration], extents: Option<[u32; 3]>) {
    let mut above = None;
    for (variant, time) in variants.iter().zip(times) {
        let seconds = time.as_secs_f64();
        let added = above.map_or(0.0, |above| seconds / above - 1.0);
        above = Some(seconds);
        print!("  {:8.1} µs {:+7.2} %", seconds * 1e6, added * 1e2);
        if let Some(extents) = extents {
            let operations = 2.0 * extents.map(f64::from).iter().product::<f64>();
            print!(" {:7.1} TFLOP/s", operations / seconds / 1e12);
        }
        println!("  {}", variant.text());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_has_its_median_and_comes_first_in_its_turn() {
        use Variant::{Idle, Without};
        let mut order = Vec::new();
        // The first round does not count.
        let mut times = [70, 80, 100, 5, 6, 1, 2, 9].map(Duration::from_micros).into_iter();
        let medians = by_turns(3, &[Without, Idle], |variant| {
            order.push(variant);
            times.next().ok_or_else(|| "one launch too many".into())
        });
        assert_eq!(medians.expect("eight launches"), [6, 2].map(Duration::from_micros));
        assert_eq!(order, [Without, Idle, Idle, Without, Without, Idle, Idle, Without]);
    }
}
