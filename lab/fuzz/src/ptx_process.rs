//! The text of a PTX module as a compiler wrote it, which `profiler-build` numbers and patches, and
//! which the host reads afterwards.

use std::fmt::Write;

use profiler_build::Ptx;
use profiler_trace::{Site, SiteTable};
use profiler_wire::SiteEntry;
use profiler_wire::site::{ID_OFFSET, KEY_OFFSET, MAGIC, fnv1a, hashed_id};
use profiler_wire::symbol::{BUILD_STAMP, SITE_MARKER};

use crate::check::MEMORY_FLOOR;
use crate::memory::within;
use crate::site_table;

/// Bytes that each byte of a module's text may take: an edit for each statement, and zeros that the
/// compiler leaves out.
const MEMORY_FACTOR: usize = 1024;

/// Processes the bytes as a text, and the site entries among them as those of a module.
///
/// # Panics
///
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    check_text(&String::from_utf8_lossy(bytes));
    let entries = entries(bytes);
    if !entries.is_empty() {
        check_text(&module(&entries));
    }
}

fn check_text(text: &str) {
    let memory = MEMORY_FLOOR + MEMORY_FACTOR * text.len();
    let out = match within(memory, || Ptx::process(text)) {
        Ok(out) => out,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let (stamp, rest) = out.split_once('\n').expect("a stamp");
    assert!(stamp.starts_with(BUILD_STAMP));
    assert!(rest.len() >= text.len() || SiteTable::from_ptx(text).is_ok_and(|it| !it.is_empty()));
    assert!(Ptx::process(&out).is_err(), "it is not numbered twice");
    // Who reads the module before and after sees the same sites, now with dense ids. The host may
    // refuse what the build step takes, but not begin to.
    let Ok(before) = SiteTable::from_ptx(text) else { return };
    let after = SiteTable::from_ptx(&out).expect("numbering makes no table unreadable");
    assert_eq!(content(&before), content(&after));
    assert!((1..).zip(after.sites()).all(|(id, site)| site.id == id), "{after:?}");
}

/// Sites without their ids, in an order that does not depend on them.
fn content(table: &SiteTable) -> Vec<String> {
    let unnumbered =
        table.sites().iter().map(|site| format!("{:?}", Site { id: 0, ..site.clone() }));
    let mut content: Vec<String> = unnumbered.collect();
    content.sort_unstable();
    content
}

/// Whatever begins like a site entry, with the key and the hashed id that its bytes have.
#[must_use]
pub fn entries(bytes: &[u8]) -> Vec<Vec<u8>> {
    let magics = bytes.windows(MAGIC.len()).enumerate().filter(|(_, window)| *window == MAGIC);
    let mut starts: Vec<usize> = magics.map(|(at, _)| at).collect();
    starts.push(bytes.len());
    let mut entries: Vec<Vec<u8>> =
        starts.windows(2).map(|entry| bytes[entry[0]..entry[1]].to_vec()).collect();
    entries.iter_mut().for_each(|entry| rehash(entry));
    entries
}

fn rehash(entry: &mut [u8]) {
    if entry.len() < ID_OFFSET + 4 {
        return;
    }
    entry[KEY_OFFSET..KEY_OFFSET + 8].fill(0);
    entry[ID_OFFSET..ID_OFFSET + 4].fill(0);
    let key = fnv1a(entry);
    entry[KEY_OFFSET..KEY_OFFSET + 8].copy_from_slice(&key.to_le_bytes());
    if let Some(ids) = SiteEntry::parse(entry).ok().map(|entry| entry.ids).filter(|ids| *ids > 0) {
        entry[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&hashed_id(key, ids).to_le_bytes());
    }
}

/// A module with these entries, a kernel for each that gives a symbol, and in it a barrier and an
/// instruction that uses the entry.
///
/// # Panics
///
/// Never: a string takes all.
#[must_use]
pub fn module(entries: &[Vec<u8>]) -> String {
    let borrowed: Vec<&[u8]> = entries.iter().map(Vec::as_slice).collect();
    let mut text = site_table::ptx(&borrowed);
    for entry in borrowed.iter().filter_map(|entry| SiteEntry::parse(entry).ok()) {
        let name = if entry.symbol.is_empty() { "kernel" } else { entry.symbol };
        let (key, id) = (entry.key, entry.id);
        write!(
            text,
            ".visible .entry {name}(\n\t.param .u64 p\n)\n{{\n\tmov.u32 %r1, {id}; // \
             {SITE_MARKER} {key}\n\tbar.sync 0;\n\tret;\n}}\n"
        )
        .expect("a string takes all");
    }
    text
}
