//! The sites of launched kernels that no record has.

use std::collections::HashMap;

use super::WarpRecords;
use crate::model::{Site, SiteIndex};
use crate::site_table::SiteTable;

/// Sites of a module and the kernels in whose code they are, as far as that is known.
pub(super) fn sites_in_kernels(
    sites: &SiteTable,
    first_site: u32,
) -> impl Iterator<Item = (SiteIndex, SiteIndex)> {
    let index = move |id: u32| Some(SiteIndex(first_site + sites.index_of(id)? as u32));
    sites.in_kernels().iter().filter_map(move |&(of, kernel)| Some((index(of)?, index(kernel)?)))
}

/// The sites that warps recorded, kernel by kernel.
#[derive(Default)]
pub(super) struct Recorded {
    of_kernels: HashMap<SiteIndex, Vec<bool>>,
}

impl Recorded {
    pub(super) fn add(&mut self, kernel: SiteIndex, records: &WarpRecords<'_>, sites: usize) {
        let of_kernel = self.of_kernels.entry(kernel).or_insert_with(|| vec![false; sites]);
        let regions = records.scratch.regions().map(|raw| records.first_site + raw.site);
        let marks = records.warp.marks.iter().map(|mark| mark.site.0);
        for site in regions.chain(marks) {
            if let Some(is_recorded) = of_kernel.get_mut(site as usize) {
                *is_recorded = true;
            }
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        for (kernel, sites) in other.of_kernels {
            match self.of_kernels.get_mut(&kernel) {
                Some(own) => own.iter_mut().zip(sites).for_each(|(own, other)| *own |= other),
                None => _ = self.of_kernels.insert(kernel, sites),
            }
        }
    }

    /// Of sites and the kernels in whose code they are, those of kernels with warps in which none recorded
    /// the site: of a list, any of its names. In the order of the source.
    pub(super) fn missing(
        &self,
        in_kernels: &[(SiteIndex, SiteIndex)],
        sites: &[Site],
    ) -> Vec<(SiteIndex, SiteIndex)> {
        let is_missing = |&&(site, kernel): &&(SiteIndex, SiteIndex)| {
            let Some(of_kernel) = self.of_kernels.get(&kernel) else { return false };
            let first = &sites[site.0 as usize];
            let is_same = |other: &Site| {
                let place = |site: &Site| (site.line, site.column);
                other.id == first.id
                    || (first.list.is_some()
                        && other.list == first.list
                        && place(other) == place(first))
            };
            let all = sites[site.0 as usize..].iter().zip(&of_kernel[site.0 as usize..]);
            site != kernel && !all.take_while(|(other, _)| is_same(other)).any(|(_, is)| *is)
        };
        let mut missing: Vec<_> = in_kernels.iter().filter(is_missing).copied().collect();
        missing.sort_by_key(|&(site, kernel)| {
            let of = &sites[site.0 as usize];
            (kernel, &of.file, of.line, of.column, site)
        });
        missing
    }
}
