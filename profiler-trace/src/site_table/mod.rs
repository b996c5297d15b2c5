//! The sites of a module: what the ids in its records mean.

mod error;
mod json;
mod ptx;

use std::collections::BTreeSet;

use profiler_wire::site::{Buffer, Names, STRATEGY_OF_KERNEL, SiteError};
use profiler_wire::{SiteEntry, SiteKind, Strategy};

pub use error::SiteTableError;
pub(crate) use json::Entry;

use crate::model::Site;

/// The sites of one module, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteTable {
    /// In order of their ids.
    sites: Vec<Site>,
    /// Sites, by their first ids, and the kernels in whose code they are, as far as that is known.
    in_kernels: BTreeSet<(u32, u32)>,
}

impl SiteTable {
    /// Reads the site entries that lie in the text of a PTX module.
    ///
    /// # Errors
    ///
    /// See [`SiteTableError`]: no profiled kernel in the text, another wire version, ids that
    /// clash, a damaged entry.
    pub fn from_ptx(ptx: &str) -> Result<Self, SiteTableError> {
        let module = ptx::scan(ptx)?;
        if !module.has_descriptor {
            // A wrong version is named by the entries too, but the descriptor's says it for the whole
            // module, also where it has no site.
            if let Some(found) = module.other_version {
                return Err(SiteTableError::DescriptorVersion { found });
            }
            if module.entries.is_empty() {
                return Err(SiteTableError::NotProfiled { stamp: module.stamp });
            }
        }
        let mut table = Self::from_entries(module.entries.iter().map(Vec::as_slice))?;
        for ids in module.ids_of_entries {
            let is_kernel =
                |id: &&u32| table.get(**id).is_some_and(|site| site.kind == SiteKind::Kernel);
            if let Some(&kernel) = ids.iter().find(is_kernel) {
                table.in_kernels.extend(ids.into_iter().map(|id| (id, kernel)));
            }
        }
        Ok(table)
    }

    /// Says which sites, by their first ids, are in the code of which kernels.
    #[must_use]
    pub fn with_kernels(mut self, in_kernels: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.in_kernels.extend(in_kernels);
        self
    }

    /// The same table with other names for the kernels.
    #[must_use]
    pub fn with_kernel_names(mut self, rename: impl Fn(&str) -> String) -> Self {
        for site in self.sites.iter_mut().filter(|site| site.kind == SiteKind::Kernel) {
            site.name = rename(&site.name);
        }
        self
    }

    /// Sites, by their first ids, and the kernels in whose code they are, as far as that is known.
    pub(crate) fn in_kernels(&self) -> &BTreeSet<(u32, u32)> {
        &self.in_kernels
    }

    /// Takes encoded site entries ([`SiteEntry::encode`]), as the emulator registers them.
    ///
    /// # Errors
    ///
    /// Another wire version, ids that clash, a damaged entry.
    pub fn from_entries<'a>(
        entries: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, SiteTableError> {
        let mut parsed = Vec::new();
        for bytes in entries {
            let entry = SiteEntry::parse(bytes).map_err(|error| match error {
                SiteError::Version { found } => SiteTableError::EntryVersion { found },
                error => SiteTableError::Damaged { error: error.to_string() },
            })?;
            check(&entry)?;
            parsed.push(entry);
        }
        parsed.sort_by_key(|entry| (entry.id, entry.key));
        parsed.dedup_by(|later, earlier| same(later, earlier));
        let mut sites: Vec<Site> = Vec::new();
        for entry in &parsed {
            if let Some(last) = sites.last().filter(|last| last.id >= entry.id) {
                // The entries before are in order, so only the last can reach this far. Of a list,
                // the name to tell is the list's.
                let known = sites.iter().find(|site| site.id >= entry.id).unwrap_or(last);
                return Err(SiteTableError::Clash {
                    id: entry.id,
                    sites: [describe(known), describe_entry(entry)],
                });
            }
            expand(entry, &mut sites);
        }
        Ok(Self { sites, in_kernels: BTreeSet::new() })
    }

