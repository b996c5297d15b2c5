//! PTX of the same kernels in other builds: with half of the regions, and without annotations.

use std::path::PathBuf;
use std::time::Duration;

use profiler_host::{
    AnnotationEffect, Backend, BackendChoice, Error, KernelResources, ResourceEffect, Shape,
};

use crate::measure::{Launcher, On, median};
use crate::{Arguments, Failure};

/// How often each of two builds without a session is timed; odd. More often than with one, as the
/// difference that is looked for is a thousandth.
const TURNS: usize = 201;

/// What launched kernels take of an SM, compared with the same kernels without annotations.
#[derive(Debug)]
pub(crate) struct Comparison<'b> {
    unannotated: &'b Backend,
    effects: Vec<ResourceEffect>,
}

impl Comparison<'_> {
    /// Asks both builds, unless a launch of this kernel in such blocks has been noted.
    pub(crate) fn note(
        &mut self,
        annotated: &Backend,
        kernel: &str,
        shape: Shape,
    ) -> Result<(), Error> {
        let Shape { block, dynamic_shared_bytes, .. } = shape;
        let is_noted = |effect: &ResourceEffect| {
            effect.kernel == kernel
                && effect.block == block.0
                && effect.dynamic_shared_bytes == dynamic_shared_bytes
        };
        if self.effects.iter().any(is_noted) {
            return Ok(());
        }
        let resources = |backend: &Backend| -> Result<KernelResources, Error> {
            backend.resources(kernel, block, dynamic_shared_bytes)
        };
        self.effects.push(ResourceEffect {
            kernel: kernel.to_owned(),
            block: block.0,
            dynamic_shared_bytes,
            without: resources(self.unannotated)?,
            with: resources(annotated)?,
        });
        Ok(())
    }
}

/// The texts of PTX files, which last as long as the program, as those do that it was built with.
#[derive(Debug, Default)]
pub(crate) struct OtherBuilds {
    /// With half of the regions.
    pub(crate) halves: Vec<&'static str>,
    /// Without annotations.
    unannotated: Option<&'static str>,
}

impl OtherBuilds {
    /// Reads the files that the command line names.
    pub(crate) fn read(arguments: &Arguments, backend: &Backend) -> Result<Self, Failure> {
        for (option, is_given) in [
            ("--half-density", !arguments.half_density.is_empty()),
            ("--unannotated", arguments.unannotated.is_some()),
        ] {
            if is_given && !backend.is_gpu() {
                return Err(format!(
                    "{option} compares two builds for the GPU, and this runs on the emulator, where \
                     every region is compiled in; leave it out, or run on a GPU"
                )
                .into());
            }
        }
        let halves = arguments.half_density.iter().map(read).collect::<Result<_, _>>()?;
        let unannotated = arguments.unannotated.as_ref().map(read).transpose()?;
        if let (Some(path), Some(text)) = (&arguments.unannotated, unannotated)
            && !is_unannotated(text)
        {
            return Err(format!(
                "{} has annotations, or was not made by profiler-build; give PTX of this example's \
                 kernels, compiled with `Kernels::profile_enabled(false)`",
                path.display(),
            )
            .into());
        }
        Ok(Self { halves, unannotated })
    }

    /// Times launches without a session, of the kernels as they are in `plain` and without annotations
    /// by turns, and asks what both take of an SM; `None` where the command line names no such build.
    pub(crate) fn annotations(
        &self,
        plain: &Backend,
        prepare: &mut impl FnMut() -> Result<(), Error>,
        launch: &mut impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Option<AnnotationEffect>, Error> {
        let Some(ptx) = self.unannotated else { return Ok(None) };
        // All back ends of a process share the device's memory.
        let unannotated = Backend::choose(BackendChoice::Gpu, Some(ptx))?;
        let mut comparison = Comparison { unannotated: &unannotated, effects: Vec::new() };
        prepare()?;
        launch(&mut Launcher(On::Compared(plain, &mut comparison)))?;
        let kernels = comparison.effects;
        let mut time = |backend: &Backend| {
            prepare()?;
            Ok::<_, Error>(backend.time(|| launch(&mut Launcher(On::Plain(backend))))?.1)
        };
        let [mut without, mut with] = [const { Vec::<Duration>::new() }; 2];
        // The first turn loads the kernels' code, and counts for nothing.
        for turn in 0..=TURNS {
            // Each comes first in every other turn.
            let (bare, annotated);
            if turn % 2 == 0 {
                bare = time(&unannotated)?;
                annotated = time(plain)?;
            } else {
                annotated = time(plain)?;
                bare = time(&unannotated)?;
            }
            if turn > 0 {
                without.push(bare);
                with.push(annotated);
            }
        }
        let nanoseconds = |times: &mut [Duration]| median(times).map(|time| time.as_nanos() as f64);
        Ok(nanoseconds(&mut without)
            .zip(nanoseconds(&mut with))
            .map(|(without_ns, with_ns)| AnnotationEffect { without_ns, with_ns, kernels }))
    }
}

fn read(path: &PathBuf) -> Result<&'static str, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(&*text.leak()),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display()).into()),
    }
}

/// Whether the first line, which profiler-build writes, says that nothing is recorded.
fn is_unannotated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.ends_with(" enabled=false"))
}

#[cfg(test)]
mod tests {
    use super::is_unannotated;

    #[test]
    fn the_first_line_says_whether_kernels_record() {
        assert!(is_unannotated("// wire=8 sites=0 enabled=false\n.version 7.1\n"));
        assert!(!is_unannotated("// wire=8 sites=3 enabled=true\n.version 7.1\n"));
        assert!(!is_unannotated(".version 7.1\n// enabled=false"));
    }
}
