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
        if module.entries.is_empty() && !module.has_descriptor {
            return Err(match module.other_version {
                Some(found) => SiteTableError::DescriptorVersion { found },
                None => SiteTableError::NotProfiled { stamp: module.stamp },
            });
        }
        // A wrong version is named by the entries too, but the descriptor's says it for the whole
        // module, also where it has no site.
        match module.other_version {
            Some(found) if !module.has_descriptor => {
                Err(SiteTableError::DescriptorVersion { found })
            }
            _ => {
                let mut table = Self::from_entries(module.entries.iter().map(Vec::as_slice))?;
                for ids in module.ids_of_entries {
                    let is_kernel = |id: &&u32| {
                        table.get(**id).is_some_and(|site| site.kind == SiteKind::Kernel)
                    };
                    if let Some(&kernel) = ids.iter().find(is_kernel) {
                        table.in_kernels.extend(ids.into_iter().map(|id| (id, kernel)));
                    }
                }
                Ok(table)
            }
        }
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
    let names: Names<'_> = entry.names;
    let beyond = entry.name.to_owned() + BEYOND;
    let all = names.iter().map(str::to_owned).chain(std::iter::once(beyond));
    for (id, name) in (entry.id..).zip(all) {
        sites.push(site(id, name, Some(entry.name.to_owned())));
    }
}

#[cfg(test)]
mod tests {
    use profiler_wire::site::{ID_OFFSET, MAGIC};
    use proptest::prelude::*;

    use super::*;
    use crate::synthetic::{Keep, SyntheticModule};

    /// PTX as rustc writes it: trailing zeros omitted, with and without `.visible`.
    fn ptx(entries: &[Vec<u8>]) -> String {
        let mut text = String::from(
            ".version 7.8\n.target sm_80\n.const .align 16 .b8 __profiler_descriptor_v1[128];\n",
        );
        for (index, entry) in entries.iter().enumerate() {
            let visible = if index % 2 == 0 { ".visible " } else { "" };
            let zeros = entry.iter().rev().take_while(|byte| **byte == 0).count();
            let numbers: Vec<String> =
                entry[..entry.len() - zeros].iter().map(u8::to_string).collect();
            text += &format!(
                "{visible}.global .align 1 .b8 _ZN3gpu4main14__PROFILER_SITE17h{index:016x}E[{}] = {{{}}};\n",
                entry.len(),
                numbers.join(", ")
            );
        }
        text + "mov.u64 %rd1, _ZN3gpu4main14__PROFILER_SITE17h0000000000000000E;\n"
    }

    fn sample() -> SyntheticModule {
        let mut module = SyntheticModule::new(Keep::First, 4);
        module.site(SiteKind::Kernel, "gemm");
        module.site_with_unit(SiteKind::Region, "load", "bytes");
        module.names("TASK", &["copy", "mma"]);
        module.site(SiteKind::Mark, "tick");
        module
    }

    #[test]
    fn reads_statics_with_omitted_zeros_and_with_and_without_visible() {
        let module = sample();
        let table = SiteTable::from_ptx(&ptx(module.entries())).expect("the PTX is whole");
        assert_eq!(table, module.sites().expect("the entries are whole"));
        assert_eq!(table.len(), 6);
        assert_eq!(table.kernels().map(|site| &*site.name).collect::<Vec<_>>(), ["gemm"]);
        let load = table.get(2).expect("id 2 was given");
        assert_eq!((load.name.as_str(), load.unit.as_deref()), ("load", Some("bytes")));
        assert_eq!((load.file.as_str(), load.line), ("src/kernel.rs", 2));
        assert!(!table.needs_lanes());
    }

