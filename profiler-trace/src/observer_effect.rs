//! What recording does to the kernel that is recorded.

mod resources;

use std::fmt;

use serde_json::{Value, json};

use crate::model::{Site, SiteIndex, Trace};
use crate::stats::SiteStats;
use crate::units::digits;

pub use resources::{KernelResources, ResourceEffect};

/// What recording does to the kernel that is recorded: how long it takes with and without, and how
/// long its regions take beside all others and beside some, as the program that launched it measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObserverEffect {
    /// The kernel's time without a session, in nanoseconds.
    pub without_ns: f64,
    /// Its time with one.
    pub with_ns: f64,
    /// What annotations do without a session, where that was measured.
    pub annotations: Option<AnnotationEffect>,
    /// What regions do to each other; empty where that was not measured.
    pub regions: Vec<RegionEffect>,
}

impl ObserverEffect {
    /// How much longer the kernel takes with a session, as a part of its time without. Not finite
    /// where that time is 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.with_ns / self.without_ns - 1.0
    }

    /// A JSON object: `without_ns`, `with_ns`, `annotations` and `regions`. `annotations` is `null` or
    /// has `without_ns`, `with_ns` and `kernels`, objects with `kernel`, `block`, `dynamic_shared_bytes`
    /// and, for `without` and `with`, `registers`, `local_bytes`, `shared_bytes` and `blocks_per_sm`.
    /// `regions` are objects with `name` and, for `full` and `half`, `count`, `median_ns`, `p95_ns`,
    /// `median_cycles` and `p95_cycles`. What is not finite or not known is `null`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let lengths = |lengths: &RegionLengths| {
            json!({
                "count": lengths.count,
                "median_ns": lengths.median_ns,
                "p95_ns": lengths.p95_ns,
                "median_cycles": lengths.cycles.map(|cycles| cycles.median),
                "p95_cycles": lengths.cycles.map(|cycles| cycles.p95),
            })
        };
        let region = |region: &RegionEffect| {
            json!({
                "name": region.name,
                "full": lengths(&region.full),
                "half": lengths(&region.half),
            })
        };
        json!({
            "without_ns": self.without_ns,
            "with_ns": self.with_ns,
            "annotations": self.annotations.as_ref().map(|annotations| json!({
                "without_ns": annotations.without_ns,
                "with_ns": annotations.with_ns,
                "kernels":
                    annotations.kernels.iter().map(ResourceEffect::to_json).collect::<Vec<_>>(),
            })),
            "regions": self.regions.iter().map(region).collect::<Vec<_>>(),
        })
    }
}

/// What annotations do to a kernel that is launched without a session, and to the registers that it has
/// with a session and without.
///
/// As a sentence: "without a session the kernel takes 303.5 µs, and 303.4 µs compiled without annotations,
/// +0.03 %". What is launched has a sentence each ([`ResourceEffect`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnnotationEffect {
    /// The time of the kernel compiled without annotations, in nanoseconds.
    pub without_ns: f64,
    /// Its time with them, of launches that took turns with those.
    pub with_ns: f64,
    /// What each kernel takes of an SM, in the order of its first launch; once for each size of block
    /// and of dynamic shared memory. Empty where that was not asked.
    pub kernels: Vec<ResourceEffect>,
}

impl AnnotationEffect {
    /// How much longer the kernel takes with annotations, as a part of its time without. Not finite
    /// where that time is 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        self.with_ns / self.without_ns - 1.0
    }
}

impl fmt::Display for AnnotationEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "without a session the kernel takes {} µs, and {} µs compiled without annotations, \
             {:+.2} %",
            digits(self.with_ns / 1e3),
            digits(self.without_ns / 1e3),
            100.0 * self.relative(),
        )
    }
}

