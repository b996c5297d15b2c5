//! Numbers the sites of a module in its PTX text.

mod barriers;
mod entries;
mod statics;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use profiler_wire::record::SITE_MAX;
use profiler_wire::site::{SiteEntry, SiteKind};
use profiler_wire::{WIRE_VERSION, symbol};

use crate::LaunchBounds;
use crate::error::ProcessError;
use crate::selection::Annotations;
use statics::Static;

/// Processed PTX, and what its stamp says.
pub(crate) struct Processed {
    pub(crate) text: String,
    pub(crate) sites: usize,
    pub(crate) annotations: Annotations,
    pub(crate) launch_bounds: Vec<(String, LaunchBounds)>,
}

/// A replacement of a range of the text.
type Edit = (Range<usize>, String);

/// A site of the module, once, however many statics hold it.
struct Site<'a> {
    entry: SiteEntry<'a>,
    /// The id in records: dense, from 1.
    id: u32,
}

impl Site<'_> {
    /// How an error names the site.
    fn describe(&self) -> String {
        describe(&self.entry)
    }
}

fn describe(entry: &SiteEntry<'_>) -> String {
    let SiteEntry { kind, name, file, line, column, .. } = entry;
    format!("the {} \"{name}\" ({file}:{line}:{column})", format!("{kind:?}").to_lowercase())
}

/// See [`crate::Ptx::process`]; `bounds` are launch bounds of kernels besides those of their sites.
pub(crate) fn process(
    text: &str,
    bounds: &[(String, LaunchBounds)],
) -> Result<Processed, ProcessError> {
    if text.starts_with(symbol::BUILD_STAMP) {
        return Err(ProcessError::AlreadyProcessed);
    }
    let statics = statics::find(text)?;
    let sites = number(&statics)?;
    let mut edits = Vec::new();
    for found in &statics {
        let site = &sites[&found.entry()?.key];
        edits.push((found.values.clone(), found.numbered(site.id)));
    }
    mark(text, &sites, &mut edits)?;
    let bounded: Vec<SiteEntry<'_>> = bounds.iter().map(entry_with_bounds).collect();
    let entries = sites.values().map(|site| &site.entry).chain(&bounded);
    entries::write_launch_bounds(text, entries, &mut edits)?;
    let enabled = !statics.is_empty() || text.contains(symbol::DESCRIPTOR_PREFIX);
    if enabled {
        barriers::complete(text, &mut edits);
    }
    let mut out = String::with_capacity(text.len() + 128);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{} wire={WIRE_VERSION} sites={} enabled={enabled}",
        symbol::BUILD_STAMP,
        sites.len()
    );
    apply(text, edits, &mut out);
    let mut in_order: Vec<&Site<'_>> = sites.values().collect();
    in_order.sort_by_key(|site| site.id);
    let in_order: Vec<&SiteEntry<'_>> = in_order.iter().map(|site| &site.entry).collect();
    Ok(Processed {
        text: out,
        sites: sites.len(),
        launch_bounds: in_order.iter().filter_map(|entry| bounds_of_entry(entry)).collect(),
        annotations: Annotations::of(&in_order),
    })
}

/// Stands for the entry of a kernel whose bounds the build script gives.
fn entry_with_bounds((kernel, bounds): &(String, LaunchBounds)) -> SiteEntry<'_> {
    let mut entry = SiteEntry::new(SiteKind::Kernel, kernel, "the build script", "", 0, 0);
    entry.symbol = kernel;
    entry.max_threads = bounds.max_threads;
    entry.min_blocks = bounds.min_blocks;
    entry.max_registers = bounds.max_registers;
    entry
}

/// The bounds that a kernel's annotation gives, if it gives any.
fn bounds_of_entry(entry: &SiteEntry<'_>) -> Option<(String, LaunchBounds)> {
    let &SiteEntry { max_threads, min_blocks, max_registers, .. } = entry;
    let bounds = LaunchBounds { max_threads, min_blocks, max_registers };
    (bounds != LaunchBounds::default()).then(|| (entry.symbol.to_owned(), bounds))
}

