//! Statistics of marks and their values.

use std::collections::HashMap;

use profiler_wire::SiteKind;

use super::collect::merged;
use super::summary::summarize;
use super::{GroupBy, StatsPlace, StatsQuery, Summary};
use crate::model::{SiteIndex, Trace, Warp};

/// Statistics of the marks of one name in one kernel (and place). Signals and waits, whose values are keys,
/// are not among them: see [`Trace::waits`].
#[derive(Clone, Debug, PartialEq)]
pub struct MarkStats {
    /// The kernel.
    pub kernel: SiteIndex,
    /// The mark, the first of several of one name.
    pub site: SiteIndex,
    /// Its name.
    pub name: String,
    /// Its launch, SM, block and warp.
    pub place: StatsPlace,
    /// The number of marks.
    pub count: u64,
    /// The number of marks with a value.
    pub valued: u64,
    /// Their values, in the mark's unit if it has one; `None` if there are none. The total is their
    /// sum, and [`Summary::mean_per_warp`] is 0.
    pub values: Option<Summary>,
    /// The unit of the values.
    pub unit: Option<String>,
}

/// Kernel, place and site.
type Key = (usize, StatsPlace, SiteIndex);

/// The marks that are in a query, as they come by.
pub(super) struct Marks {
    /// By site, the first one whose row it shares.
    merged: Vec<SiteIndex>,
    index: HashMap<Key, usize>,
    rows: Vec<(Key, u64, Vec<f64>)>,
}

impl Marks {
    pub(super) fn new(trace: &Trace, by: GroupBy) -> Self {
        Self { merged: merged(trace, by), index: HashMap::new(), rows: Vec::new() }
    }

    pub(super) fn add(
        &mut self,
        (trace, query): (&Trace, &StatsQuery),
        kernel: usize,
        place: StatsPlace,
        warp: &Warp,
    ) {
        for mark in &warp.marks {
            let Some(site) = trace.sites.get(mark.site.0 as usize) else { continue };
            if site.kind != SiteKind::Mark
                || !query.takes_name(&site.name)
                || !query.takes_begin(mark.time.ns)
            {
                continue;
            }
            let key = (kernel, place, self.merged[mark.site.0 as usize]);
            let Self { index, rows, .. } = self;
            let row = *index.entry(key).or_insert_with(|| {
                rows.push((key, 0, Vec::new()));
                rows.len() - 1
            });
            rows[row].1 += 1;
            rows[row].2.extend(mark.value.map(|value| value.as_f64()));
        }
    }

    /// Kernels and places in the order of the regions' rows, in each the most frequent first.
    pub(super) fn rows(mut self, trace: &Trace, kernels: &[SiteIndex]) -> Vec<MarkStats> {
        self.rows.sort_by_cached_key(|((kernel, place, site), count, _)| {
            (*kernel, place.order(), std::cmp::Reverse(*count), *site)
        });
        let rows = self.rows.into_iter().map(|((kernel, place, site), count, mut values)| {
            let of = &trace.sites[site.0 as usize];
            MarkStats {
                kernel: kernels[kernel],
                site,
                name: of.name.clone(),
                place,
                count,
                valued: values.len() as u64,
                values: (!values.is_empty()).then(|| summarize(&mut values, 0.0)),
                unit: of.unit.clone(),
            }
        });
        rows.collect()
    }
}