    #[test]
    fn the_buffer_of_a_kernel_is_read_and_what_is_none_is_refused() {
        const ENTRY: SiteEntry<'static> =
            SiteEntry::new(SiteKind::Kernel, "gemm", "src/kernel.rs", "gpu", 1, 1);
        let encode = |buffer| SiteEntry { buffer, ..ENTRY }.encode::<{ ENTRY.encoded_len() }>();
        let [global, host] = Buffer::ALL.map(encode);
        let table = |bytes: &[u8]| SiteTable::from_entries([bytes]);
        assert!(!table(&global).expect("whole").needs_host_memory());
        let read = table(&host).expect("whole");
        assert!(read.needs_host_memory());
        assert_eq!(read.sites()[0].buffer, Buffer::Host);
        // Byte 5 holds both. Every other number is refused, by this version as by those before it.
        let accepted = (0..=u8::MAX).filter(|kind| {
            let mut bytes = global;
            bytes[5] = *kind;
            SiteEntry::parse(&bytes).is_ok()
        });
        assert_eq!(accepted.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 0x11]);
    }

    #[test]
    fn expands_a_list_and_names_what_is_beyond_it() {
        let table = sample().sites().expect("the entries are whole");
        let names: Vec<_> = (3..=5).filter_map(|id| table.get(id)).collect();
        assert_eq!(names[0].name, "copy");
        assert_eq!(names[1].name, "mma");
        assert_eq!(names[2].name, "TASK[out of range]");
        assert!(names.iter().all(|site| site.list.as_deref() == Some("TASK")));
        assert_eq!(table.get(6).map(|site| &*site.name), Some("tick"));
        assert_eq!((table.get(0), table.get(7)), (None, None));
    }

    #[test]
    fn merges_the_same_entry_twice() {
        let mut entries = sample().entries().to_vec();
        entries.extend(entries.clone());
        assert_eq!(SiteTable::from_ptx(&ptx(&entries)), sample().sites());
    }

    #[test]
    fn finds_sites_that_need_lanes() {
        let mut module = sample();
        let mut entry = SiteEntry::new(SiteKind::Region, "each", "a.rs", "m", 1, 1);
        entry.strategy = profiler_wire::Strategy::Thread.code();
        module.site_entry(&entry, &[]);
        assert!(module.sites().expect("the entries are whole").needs_lanes());
    }

    #[test]
    fn refuses_ids_that_clash_and_names_both_sites() {
        let mut entries = sample().entries().to_vec();
        // "tick" takes the id of the second name of the list.
        entries[3][ID_OFFSET..][..4].copy_from_slice(&4_u32.to_le_bytes());
        let error = SiteTable::from_ptx(&ptx(&entries)).expect_err("the ids clash").to_string();
        for part in
            ["\"TASK\" (src/kernel.rs:3:5)", "\"tick\" (src/kernel.rs:6:5)", "profiler-build"]
        {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn tells_no_kernel_from_switched_off() {
        let plain = ".version 7.8\n.target sm_80\n";
        let message = |text: &str| SiteTable::from_ptx(text).expect_err("no sites").to_string();
        assert!(message(plain).contains("either no kernel"));
        let off = format!("// profiler-build: wire=1 sites=0 enabled=false\n{plain}");
        assert!(message(&off).contains("built with profiling off"));
        let on = format!("// profiler-build: wire=1 sites=0 enabled=true\n{plain}");
        assert!(message(&on).contains("#[profiled]"));
        // A profiled kernel without a region still has the descriptor.
        assert!(SiteTable::from_ptx(&ptx(&[])).expect("a descriptor is there").is_empty());
    }

    #[test]
    fn refuses_damaged_entries() {
        let mut entries = sample().entries().to_vec();
        entries[0][6] = 0x77;
        assert!(matches!(
            SiteTable::from_ptx(&ptx(&entries)),
            Err(SiteTableError::Damaged { error }) if error.contains("strategy")
        ));
        let mut entries = sample().entries().to_vec();
        entries[0].truncate(60);
        assert!(matches!(SiteTable::from_ptx(&ptx(&entries)), Err(SiteTableError::Damaged { .. })));
        let text = ptx(sample().entries()).replacen("{80,", "{80, x,", 1);
        assert!(matches!(SiteTable::from_ptx(&text), Err(SiteTableError::Damaged { .. })));
    }

    #[test]
    fn an_array_that_only_looks_like_a_site_is_left_alone() {
        let text = ptx(&[vec![1, 2, 3]]) + "// __PROFILER_SITE[4] = {80, 83};\n";
        assert!(SiteTable::from_ptx(&text).expect("there is no site").is_empty());
        assert_eq!(MAGIC, [80, 83, 73, 84]);
    }

    #[test]
    fn a_huge_length_takes_no_memory() {
        let entries = sample().entries().to_vec();
        let text =
            ptx(&entries[..1]).replace(&format!("[{}]", entries[0].len()), "[99999999999999]");
        assert_eq!(SiteTable::from_ptx(&text).expect("the entry is whole").len(), 1);
    }

    proptest! {
        /// Any text, also within PTX, and PTX of which bytes are altered or cut off.
        #[test]
        fn any_text_is_read_without_panic(
            text in ".{0,200}",
            at in 0_usize..200,
            changes in prop::collection::vec((0_usize..4000, any::<u8>()), 0..8),
            cut in 100_usize..4000,
        ) {
            let _ = SiteTable::from_ptx(&text);
            let mut ptx = ptx(sample().entries());
            let at = (0..=at).rev().find(|at| ptx.is_char_boundary(*at)).unwrap_or(0);
            let mut bytes = ptx.clone().into_bytes();
            for (at, byte) in changes {
                let length = bytes.len();
                bytes[at % length] = byte;
            }
            bytes.truncate(cut);
            let _ = SiteTable::from_ptx(&String::from_utf8_lossy(&bytes));
            ptx.insert_str(at, &text);
            let _ = SiteTable::from_ptx(&ptx);
        }

        #[test]
        fn any_bytes_as_entry_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut entry = sample().entries()[2].clone();
            let _ = SiteTable::from_entries([bytes.as_slice()]);
            for (at, byte) in bytes.iter().enumerate() {
                if let Some(place) = entry.get_mut(at + 4) {
                    *place ^= byte & 3;
                }
            }
            let _ = SiteTable::from_entries([entry.as_slice()]);
        }
    }
}
