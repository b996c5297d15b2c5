//! Numbers the sites of a module in its PTX text.

mod barriers;
mod copies;
mod entries;
mod externs;
mod statics;
mod version;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use profiler_wire::record::SITE_MAX;
use profiler_wire::site::{SiteEntry, SiteKind};
use profiler_wire::{WIRE_VERSION, symbol};

use crate::LaunchBounds;
use crate::error::Error;
use profiler_ptx::syntax::Module;
use statics::Static;

/// Processed PTX, and the facts in its stamp.
pub(crate) struct Processed {
    pub(crate) text: String,
    pub(crate) sites: usize,
    pub(crate) launch_bounds: Vec<(String, LaunchBounds)>,
    /// Warnings for its author, one line each.
    pub(crate) warnings: Vec<String>,
}

/// A replacement of a range of the text.
type Edit = (Range<usize>, String);

/// A site of the module, once, however many statics hold it.
struct Site<'a> {
    entry: SiteEntry<'a>,
    /// The id in records: dense, from 1.
    id: u32,
}

/// The site's name in errors.
fn describe(entry: &SiteEntry<'_>) -> String {
    let SiteEntry { kind, name, file, line, column, .. } = entry;
    format!("the {} \"{name}\" ({file}:{line}:{column})", format!("{kind:?}").to_lowercase())
}

