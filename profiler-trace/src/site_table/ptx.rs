//! Finds site entries, the descriptor and the build stamp in the text of a PTX module.

use std::collections::BTreeSet;

use profiler_wire::site::MAGIC;
use profiler_wire::symbol::{BUILD_STAMP, DESCRIPTOR, DESCRIPTOR_PREFIX, SITE_MARKER, SITE_STATIC};

use super::SiteTableError;

/// Trailing zeros that are put back at most: entries end in at most a few empty strings, and the
/// text must not be able to ask for any amount of memory.
const PADDING_MAX: usize = 1 << 12;
/// Bytes among which the bracket after an array's length is looked for.
const LENGTH_TEXT_MAX: usize = 64;

/// The parts of a PTX module that are about profiling.
#[derive(Debug, Default)]
pub(super) struct PtxModule {
    /// Bytes of the statics that begin like a site entry.
    pub entries: Vec<Vec<u8>>,
    /// Whether the descriptor of this wire version is there.
    pub has_descriptor: bool,
    /// The version of another descriptor, as its name has it.
    pub other_version: Option<String>,
    /// The text after [`BUILD_STAMP`].
    pub stamp: Option<String>,
    /// The ids in marked instructions, for each kernel of the module.
    pub ids_of_entries: Vec<BTreeSet<u32>>,
}

/// Reads a module's text; any text will do.
pub(super) fn scan(ptx: &str) -> Result<PtxModule, SiteTableError> {
    let mut module = PtxModule {
        stamp: ptx
            .lines()
            .take_while(|line| line.trim_start().starts_with("//") || line.trim().is_empty())
            .find_map(|line| line.trim_start().strip_prefix(BUILD_STAMP))
            .map(|stamp| stamp.trim().to_owned()),
        ..PtxModule::default()
    };
    let mut done = 0;
    for (at, _) in ptx.match_indices(SITE_STATIC) {
        if at < done {
            continue;
        }
        let name = identifier(ptx, at);
        done = name.end;
        if !is_byte_array(&ptx[..name.start]) {
            continue;
        }
        match initializer(&ptx[name.end..]) {
            Initializer::None => {}
            Initializer::Bytes(bytes) if bytes.starts_with(&MAGIC) => module.entries.push(bytes),
            Initializer::Bytes(_) => {}
            Initializer::Damaged => {
                return Err(SiteTableError::Damaged {
                    error: format!("the initializer of {} is no list of bytes", &ptx[name]),
                });
            }
        }
    }
    module.ids_of_entries = ids_of_entries(ptx);
    let mut done = 0;
    for (at, _) in ptx.match_indices(DESCRIPTOR_PREFIX) {
        if at < done {
            continue;
        }
        let name = identifier(ptx, at);
        done = name.end;
        if name.start != at {
            continue;
        }
        if &ptx[name.clone()] == DESCRIPTOR {
            module.has_descriptor = true;
            break;
        }
        let version = &ptx[at + DESCRIPTOR_PREFIX.len()..name.end];
        if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) {
            module.other_version.get_or_insert_with(|| version.to_owned());
        }
    }
    Ok(module)
}

/// The ids in marked instructions, kernel by kernel. Those of functions that are called are in none.
fn ids_of_entries(ptx: &str) -> Vec<BTreeSet<u32>> {
    let mut entries = Vec::new();
    let mut is_in_entry = false;
    for line in ptx.lines() {
        let line = line.trim();
        if line.starts_with('.') && line.contains(".entry ") {
            is_in_entry = true;
            entries.push(BTreeSet::new());
        } else if line.starts_with('.') && line.contains(".func ") {
            is_in_entry = false;
        } else if let Some((code, comment)) = line.split_once("//")
            && comment.trim_start().starts_with(SITE_MARKER)
            && is_in_entry
            && let Some(entry) = entries.last_mut()
        {
            let immediate = code.trim_end().trim_end_matches(';').rsplit([',', ' ', '\t']).next();
            entry.extend(immediate.and_then(|id| id.parse::<u32>().ok()));
        }
    }
    entries
}

/// The whole identifier around a place inside it.
fn identifier(ptx: &str, at: usize) -> std::ops::Range<usize> {
    let part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
    let bytes = ptx.as_bytes();
    let before = bytes[..at].iter().rev().take_while(|byte| part(byte)).count();
    let after = bytes[at..].iter().take_while(|byte| part(byte)).count();
    at - before..at + after
}

/// Whether the text before a name declares an array of bytes (`.global .align 1 .b8 NAME`); the
/// name's other occurrences are uses.
fn is_byte_array(before: &str) -> bool {
    let before = before.trim_end();
    before.ends_with(".b8") || before.ends_with(".u8")
}

enum Initializer {
    None,
    Bytes(Vec<u8>),
    Damaged,
}

/// Reads `[N] = {80, 83, ..}` after a name. Zeros at the end, which PTX omits, are put back.
fn initializer(after: &str) -> Initializer {
    let Some(rest) = after.trim_start().strip_prefix('[') else { return Initializer::None };
    // No farther: a text of nothing but begun arrays is not to be searched for each of them.
    let bracket = rest.bytes().take(LENGTH_TEXT_MAX).position(|byte| byte == b']');
    let Some(bracket) = bracket else { return Initializer::None };
    let (length, rest) = (&rest[..bracket], &rest[bracket + 1..]);
    let Some(rest) = rest.trim_start().strip_prefix('=') else { return Initializer::None };
    let Some(rest) = rest.trim_start().strip_prefix('{') else { return Initializer::None };
    let Some((list, _)) = rest.split_once('}') else { return Initializer::Damaged };
    let mut bytes = Vec::with_capacity(list.len() / 4);
    if !list.trim().is_empty() {
        for number in list.split(',') {
            match byte(number.trim()) {
                Some(byte) => bytes.push(byte),
                None => return Initializer::Damaged,
            }
        }
    }
    let Ok(length) = length.trim().parse::<usize>() else { return Initializer::Damaged };
    if length < bytes.len() {
        return Initializer::Damaged;
    }
    bytes.resize(length.min(bytes.len() + PADDING_MAX), 0);
    Initializer::Bytes(bytes)
}

/// A byte of an initializer: decimal or hexadecimal, and possibly written as a signed number.
fn byte(text: &str) -> Option<u8> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u8::from_str_radix(digits, 16).ok();
    }
    let number: i16 = text.parse().ok()?;
    u8::try_from(number).ok().or_else(|| i8::try_from(number).ok().map(i8::cast_unsigned))
}
