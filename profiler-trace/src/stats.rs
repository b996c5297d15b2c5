//! Statistics of regions: how often, how long, what share of the kernel.

mod balance;
pub(crate) mod collect;
mod critical_path;
mod launches;
mod marks;
mod paths;
mod pattern;
mod query;
pub(crate) mod rows;
pub(crate) mod summary;
mod table;
#[cfg(test)]
mod tests;
mod waits;

use profiler_wire::header::Dim3;

use crate::diagnostic::Diagnostics;
use crate::model::{Site, SiteIndex, Trace};
use crate::source::{WarpSource, notes};
pub use balance::{Balance, Load};
pub use critical_path::CriticalPath;
pub use marks::MarkStats;
pub use pattern::matches_pattern;
pub use query::StatsQuery;
pub use waits::Waits;

/// The grouping of the rows of statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupBy {
    /// A name in a kernel, over all launches: sites of one name and unit are one row, as they are by
    /// all that follows but by site.
    #[default]
    Name,
    /// A site in a kernel, over all launches.
    Site,
    /// A name and its path: the regions of the same lane and track that enclose it, as
    /// [`crate::Region::depth`] counts them. Of two that cross, the one that ends first is closer.
    /// Only the outermost 64 regions distinguish rows.
    Path,
    /// A name in a kernel, launch by launch.
    Launch,
    /// A name in a kernel on an SM, over all launches.
    Sm,
    /// A name in a kernel, block by block of each launch.
    Block,
    /// The same, warp by warp of each launch.
    Warp,
}

impl GroupBy {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Name, Self::Site, Self::Path, Self::Launch, Self::Sm, Self::Block, Self::Warp];
}

/// The place of a row's records, as far as [`GroupBy`] distinguishes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatsPlace {
    /// Index into [`Trace::launches`].
    pub launch: Option<usize>,
    /// The SM.
    pub sm: Option<u32>,
    /// The block.
    pub block: Option<Dim3>,
    /// The warp of the block.
    pub warp: Option<u32>,
}

impl StatsPlace {
    /// What rows of a kernel are sorted by: blocks by z, then y, then x.
    fn order(&self) -> impl Ord + use<> {
        (self.launch, self.sm, self.block.map(|[x, y, z]| [z, y, x]), self.warp)
    }
}

/// Summary of a set of durations in one unit. All zero if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    /// Their sum.
    pub total: f64,
    /// Their arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (divided by the count less one); 0 for fewer than two.
    pub standard_deviation: f64,
    /// The shortest.
    pub min: f64,
    /// The median, by nearest rank as all quantiles here: the smallest duration such that at least
    /// half of all durations are not above it. Always one that was measured, never an interpolation.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// The mean time that a warp is in it, over the warps that could record. Several lanes of a
    /// warp at once count once, and so does a region within itself. So it is at most the time of a
    /// warp in the kernel. Otherwise it is the total divided by those warps, Proton's normalised
    /// figure.
    pub mean_per_warp: f64,
}

impl Summary {
    /// In the order of the columns.
    fn figures(&self) -> [f64; 9] {
        let Self { total, mean, standard_deviation, min, p50, p95, p99, max, mean_per_warp } =
            *self;
        [total, mean, standard_deviation, min, p50, p95, p99, max, mean_per_warp]
    }
}

/// Throughput, by the values of regions.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// The unit of the values.
    pub unit: String,
    /// Sum of the values of all regions that have a value and an end.
    pub total: f64,
    /// That sum divided by the time of those same regions: the rate at which one recorder works
    /// while it is in the region. 0 if that time is 0.
    pub per_second: f64,
}

