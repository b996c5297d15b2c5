//! What regions do to each other: the same launches once more, of kernels with half of the regions.

use profiler_host::trace::RegionEffect;
use profiler_host::{Backend, BackendChoice, Error, Profiler, Trace};

use crate::measure::{Launcher, Measured, On, REPEATS};
use crate::{Failure, Run};

/// Says so where a file was given that has no region of the trace, or all of them.
pub(crate) fn check(run: &Run, measured: &Measured) -> Result<(), Failure> {
    let all = RegionEffect::between(&measured.trace, &measured.trace).len();
    for (path, &regions) in run.arguments.half_density.iter().zip(&measured.in_halves) {
        if let Some(mistake) = mistake(regions, all) {
            return Err(format!(
                "{} {mistake}; give PTX of this example's kernels, compiled with `Kernels::only`",
                path.display(),
            )
            .into());
        }
    }
    Ok(())
}

/// What is wrong with a file that has so many of all regions of the trace. Of a trace without regions
/// nothing can be said.
fn mistake(regions: usize, all: usize) -> Option<String> {
    match regions {
        _ if all == 0 => None,
        0 => Some(format!("has none of the {all} regions of the trace")),
        _ if regions == all => Some(format!("leaves none of the {all} regions of the trace out")),
        _ => None,
    }
}

impl Run {
    /// Launches each build with half of the regions many times, with the same options as the full one,
    /// and compares the last launches; of each build its regions.
    pub(crate) fn beside_half(
        &self,
        full: &Trace,
        profiler: &Profiler,
        prepare: &mut impl FnMut() -> Result<(), Error>,
        launch: &mut impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Vec<Vec<RegionEffect>>, Error> {
        let mut effects = Vec::new();
        for &ptx in &self.other_builds.halves {
            // All back ends of a process share the device's memory.
            let backend = Backend::choose(BackendChoice::Gpu, Some(ptx))?;
            let mut session = backend.session(profiler)?;
            for _ in 0..REPEATS {
                session.reset()?;
                prepare()?;
                backend.time(|| launch(&mut Launcher(On::Profiled(&mut session))))?;
            }
            let capture = session.capture()?;
            effects.push(RegionEffect::between(full, &session.decode(&capture)));
        }
        Ok(effects)
    }
}

#[cfg(test)]
mod tests {
    use super::mistake;

    #[test]
    fn a_file_has_some_of_the_regions_and_not_all() {
        let mistake = |regions, all| mistake(regions, all).unwrap_or_default();
        assert_eq!(mistake(0, 4), "has none of the 4 regions of the trace");
        assert_eq!(mistake(4, 4), "leaves none of the 4 regions of the trace out");
        assert_eq!([mistake(1, 4), mistake(3, 4), mistake(0, 0)], ["", "", ""]);
    }
}
