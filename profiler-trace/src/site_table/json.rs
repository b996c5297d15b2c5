//! A site table in a capture's metadata.

use profiler_wire::record::SITE_MAX;
use serde::Deserialize;
use serde_json::{Value, json};

use super::SiteTable;
use crate::model::Site;

/// A site and the kernels in whose code it is.
#[derive(Deserialize)]
pub(crate) struct Entry {
    #[serde(flatten)]
    site: Site,
    // Not in the first files of this version.
    #[serde(default, rename = "in")]
    kernels: Vec<u32>,
}

impl SiteTable {
    pub(crate) fn to_json(&self) -> Value {
        let entry = |site: &Site| {
            let kernels = self.in_kernels.range((site.id, 0)..=(site.id, u32::MAX));
            let mut entry = json!(site);
            entry["in"] = kernels.map(|(_, kernel)| *kernel).collect();
            entry
        };
        self.sites.iter().map(entry).collect()
    }

    pub(crate) fn from_json(entries: Vec<Entry>) -> Result<Self, String> {
        let mut table = Self::default();
        for Entry { site, kernels } in entries {
            let id = site.id;
            if !(1..=SITE_MAX).contains(&id) {
                return Err(format!("{id} is not the id of a site"));
            }
            // Looking up an id relies on their order.
            if table.sites.last().is_some_and(|last| last.id >= id) {
                return Err(format!("the site {id} is not in order of different ids"));
            }
            table.in_kernels.extend(kernels.into_iter().map(|kernel| (id, kernel)));
            table.sites.push(site);
        }
        Ok(table)
    }
}
