//! The rows of the statistics, by which all parts of a page name what they are about.

use std::collections::HashMap;

use profiler_trace::{SiteIndex, SiteStats, Stats, Trace};

/// The statistics per site, and which row a record counts in.
pub(crate) struct Rows {
    pub(crate) stats: Stats,
    of: HashMap<(SiteIndex, SiteIndex), usize>,
}

impl Rows {
    pub(crate) fn new(trace: &Trace) -> Self {
        let stats = trace.stats();
        let rows = stats.rows.iter().enumerate();
        let of = rows.map(|(at, row)| ((row.kernel, row.site), at)).collect();
        Self { stats, of }
    }

    /// The row of a site in a kernel.
    pub(crate) fn of(&self, kernel: SiteIndex, site: SiteIndex) -> Option<usize> {
        self.of.get(&(kernel, site)).copied()
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
