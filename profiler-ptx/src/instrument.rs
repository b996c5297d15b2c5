//! What users ask of the crate, and what they get.
#![cfg(feature = "rewrite")]

use crate::{Location, RegionKind, Selection, rewrite};

/// What to record.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The part of a loop's shortest time that records may take: 0.05 for 5 %.
    pub budget: f64,
    /// The kernels to record by their names; all if it is empty.
    pub kernels: Vec<String>,
    /// Regions that the user chooses. The budget does not hold for them.
    pub regions: Vec<Selection>,
    /// Whether to record loops and waits besides, as the budget allows.
    pub auto: bool,
    /// For how many threads a block the registers of kernels have to suffice, by their names. It holds for kernels
    /// that are not [bounded](Kernel::is_bounded).
    pub threads: Vec<(String, u32)>,
    /// Whether to write the text, or to list sites alone.
    pub(crate) writes: bool,
}

impl Default for Options {
    fn default() -> Self {
        let (kernels, regions, threads) = (Vec::new(), Vec::new(), Vec::new());
        Self { budget: 0.05, kernels, regions, auto: true, threads, writes: true }
    }
}

impl Options {
    pub(crate) fn takes(&self, kernel: &str) -> bool {
        self.kernels.is_empty() || self.kernels.iter().any(|name| name == kernel)
    }

    /// The directive that keeps a kernel's registers as few as its blocks need.
    pub(crate) fn bound(&self, kernel: &str) -> Option<String> {
        /// Registers of an SM for each thread of a warp, which are dealt out by eights (CUDA C++ Programming Guide,
        /// "Compute Capabilities").
        const REGISTERS: u32 = 65536 / 32;
        let (_, threads) = self.threads.iter().find(|(name, _)| name == kernel)?;
        let registers = REGISTERS / threads.div_ceil(32).clamp(1, 32) / 8 * 8;
        // A bound of threads would also let `.minnctapersm` hold, which does not without one.
        Some(format!("\n.maxnreg {}\n", registers.min(255)))
    }
}

/// Rewritten PTX.
#[derive(Clone, Debug)]
pub struct Instrumented {
    /// The module's text.
    pub text: String,
    /// The hash by which it is known; its descriptor has it until a session fills that.
    pub hash: u64,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
}

/// What is recorded of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its name in the PTX.
    pub name: String,
    /// The regions that are recorded.
    pub sites: Vec<Site>,
    /// The share of a loop's time that records of waits and loops in it take by estimate: of the loop where it is most.
    pub share: f64,
    /// The regions that are not.
    pub left_out: Vec<LeftOut>,
    /// Why nothing of it is recorded.
    pub reason: Option<String>,
    /// Whether a directive of its own bounds its threads or registers.
    pub is_bounded: bool,
}

/// A region that is recorded.
#[derive(Clone, Debug)]
pub struct Site {
    /// The number of the site in records.
    pub id: u32,
    /// What it is around.
    pub kind: RegionKind,
    /// Where in the source it begins, if the PTX says so.
    pub location: Option<Location>,
    /// The user's choice; `None` for a loop or a wait.
    pub chosen: Option<Chosen>,
}

impl Site {
    /// `barrier softmax.py:12`, or the name that the user gave.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.chosen, &self.location) {
            (Some(chosen), _) => chosen.name.clone(),
            (None, Some(location)) => format!("{} {location}", self.kind.name()),
            (None, None) => self.kind.name().to_owned(),
        }
    }
}

/// A user's choice of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its number in [`Options::regions`], from 0.
    pub selection: usize,
    /// Its name.
    pub name: String,
}

/// A region that is not recorded.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// What it is around.
    pub kind: RegionKind,
    /// Where in the source it begins, if the PTX says so.
    pub location: Option<Location>,
    /// Why it is not recorded.
    pub reason: String,
    /// The user's choice; `None` for a loop or a wait.
    pub chosen: Option<Chosen>,
}

/// Why a module cannot be rewritten. `Debug` is the text of `Display`, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not PTX.
    #[error("this is not PTX: the directives `.version` and `.target` are missing")]
    NotPtx,
    /// An old version of PTX.
    #[error(
        "PTX {version} lacks instructions that records need: compile for PTX 6.2 (CUDA 10) or later"
    )]
    OldPtx {
        /// The module's version.
        version: String,
    },
    /// An old GPU.
    #[error("{target} is too old: records need sm_70 or later")]
    OldTarget {
        /// The module's target.
        target: String,
    },
    /// 32-bit addresses.
    #[error("records need 64-bit addresses: compile with `.address_size 64`")]
    AddressSize,
    /// It has records already.
    #[error("this PTX is instrumented already: attach a profiler to it as it is")]
    Instrumented,
    /// No place for variables.
    #[error("this PTX has no function")]
    NoHead,
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Puts records into the kernels of a module.
///
/// A kernel that cannot be rewritten stays as it was, and [`Kernel::reason`] says why.
///
/// # Errors
///
/// Says why nothing of the module can be rewritten.
pub fn instrument(ptx: &str, options: &Options) -> Result<Instrumented, Error> {
    rewrite::instrument(ptx, options)
}

/// The names of a module's kernels.
#[must_use]
pub fn kernel_names(ptx: &str) -> Vec<String> {
    let module = crate::syntax::Module::parse(ptx);
    let kernels = module.functions.iter().filter(|function| function.is_kernel);
    kernels.map(|function| function.name.to_owned()).collect()
}

/// Lists what [`instrument`] would record.
///
/// # Errors
///
/// As of [`instrument`].
pub fn sites(ptx: &str, options: &Options) -> Result<Vec<Kernel>, Error> {
    let options = Options { writes: false, ..options.clone() };
    Ok(rewrite::instrument(ptx, &options)?.kernels)
}