/// Statistics of one name or site in one kernel (and place).
#[derive(Clone, Debug, PartialEq)]
pub struct SiteStats {
    /// The kernel.
    pub kernel: SiteIndex,
    /// The region, the first of several of one name; the kernel's own site for the kernel as a whole.
    pub site: SiteIndex,
    /// All sites whose regions are in the row, in order: several if they share a name.
    pub sites: Vec<SiteIndex>,
    /// By [`GroupBy::Path`], the regions that enclose it, the outermost first, 64 at most; otherwise
    /// empty.
    pub path: Vec<SiteIndex>,
    /// The region's name.
    pub name: String,
    /// Its launch, SM, block and warp.
    pub place: StatsPlace,
    /// Regions with a begin and an end; all figures are about these.
    pub count: u64,
    /// Regions without an end. They are in no other figure.
    pub open: u64,
    /// Durations in nanoseconds.
    pub ns: Summary,
    /// Durations in cycles of the SM, if all were recorded with its clock.
    pub cycles: Option<Summary>,
    /// Warps that could record it by the strategy of the site, or of one of the sites.
    pub warps: u64,
    /// The part of the kernel's time that warps spend in it (in the window, if there is one): their time
    /// in it, as [`Summary::mean_per_warp`] counts it, divided by the time from their entry into the
    /// kernel to their exit, both summed over the warps that could record. From 0 to 1. For a warp that
    /// never left, its kernel time ends with its launch.
    pub share: f64,
    /// Throughput, if the regions have values.
    pub throughput: Option<Throughput>,
}

/// Statistics of a trace. `Display` makes a table of it for a terminal, and one in Markdown by `{:#}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Stats {
    /// Rows: kernels in order of their first launch; in each, places in order; in each, the kernel as
    /// a whole and then its regions, the largest total first; by path, each region before those that
    /// it encloses.
    pub rows: Vec<SiteStats>,
    /// Marks, by name (or site) and place: kernels and places in order; in each, the most frequent first.
    pub marks: Vec<MarkStats>,
    /// The grouping of the rows.
    pub by: GroupBy,
    /// Notes about the whole trace: device, losses, clock, cost of a record.
    pub notes: Vec<String>,
    /// A sentence for each kind of filter that nothing meets; the notes have them, too.
    pub unmet: Vec<String>,
    /// Everything lost or odd in the trace.
    pub diagnostics: Diagnostics,
    /// All sites, by their index.
    sites: Vec<Site>,
    /// Grids of all launches.
    grids: Vec<Dim3>,
    /// Whether rows are left out by their name. Then the regions that enclose a row may have none.
    is_filtered_by_name: bool,
}

impl Trace {
    /// Notes about the whole trace, a line each: the device first, then losses, clock, cost of a
    /// record.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        notes::facts(self)
    }

    /// For each site the first one that tables show with it: regions and marks of one name and unit are
    /// shown together, kernels are not.
    #[must_use]
    pub fn sites_by_name(&self) -> Vec<SiteIndex> {
        collect::merged(self, GroupBy::Name)
    }

    /// [`Trace::never_recorded`] in a sentence; the notes have it, too.
    #[must_use]
    pub fn never_recorded_note(&self) -> Option<String> {
        notes::never_recorded(self)
    }

    /// Statistics of kernels and regions, by name.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.stats_by(GroupBy::Name)
    }

    /// Statistics by name, site, path, launch, SM, block or warp. [`Trace::stats_of`] also
    /// takes filters.
    ///
    /// Quantiles are exact: in addition to the trace and the rows, this holds 8 bytes for each
    /// region and each value of a mark, or up to 16 if rows have few.
    #[must_use]
    pub fn stats_by(&self, by: GroupBy) -> Stats {
        self.stats_of(&StatsQuery::new().by(by))
    }

    /// Statistics of a part of the trace.
    #[must_use]
    pub fn stats_of(&self, query: &StatsQuery) -> Stats {
        Stats::of(self, query)
    }
}

impl SiteStats {
    /// Whether it is in so many regions that those beyond are not told apart.
    fn is_deeper(&self) -> bool {
        self.path.len() == paths::PATH_LEVELS
    }
}

impl Stats {
    /// The statistics of a trace in memory, or of a capture that is decoded meanwhile. In addition to the
    /// trace and the rows, this holds 8 bytes for each region, or up to 16 if rows have few.
    #[must_use]
    pub fn of(source: &impl WarpSource, query: &StatsQuery) -> Self {
        collect::collect(source, query)
    }

    /// The name of a site that the trace has.
    fn name_of(&self, site: SiteIndex) -> Option<&str> {
        self.sites.get(site.0 as usize).map(|site| site.name.as_str())
    }

    /// The first row of a region (or kernel) of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&SiteStats> {
        self.rows.iter().find(|row| row.name == name)
    }
}
