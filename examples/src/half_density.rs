//! What regions do to each other: the same launches once more, of kernels with half of the regions.

use std::path::PathBuf;

use profiler_host::trace::RegionEffect;
use profiler_host::{Backend, BackendChoice, Error, Profiler, Trace};

use crate::measure::{Launcher, On, REPEATS};
use crate::{Failure, Run};

/// The texts of PTX files, which last as long as the program, as those do that it was built with.
pub(crate) fn read(paths: &[PathBuf], backend: &Backend) -> Result<Vec<&'static str>, Failure> {
    if !paths.is_empty() && !backend.is_gpu() {
        return Err(
            "--half-density compares two builds for the GPU, and this runs on the emulator, \
                    where every region is compiled in; leave it out, or run on a GPU"
                .into(),
        );
    }
    let read = |path: &PathBuf| match std::fs::read_to_string(path) {
        Ok(text) => Ok(&*text.leak()),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display()).into()),
    };
    paths.iter().map(read).collect()
}

/// Says so where files were given and have nothing in common with the trace.
pub(crate) fn check(run: &Run, trace: &Trace) -> Result<(), Failure> {
    let regions = trace.observer_effect.as_ref().map_or(0, |effect| effect.regions.len());
    if regions > 0 || run.halves.is_empty() {
        return Ok(());
    }
    Err("no region of the files that --half-density gives is in the trace; give PTX of this \
         example's kernels, compiled with `Kernels::only`"
        .into())
}

impl Run {
    /// Launches each build with half of the regions, as often and with the same options as the full
    /// one, and compares the last launches.
    pub(crate) fn beside_half(
        &self,
        full: &Trace,
        profiler: &Profiler,
        prepare: &mut impl FnMut() -> Result<(), Error>,
        launch: &mut impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Vec<RegionEffect>, Error> {
        let mut effects = Vec::new();
        for &ptx in &self.halves {
            // All back ends of a process share the device's memory.
            let backend = Backend::choose(BackendChoice::Gpu, Some(ptx))?;
            let mut session = backend.session(profiler)?;
            for _ in 0..REPEATS {
                session.reset()?;
                prepare()?;
                backend.time(|| launch(&mut Launcher(On::Profiled(&mut session))))?;
            }
            let capture = session.capture()?;
            effects.extend(RegionEffect::between(full, &session.decode(&capture)));
        }
        Ok(effects)
    }
}
