//! Launching a kernel with and without profiling, and timing both.

use std::time::Duration;

use profiler_host::{
    Backend, Capacity, Capture, Error, HostRecorder, Kernel, Profiler, Session, Shape, Trace,
};

use crate::Run;
use crate::unannotated::{Annotations, Comparison};

/// How often each of the two is timed on the GPU.
const REPEATS: usize = 21;

/// What `launch!` launches on: a session, or the back end itself for a run without profiling.
#[derive(Debug)]
pub struct Launcher<'l, 'b>(pub(crate) On<'l, 'b>);

#[derive(Debug)]
pub(crate) enum On<'l, 'b> {
    Plain(&'l Backend),
    Profiled(&'l mut Session<'b>),
    /// Like `Plain`, and what the kernel takes of an SM is asked of both builds.
    Compared(&'l Backend, &'l mut Comparison<'b>),
}

impl Launcher<'_, '_> {
    /// Launches a kernel; `profiler_host::launch!` expands to this.
    ///
    /// # Safety
    ///
    /// What the kernel asks of its arguments and of the shape.
    ///
    /// # Errors
    ///
    /// See `profiler_host::launch!`.
    pub unsafe fn launch_kernel<K: Kernel>(
        &mut self,
        name: &'static str,
        shape: Shape,
        kernel: K,
        arguments: K::Arguments,
    ) -> Result<(), Error> {
        match &mut self.0 {
            // SAFETY: the caller's.
            On::Plain(backend) => unsafe { backend.launch_kernel(name, shape, kernel, arguments) },
            // SAFETY: the caller's.
            On::Profiled(session) => unsafe {
                session.launch_kernel(name, shape, kernel, arguments)
            },
            On::Compared(backend, comparison) => {
                comparison.note(backend, name, shape)?;
                // SAFETY: the caller's.
                unsafe { backend.launch_kernel(name, shape, kernel, arguments) }
            }
        }
    }
}

/// What was measured.
#[derive(Debug)]
pub struct Measured {
    /// The trace of the last profiled launch.
    pub trace: Trace,
    /// What it was decoded from.
    pub capture: Capture,
    /// How long the kernel took; only a GPU is timed.
    pub timing: Option<Timing>,
    /// What annotations cost without a session, if `--unannotated` asks.
    pub annotations: Option<Annotations>,
}

/// Times of a kernel by CUDA events.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// Median without profiling.
    pub plain: Duration,
    /// Median with profiling.
    pub profiled: Duration,
    /// The launch that the trace shows.
    pub traced: Duration,
}

impl Timing {
    /// How much longer the kernel takes with profiling, as a part of its time without.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        self.profiled.as_secs_f64() / self.plain.as_secs_f64() - 1.0
    }
}

impl Run {
    /// Runs `launch`, which launches one kernel, with profiling and gives its trace. On the GPU it
    /// runs many times, with and without, so that it must compute the same each time.
    ///
    /// # Errors
    ///
    /// What `launch` fails with, and what attaching or reading back does.
    pub fn measure(
        &self,
        profiler: &Profiler,
        launch: impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Measured, Error> {
        self.measure_prepared(profiler, || Ok(()), launch)
    }

    /// Like [`Run::measure`], with something to do before each launch that is not timed.
    ///
    /// # Errors
    ///
    /// See [`Run::measure`].
    pub fn measure_prepared(
        &self,
        profiler: &Profiler,
        mut prepare: impl FnMut() -> Result<(), Error>,
        mut launch: impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Measured, Error> {
        let squeezed;
        let profiler = match self.arguments.squeeze {
            None => profiler,
            Some(times) => {
                squeezed = self.squeeze(profiler, times, &mut prepare, &mut launch)?;
                &squeezed
            }
        };
        let shown;
        let profiler_in_use = if self.arguments.host {
            shown = profiler.with_host(&HostRecorder::new());
            &shown
        } else {
            profiler
        };
        let mut session = self.backend.session(profiler_in_use)?;
        let (mut plain, mut profiled) = (Vec::new(), Vec::new());
        // By turns, so that a frequency that changes with temperature and power changes for both. The
        // first launches load the kernel's code, and count for nothing.
        for _ in 0..if self.plain.is_some() { REPEATS + 1 } else { 1 } {
            if let Some(backend) = &self.plain {
                prepare()?;
                plain.push(backend.time(|| launch(&mut Launcher(On::Plain(backend))))?.1);
            }
            session.reset()?;
            prepare()?;
            let mut launcher = Launcher(On::Profiled(&mut session));
            profiled.push(self.backend.time(|| launch(&mut launcher))?.1);
        }
        let traced = profiled.last().copied();
        if self.plain.is_some() {
            plain.remove(0);
            profiled.remove(0);
        }
        let timing = match (median(&mut plain), median(&mut profiled), traced) {
            (Some(plain), Some(profiled), Some(traced)) => Some(Timing { plain, profiled, traced }),
            _ => None,
        };
        let mut capture = session.capture()?;
        let mut trace = session.decode(&capture);
        // Its memory is needed for the sessions to come.
        drop(session);
        let mut annotations = None;
        if let Some((plain, unannotated)) = self.plain.as_ref().zip(self.unannotated.as_ref()) {
            let compared = unannotated.compare(plain, &mut prepare, &mut launch)?;
            capture.resources = compared.resources.clone();
            trace.set_resources(compared.resources.clone());
            annotations = Some(compared);
        }
        Ok(Measured { trace, capture, timing, annotations })
    }

    /// The profiler with `1 / times` of the buffer that a first launch needs.
    fn squeeze(
        &self,
        profiler: &Profiler,
        times: u32,
        prepare: &mut impl FnMut() -> Result<(), Error>,
        launch: &mut impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Profiler, Error> {
        let mut session = self.backend.session(&profiler.counting())?;
        prepare()?;
        launch(&mut Launcher(On::Profiled(&mut session)))?;
        let needed = Capacity::needed(&session.capture()?)?;
        let fewer = |records: u32| records / times;
        Ok(profiler.with_capacity(&Capacity {
            records_per_warp: fewer(needed.records_per_warp),
            records_per_lane: fewer(needed.records_per_lane),
            ..needed
        }))
    }
}

/// The middle one of an odd number of durations; `None` of none.
pub(crate) fn median(durations: &mut [Duration]) -> Option<Duration> {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let mut durations = [5, 1, 9].map(Duration::from_nanos);
        assert_eq!(median(&mut durations), Some(Duration::from_nanos(5)));
        assert_eq!(median(&mut []), None);
    }

    #[test]
    fn overhead_is_relative_to_the_plain_run() {
        let [plain, profiled] = [200, 210].map(Duration::from_micros);
        let timing = Timing { plain, profiled, traced: profiled };
        assert!((timing.overhead() - 0.05).abs() < 1e-12);
    }
}