    /// All sites, in order of their ids.
    #[must_use]
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// The site with this id.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&Site> {
        self.index_of(id).map(|index| &self.sites[index])
    }

    /// The index into [`SiteTable::sites`] of the site with this id.
    #[must_use]
    pub fn index_of(&self, id: u32) -> Option<usize> {
        // Dense ids, as the build step gives them, need no search.
        let first = self.sites.first()?.id;
        let guess = id.checked_sub(first)? as usize;
        if self.sites.get(guess).is_some_and(|site| site.id == id) {
            return Some(guess);
        }
        self.sites.binary_search_by_key(&id, |site| site.id).ok()
    }

    /// The kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.kind == SiteKind::Kernel)
    }

    /// Whether the records of a kernel go to the memory of the host, so that the session's arrays
    /// must lie there.
    #[must_use]
    pub fn needs_host_memory(&self) -> bool {
        self.kernels().any(|kernel| kernel.buffer == Buffer::Host)
    }

    /// Whether a lane other than lane 0 may record at some site, so that the session must give all
    /// lanes buffers.
    #[must_use]
    pub fn needs_lanes(&self) -> bool {
        self.sites.iter().any(|site| site.strategy.is_some_and(Strategy::needs_lanes))
    }

    /// The number of sites; each name of a list counts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether there is no site.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }
}

/// The suffix of a list's name for an index beyond its end.
const BEYOND: &str = "[out of range]";

/// Bytes that names and places of one list's sites may take.
const TEXT_MAX: usize = 16 << 20;

/// Checks that [`SiteEntry::parse`] leaves to its caller.
fn check(entry: &SiteEntry<'_>) -> Result<(), SiteTableError> {
    let damaged = |error: String| Err(SiteTableError::Damaged { error });
    let expected = match entry.kind {
        SiteKind::Names => entry.names.len() + 1,
        _ => 1,
    };
    if entry.ids as usize != expected {
        return damaged(format!(
            "{} has {} ids, {expected} were expected",
            describe_entry(entry),
            entry.ids
        ));
    }
    // Each name gets the list's place.
    let place = entry.name.len() + entry.file.len() + entry.module.len();
    if place.saturating_mul(expected) > TEXT_MAX {
        return damaged(format!(
            "a list of {} names has a name and a place of {place} bytes, which is too much",
            entry.names.len()
        ));
    }
    if entry.strategy != STRATEGY_OF_KERNEL && Strategy::from_code(entry.strategy).is_none() {
        return damaged(format!(
            "{} has the unknown strategy {}",
            describe_entry(entry),
            entry.strategy
        ));
    }
    Ok(())
}

/// Whether two entries say the same; equal keys alone are only equal hashes. Names are compared
/// by content, since an entry may hold spare bytes after them.
fn same(left: &SiteEntry<'_>, right: &SiteEntry<'_>) -> bool {
    let names = Names::Given(&[]);
    SiteEntry { names, ..*left } == SiteEntry { names, ..*right }
        && left.names.iter().eq(right.names.iter())
}

fn describe(site: &Site) -> String {
    let name = site.list.as_ref().unwrap_or(&site.name);
    format!("\"{name}\" ({}:{}:{})", site.file, site.line, site.column)
}

fn describe_entry(entry: &SiteEntry<'_>) -> String {
    format!("\"{}\" ({}:{}:{})", entry.name, entry.file, entry.line, entry.column)
}

/// Appends the site of an entry, or one for each name of a list and one for what is none of them.
fn expand(entry: &SiteEntry<'_>, sites: &mut Vec<Site>) {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let site = |id: u32, name: String, list: Option<String>| Site {
        id,
        kind: entry.kind,
        name,
        list,
        file: entry.file.to_owned(),
        module: entry.module.to_owned(),
        line: entry.line,
        column: entry.column,
        unit: text(entry.unit),
        strategy: match entry.strategy {
            STRATEGY_OF_KERNEL => None,
            code => Strategy::from_code(code),
        },
        symbol: text(entry.symbol),
        buffer: entry.buffer,
    };
    if entry.kind != SiteKind::Names {
        sites.push(site(entry.id, entry.name.to_owned(), None));
        return;
    }
    let beyond = entry.name.to_owned() + BEYOND;
    let all = entry.names.iter().map(str::to_owned).chain(std::iter::once(beyond));
    for (id, name) in (entry.id..).zip(all) {
        sites.push(site(id, name, Some(entry.name.to_owned())));
    }
}

#[cfg(test)]
mod tests;
