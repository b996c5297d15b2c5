//! The site table: entries in the text of a PTX module, and entries by themselves.

use std::fmt::Write;

use profiler_trace::{Capture, ModuleCapture, SiteTable, SiteTableError};
use profiler_wire::SiteEntry;
use profiler_wire::site::MAGIC;
use profiler_wire::symbol::SITE_STATIC;

use crate::check::MEMORY_FLOOR;
use crate::memory::within;

/// Bytes that each byte of a module's text may take.
const MEMORY_FACTOR: usize = 512;

/// Reads the bytes as the text of a module, and as entries one after the other.
///
/// # Panics
///
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    let memory = MEMORY_FLOOR + MEMORY_FACTOR * bytes.len();
    let text = String::from_utf8_lossy(bytes);
    check_result(within(memory, || SiteTable::from_ptx(&text)));

    let mut starts: Vec<usize> = bytes
        .windows(MAGIC.len())
        .enumerate()
        .filter(|(_, window)| *window == MAGIC)
        .map(|(at, _)| at)
        .collect();
    starts.push(bytes.len());
    let entries: Vec<&[u8]> = starts.windows(2).map(|entry| &bytes[entry[0]..entry[1]]).collect();
    for entry in &entries {
        match SiteEntry::parse(entry) {
            Ok(entry) => assert_eq!(entry.names.iter().count(), entry.names.len()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    let table = within(memory, || SiteTable::from_entries(entries.iter().copied()));
    if !entries.is_empty() {
        let in_text = SiteTable::from_ptx(&ptx(&entries));
        assert_eq!(in_text, table, "the text of a module says the same as its entries");
    }
    check_result(table);
}

fn check_result(table: Result<SiteTable, SiteTableError>) {
    let table = match table {
        Ok(table) => table,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(table.sites().is_sorted_by(|left, right| left.id < right.id));
    for (index, site) in table.sites().iter().enumerate() {
        assert_eq!(table.index_of(site.id), Some(index));
    }
    let capture = Capture {
        modules: vec![ModuleCapture { sites: table, ..ModuleCapture::default() }],
        ..Capture::default()
    };
    let mut file = Vec::new();
    capture.write_to(&mut file).expect("a vector takes all");
    let again = Capture::read_from(file.as_slice()).expect("it was just written");
    assert_eq!(again, capture);
}

/// A module with these entries, as a compiler writes them: zeros at the end are left out.
///
/// # Panics
///
/// Never: a string takes all.
#[must_use]
pub fn ptx(entries: &[&[u8]]) -> String {
    let mut text = String::from(".version 8.0\n");
    for (index, entry) in entries.iter().enumerate() {
        let zeros = entry.iter().rev().take_while(|byte| **byte == 0).count();
        let numbers: Vec<String> = entry[..entry.len() - zeros].iter().map(u8::to_string).collect();
        let (length, numbers) = (entry.len(), numbers.join(", "));
        let name = format!("_ZN3gpu4main{}{SITE_STATIC}17h{index:016x}E", SITE_STATIC.len());
        writeln!(text, ".global .align 1 .b8 {name}[{length}] = {{{numbers}}};")
            .expect("a string takes all");
    }
    text
}