/// Gives each site its id, in the order of the source: file, line, column.
fn number(statics: &[Static]) -> Result<HashMap<u64, Site<'_>>, ProcessError> {
    let mut distinct: HashMap<u64, (SiteEntry<'_>, &[u8])> = HashMap::new();
    for found in statics {
        let entry = found.entry()?;
        let (first, bytes) = *distinct.entry(entry.key).or_insert((entry, &found.bytes));
        // Equal entries are one site: a generic or inlined function may leave several copies, and
        // two expansions of one macro_rules! share their place in the source.
        if bytes != found.bytes {
            return Err(ProcessError::KeyClash {
                first: describe(&first),
                second: describe(&entry),
            });
        }
    }
    let ids: u64 = distinct.values().map(|(entry, _)| u64::from(entry.ids)).sum();
    if ids > u64::from(SITE_MAX) {
        return Err(ProcessError::TooManySites { ids });
    }
    let mut entries: Vec<SiteEntry<'_>> = distinct.into_values().map(|(entry, _)| entry).collect();
    entries.sort_by_key(|entry| (entry.file, entry.line, entry.column, entry.key));
    let mut next = 1;
    let mut sites = HashMap::with_capacity(entries.len());
    for entry in entries {
        sites.insert(entry.key, Site { entry, id: next });
        next += entry.ids;
    }
    Ok(sites)
}

/// Replaces the immediate of each marked instruction.
fn mark(
    text: &str,
    sites: &HashMap<u64, Site<'_>>,
    edits: &mut Vec<Edit>,
) -> Result<(), ProcessError> {
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        let at = start;
        start += line.len() + 1;
        let Some((code, comment)) = line.split_once("//") else { continue };
        let Some(key) = comment.trim_start().strip_prefix(symbol::SITE_MARKER) else { continue };
        let malformed =
            || ProcessError::MalformedMarker { line: index + 1, text: line.trim().to_owned() };
        let key: u64 = key.trim().parse().map_err(|_| malformed())?;
        let operands = code.trim_end().strip_suffix(';').ok_or_else(malformed)?.trim_end();
        let immediate = operands.rsplit([',', ' ', '\t']).next().unwrap_or_default();
        let found: u32 = immediate.parse().map_err(|_| malformed())?;
        let site = sites.get(&key).ok_or(ProcessError::MissingSite { line: index + 1, key })?;
        if found != site.entry.id {
            return Err(ProcessError::WrongId {
                line: index + 1,
                site: site.describe(),
                found,
                expected: site.entry.id,
            });
        }
        let end = at + operands.len();
        edits.push((end - immediate.len()..end, site.id.to_string()));
    }
    Ok(())
}

/// Writes `text` with the edits, which do not overlap, behind `out`.
fn apply(text: &str, mut edits: Vec<Edit>, out: &mut String) {
    edits.sort_by_key(|(range, _)| range.start);
    let mut at = 0;
    for (range, replacement) in edits {
        out.push_str(&text[at..range.start]);
        out.push_str(&replacement);
        at = range.end;
    }
    out.push_str(&text[at..]);
}

/// Raises the version in the module's `.version` line to `version` (71 for 7.1), unless it is that or
/// newer. The compiler writes the oldest version that its own instructions need; those written in
/// `asm!` are not looked at.
pub(crate) fn raise_version(text: String, version: u32) -> String {
    const DIRECTIVE: &str = ".version ";
    let found = text.lines().find_map(|line| line.strip_prefix(DIRECTIVE));
    let Some((major, minor)) = found.and_then(|found| found.trim_end().split_once('.')) else {
        return text;
    };
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), Ok(minor)) if 10 * major + minor < version => text.replacen(
            &format!("{DIRECTIVE}{major}.{minor}"),
            &format!("{DIRECTIVE}{}.{}", version / 10, version % 10),
            1,
        ),
        _ => text,
    }
}

#[cfg(test)]
mod tests;
