//! The rows of the statistics, which all parts of a page refer to.

use profiler_trace::{SiteIndex, SiteStats, Stats, StatsQuery, WarpSource};

/// The statistics by name, and the row of each site.
pub(crate) struct Rows {
    pub(crate) stats: Stats,
    /// In order of kernel and site.
    of: Vec<((SiteIndex, SiteIndex), usize)>,
}

impl Rows {
    pub(crate) fn new(source: &impl WarpSource) -> Self {
        let stats = Stats::of(source, &StatsQuery::new());
        let rows = stats.rows.iter().enumerate();
        let sites = rows.flat_map(|(at, row)| row.sites.iter().map(move |site| (at, row, site)));
        let mut of: Vec<_> = sites.map(|(at, row, site)| ((row.kernel, *site), at)).collect();
        of.sort_unstable();
        Self { stats, of }
    }

    /// The row of a site in a kernel.
    pub(crate) fn of(&self, kernel: SiteIndex, site: SiteIndex) -> Option<usize> {
        let place = self.of.binary_search_by_key(&(kernel, site), |(of, _)| *of);
        place.ok().map(|place| self.of[place].1)
    }

    pub(crate) fn list(&self) -> &[SiteStats] {
        &self.stats.rows
    }

    /// The rows, those with the most time first.
    pub(crate) fn by_time(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.list().len()).collect();
        let total = |at: usize| self.list()[at].ns.total;
        order.sort_by(|&left, &right| total(right).total_cmp(&total(left)));
        order
    }
}
