//! Why a module's sites cannot be read.

use std::fmt;

use profiler_wire::WIRE_VERSION;
use profiler_wire::symbol::DESCRIPTOR_PREFIX;

use crate::file::debug_as_display;

/// Why a module's sites cannot be read; `Display` names the remedy, and `Debug` is the same text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteTableError {
    /// The PTX has neither a descriptor nor a site.
    NotProfiled {
        /// The stamp of the build step at the top of the PTX, if there is one.
        stamp: Option<String>,
    },
    /// The PTX was built against another wire version, by the name of its descriptor.
    DescriptorVersion {
        /// That version.
        found: String,
    },
    /// A site entry has another wire version.
    EntryVersion {
        /// That version.
        found: u32,
    },
    /// Two sites have the same id.
    Clash {
        /// The id.
        id: u32,
        /// Both sites: name, file, line and column.
        sites: [String; 2],
    },
    /// A site entry is damaged.
    Damaged {
        /// The error.
        error: String,
    },
}

impl fmt::Display for SiteTableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SAME_VERSION: &str =
            "build the kernels with the same version of the profiler as the host program";
        match self {
            Self::NotProfiled { stamp: Some(stamp) } if disabled(stamp) => write!(
                f,
                "the PTX was built with profiling off (its stamp says \"{stamp}\"); switch on the \
                 feature `enabled` of profiler-device for the device crate, or in the build script"
            ),
            Self::NotProfiled { stamp: Some(stamp) } => write!(
                f,
                "the PTX has no profiled kernel (its stamp says \"{stamp}\"); put #[profiled] on a \
                 kernel of the device crate and build it again"
            ),
            Self::NotProfiled { stamp: None } => f.write_str(
                "the PTX has no profiled kernel: either no kernel bears #[profiled], or the feature \
                 `enabled` of profiler-device was off when it was built; build it through \
                 profiler-build, which can switch that feature on, and check that this is its PTX",
            ),
            Self::DescriptorVersion { found } => write!(
                f,
                "the PTX has the descriptor {DESCRIPTOR_PREFIX}{found}, this library reads wire \
                 version {WIRE_VERSION}; {SAME_VERSION}"
            ),
            Self::EntryVersion { found } => write!(
                f,
                "a site entry has wire version {found}, this library reads version {WIRE_VERSION}; \
                 {SAME_VERSION}"
            ),
            Self::Clash { id, sites: [first, second] } => write!(
                f,
                "the sites {first} and {second} have the same id {id}; build the device crate \
                 through profiler-build, which numbers the sites of a module one by one (without \
                 it, ids are hashes and may clash)"
            ),
            Self::Damaged { error } => write!(
                f,
                "a site entry of the module cannot be read: {error}; build the device crate again, \
                 with the same version of the profiler as the host program"
            ),
        }
    }
}

debug_as_display!(SiteTableError);

impl std::error::Error for SiteTableError {}

/// Whether the build step's stamp says that profiling was off.
fn disabled(stamp: &str) -> bool {
    stamp.split_whitespace().any(|pair| pair == "enabled=false")
}
