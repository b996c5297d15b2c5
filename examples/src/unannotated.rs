//! What annotations cost while nothing records: the same kernels compiled without them.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use profiler_host::{Backend, BackendChoice, Error, KernelResources, ResourceEffect, Shape};

use crate::Failure;
use crate::measure::{Launcher, On, median};

/// How often each of two builds without a session is timed; odd. More often than with one, as the
/// difference that is looked for is a thousandth.
const TURNS: usize = 201;

/// What annotations cost without a session.
#[derive(Debug)]
pub struct Annotations {
    /// Median of the kernel compiled without annotations.
    pub without: Duration,
    /// Median of the kernel compiled with them; the launches of both alternate.
    pub with: Duration,
    /// What each kernel takes of an SM in both builds.
    pub resources: Vec<ResourceEffect>,
}

impl Annotations {
    /// How much longer the kernel takes with annotations, as a part of its time without.
    #[must_use]
    pub fn overhead(&self) -> f64 {
        self.with.as_secs_f64() / self.without.as_secs_f64() - 1.0
    }
}

impl fmt::Display for Annotations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "annotations: {:.1} µs compiled without, {:.1} µs compiled with them, without a session, \
             {:+.2} % (medians)",
            self.without.as_secs_f64() * 1e6,
            self.with.as_secs_f64() * 1e6,
            self.overhead() * 1e2,
        )?;
        self.resources.iter().try_for_each(|kernel| write!(f, "\nresources: {kernel}"))
    }
}

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

/// The text of a PTX file, which lasts as long as the program, as that does which it was built with.
#[derive(Debug)]
pub(crate) struct Unannotated(&'static str);

impl Unannotated {
    /// Reads the file that the command line names.
    pub(crate) fn read(path: &Path, backend: &Backend) -> Result<Self, Failure> {
        if !backend.is_gpu() {
            return Err(
                "--unannotated compares two builds for the GPU, and this runs on the emulator, \
                        where every region is compiled in; leave it out, or run on a GPU"
                    .into(),
            );
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
        if !is_unannotated(&text) {
            return Err(format!(
                "{} has annotations, or was not made by profiler-build; give PTX of this example's \
                 kernels, compiled with `Kernels::profile_enabled(false)`",
                path.display(),
            )
            .into());
        }
        Ok(Self(text.leak()))
    }

    /// Times launches without a session, of the kernels as they are in `plain` and without annotations
    /// by turns, and asks what both take of an SM.
    pub(crate) fn compare(
        &self,
        plain: &Backend,
        prepare: &mut impl FnMut() -> Result<(), Error>,
        launch: &mut impl FnMut(&mut Launcher) -> Result<(), Error>,
    ) -> Result<Annotations, Error> {
        // All back ends of a process share the device's memory.
        let unannotated = Backend::choose(BackendChoice::Gpu, Some(self.0))?;
        let mut comparison = Comparison { unannotated: &unannotated, effects: Vec::new() };
        prepare()?;
        launch(&mut Launcher(On::Compared(plain, &mut comparison)))?;
        let resources = comparison.effects;
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
        let [without, with] =
            [&mut without, &mut with].map(|times| median(times).unwrap_or_default());
        Ok(Annotations { without, with, resources })
    }
}

/// Whether the first line, which profiler-build writes, says that nothing is recorded.
fn is_unannotated(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.ends_with(" enabled=false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_builds_are_compared_in_a_line_and_each_kernel_in_another() {
        let [without, with] = [400, 402].map(Duration::from_micros);
        let resources =
            vec![ResourceEffect { kernel: "gemm".to_owned(), ..ResourceEffect::default() }];
        let annotations = Annotations { without, with, resources };
        let text = annotations.to_string();
        let (first, second) = text.split_once('\n').expect("two lines");
        assert_eq!(
            first,
            "annotations: 400.0 µs compiled without, 402.0 µs compiled with them, without a session, \
             +0.50 % (medians)"
        );
        assert!(second.starts_with("resources: `gemm`, block "), "{second}");
    }

    #[test]
    fn the_first_line_says_whether_kernels_record() {
        assert!(is_unannotated("// wire=1 sites=0 enabled=false\n.version 7.1\n"));
        assert!(!is_unannotated("// wire=1 sites=3 enabled=true\n.version 7.1\n"));
        assert!(!is_unannotated(".version 7.1\n// enabled=false"));
    }
}
