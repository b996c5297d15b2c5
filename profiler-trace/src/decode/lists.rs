//! Names that kernels took of a list by an index beyond its last.

use super::regions::RegionTicks;
use crate::diagnostic::{DiagnosticKind as Kind, Diagnostics, Location};
use crate::site_table::SiteTable;

/// The sites of a module that stand for what is beyond a list, each with how many names the list has.
#[derive(Debug)]
pub(super) struct Beyond(Vec<(u32, u64)>);

impl Beyond {
    pub(super) fn new(table: &SiteTable) -> Self {
        let mut first = 0;
        let ends = table.sites().iter().enumerate().filter_map(|(index, site)| {
            if site.is_beyond_list() {
                return Some((index as u32, (index - first) as u64));
            }
            // The names of a list stand one after the other, that of what is beyond it last.
            let before = index.checked_sub(1).map(|before| &table.sites()[before]);
            if before.is_none_or(|before| before.is_beyond_list() || before.list != site.list) {
                first = index;
            }
            None
        });
        Self(ends.collect())
    }

    /// Notes those of a warp's regions that lie beyond their list.
    pub(super) fn note(
        &self,
        regions: &[RegionTicks],
        place: Location,
        diagnostics: &mut Diagnostics,
    ) {
        if self.0.is_empty() {
            return;
        }
        for region in regions {
            if let Ok(at) = self.0.binary_search_by_key(&region.site, |(site, _)| *site) {
                let place = Location { lane: Some(region.lane), ..place };
                diagnostics.note_number(Kind::NameOutOfRange, self.0[at].1, Some(place));
            }
        }
    }
}