/// How long a region takes where all regions of its kernel are compiled in, and where half of them
/// are: the difference is what the others do to it.
///
/// As a sentence: "beside half of the regions, `mma` lasts 790 cycles (median; 95th percentile 1012),
/// beside all of them 812 (1030), +2.8 %". In nanoseconds only where cycles are not known: the SMs'
/// frequency is another from launch to launch, with power and temperature, and nanoseconds would show
/// that as well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegionEffect {
    /// The region's name.
    pub name: String,
    /// Its lengths where all regions are compiled in.
    pub full: RegionLengths,
    /// Its lengths where half of them are.
    pub half: RegionLengths,
}

/// How long the regions of one site in one kernel take, as [`Trace::stats`] says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegionLengths {
    /// Regions with a begin and an end.
    pub count: u64,
    /// The median of their lengths, in nanoseconds.
    pub median_ns: f64,
    /// The 95th percentile.
    pub p95_ns: f64,
    /// Both in cycles of the SM, if all were recorded with its clock.
    pub cycles: Option<RegionCycles>,
}

/// How many cycles of the SM the regions of one site in one kernel take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RegionCycles {
    /// The median.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
}

impl RegionEffect {
    /// Compares regions of `full`, a trace of kernels with all regions, and `half`, one of the same
    /// kernels in which half of them are compiled in: those that both have, in the order in which they
    /// stand in the source. Regions are the same that have one kernel, name and place in the source.
    #[must_use]
    pub fn between(full: &Trace, half: &Trace) -> Vec<Self> {
        let (mut rows, others) = (full.stats().rows, half.stats().rows);
        rows.retain(|row| row.site != row.kernel && row.count > 0);
        rows.sort_by_key(|row| (row.kernel, row.site));
        let of_both = |row: &SiteStats| {
            let is_same = |index: fn(&SiteStats) -> SiteIndex, other: &SiteStats| {
                is_same_site(full.site(index(row)), half.site(index(other)))
            };
            let other = others.iter().find(|other| {
                other.count > 0
                    && is_same(|row| row.kernel, other)
                    && is_same(|row| row.site, other)
            })?;
            let (full, half) = (RegionLengths::of(row), RegionLengths::of(other));
            Some(Self { name: row.name.clone(), full, half })
        };
        rows.iter().filter_map(of_both).collect()
    }

    /// How much longer the median is where all regions are compiled in, as a part of that where half
    /// are: in cycles, where both are known in cycles. Not finite where that is 0.
    #[must_use]
    pub fn relative(&self) -> f64 {
        let (_, [[full, _], [half, _]]) = self.quantiles();
        full / half - 1.0
    }

    /// A unit that both are known in, and in it the median and the 95th percentile of all and of half.
    fn quantiles(&self) -> (&'static str, [[f64; 2]; 2]) {
        match (self.full.cycles, self.half.cycles) {
            (Some(full), Some(half)) => ("cycles", [full, half].map(|of| [of.median, of.p95])),
            _ => ("ns", [self.full, self.half].map(|of| [of.median_ns, of.p95_ns])),
        }
    }
}

/// Whether sites of two builds are one site of the source.
fn is_same_site(one: &Site, other: &Site) -> bool {
    let place = |site: &Site| (site.line, site.column);
    place(one) == place(other)
        && [&one.name, &one.file] == [&other.name, &other.file]
        && one.list == other.list
}

impl RegionLengths {
    fn of(row: &SiteStats) -> Self {
        let cycles = row.cycles.map(|cycles| RegionCycles { median: cycles.p50, p95: cycles.p95 });
        Self { count: row.count, median_ns: row.ns.p50, p95_ns: row.ns.p95, cycles }
    }
}

impl fmt::Display for RegionEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, [full, half]) = self.quantiles();
        write!(
            f,
            "beside half of the regions, `{}` lasts {} {unit} (median; 95th percentile {}), beside \
             all of them {} ({}), {:+.1} %",
            self.name,
            digits(half[0]),
            digits(half[1]),
            digits(full[0]),
            digits(full[1]),
            100.0 * self.relative(),
        )
    }
}