/// See [`crate::Ptx::process`]; `bounds` are launch bounds of kernels besides those of their sites.
pub(crate) fn process(text: &str, bounds: &[(String, LaunchBounds)]) -> Result<Processed, Error> {
    if text.starts_with(symbol::BUILD_STAMP) {
        let message = "its sites are numbered already; give the text as the compiler wrote it";
        return Err(Error::new(message.to_owned()));
    }
    let statics = statics::find(text)?;
    let sites = number(&statics)?;
    let mut edits = Vec::new();
    for found in &statics {
        let site = &sites[&found.entry()?.key];
        edits.push((found.values.clone(), found.numbered(site.id)));
    }
    let module = Module::parse(text);
    let marked = mark(&module, &sites, &mut edits)?;
    externs::check(&module)?;
    let bounded: Vec<SiteEntry<'_>> = bounds.iter().map(entry_with_bounds).collect();
    let entries = sites.values().map(|site| &site.entry).chain(&bounded);
    entries::write_launch_bounds(&module, entries, &mut edits)?;
    let enabled = !statics.is_empty() || text.contains(symbol::DESCRIPTOR_PREFIX);
    if enabled {
        barriers::complete(&module, &mut edits);
        copies::join(&module, &marked, &mut edits)?;
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
    Ok(Processed {
        text: out,
        sites: sites.len(),
        launch_bounds: in_order.iter().filter_map(|site| bounds_of_entry(&site.entry)).collect(),
        warnings: warnings(&module, &marked),
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
fn number(statics: &[Static]) -> Result<HashMap<u64, Site<'_>>, Error> {
    let mut distinct: HashMap<u64, (SiteEntry<'_>, &[u8])> = HashMap::new();
    for found in statics {
        let entry = found.entry()?;
        let (first, bytes) = *distinct.entry(entry.key).or_insert((entry, &found.bytes));
        // Equal entries are one site: a generic or inlined function may leave several copies, and
        // two expansions of one macro_rules! share their place in the source.
        if bytes != found.bytes {
            let (first, second) = (describe(&first), describe(&entry));
            return Err(Error::new(format!(
                "{first} and {second} have the same 64-bit key; rename one of them"
            )));
        }
    }
    let ids: u64 = distinct.values().map(|(entry, _)| u64::from(entry.ids)).sum();
    if ids > u64::from(SITE_MAX) {
        return Err(Error::new(format!(
            "the module has sites with {ids} ids in all, and a record holds ids up to {SITE_MAX}; split \
             the module or shorten its name lists"
        )));
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

/// An instruction that holds a site's id.
struct Marked {
    /// The number of its statement.
    statement: usize,
    /// The site's.
    kind: SiteKind,
}

/// Replaces the immediate of each marked instruction; gives these in the order of the text.
fn mark(
    module: &Module<'_>,
    sites: &HashMap<u64, Site<'_>>,
    edits: &mut Vec<Edit>,
) -> Result<Vec<Marked>, Error> {
    let mut marked = Vec::new();
    for (at, marker) in module.text.match_indices(symbol::SITE_MARKER) {
        let before = module.text[..at].trim_end_matches([' ', '\t']);
        if !before.ends_with("//") {
            continue;
        }
        let line = || module.line(at).0;
        let malformed = || {
            let (line, text) = module.line(at);
            Error::new(format!(
                "line {line} has a site marker that does not follow an instruction whose last operand is a \
                 decimal number: `{text}`; build the device crate with this version of the profiler"
            ))
        };
        let key = module.text[at + marker.len()..].lines().next().unwrap_or_default();
        let key: u64 = key.trim().parse().map_err(|_| malformed())?;
        let next = module.statements.partition_point(|statement| statement.at < at);
        let statement = next.checked_sub(1).ok_or_else(malformed)?;
        let code = &module.statements[statement];
        let between = before.get(code.end()..before.len() - 2);
        let is_after = between.is_some_and(|gap| gap.chars().all(|c| c == ' ' || c == '\t'));
        if !is_after || !code.text.ends_with(';') {
            return Err(malformed());
        }
        let immediate = code.tokens().filter(|token| token.text != ";").last();
        let immediate = immediate.ok_or_else(malformed)?;
        let found: u32 = immediate.text.parse().map_err(|_| malformed())?;
        let site = sites.get(&key).ok_or_else(|| {
            Error::new(format!(
                "line {} uses the site with key {key}, whose entry is not in the module; build the \
                 device crate through profiler_build::Kernels, with one version of the profiler",
                line()
            ))
        })?;
        if found != site.entry.id {
            return Err(Error::new(format!(
                "line {} uses {} with the id {found} where its entry has {}; build the \
                 device crate with one version of the profiler",
                line(),
                describe(&site.entry),
                site.entry.id
            )));
        }
        edits.push((immediate.at..immediate.end(), site.id.to_string()));
        marked.push(Marked { statement, kind: site.entry.kind });
    }
    Ok(marked)
}

/// Warnings about functions that record and are no kernels.
fn warnings(module: &Module<'_>, marked: &[Marked]) -> Vec<String> {
    let mut names: Vec<String> = marked
        .iter()
        .filter_map(|marked| module.function_of(marked.statement))
        .filter(|function| !function.is_kernel)
        .map(|function| demangled(function.name))
        .collect();
    names.dedup();
    let warning = |name| {
        format!(
            "the function `{name}` records and is not inlined: its recorder goes through memory, and \
             the kernels that call it take more registers and a stack, also without a session; give \
             it `#[inline(always)]`, or `#[profiled]`, which makes it inline and a region"
        )
    };
    names.into_iter().map(warning).collect()
}

/// A symbol as the source has it.
fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

/// Appends `text` with the edits to `out`. If two overlap, the first counts.
fn apply(text: &str, mut edits: Vec<Edit>, out: &mut String) {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut at = 0;
    for (range, replacement) in edits {
        let Some(kept) = text.get(at..range.start) else { continue };
        out.push_str(kept);
        out.push_str(&replacement);
        at = range.end;
    }
    out.push_str(&text[at..]);
}

/// Raises the version in the module's `.version` line to `version` (71 for 7.1) and to what its instructions need,
/// unless it is that or newer.
pub(crate) fn raise_version(text: String, version: u32) -> String {
    const DIRECTIVE: &str = ".version ";
    let version = version.max(version::needed(&Module::parse(&text)));
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
