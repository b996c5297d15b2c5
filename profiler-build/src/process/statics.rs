//! Finds site entries among the variables of a module.
//!
//! A variable is `[linkage] .global .align 1 .b8 NAME[N] = {80, 83, ..};` (PTX ISA, "State Spaces,
//! Types, and Variables"); an initialiser may be shorter than N, the rest is zero.

use std::ops::Range;

use profiler_wire::site::{
    FIXED_BYTES, ID_OFFSET, KEY_OFFSET, MAGIC, SiteEntry, SiteKind, fnv1a, hashed_id,
};
use profiler_wire::symbol;

use crate::error::Error;

/// Zeros that the compiler may have left out at the end of a site entry: a few empty strings. A text
/// must not be able to ask for any amount of memory.
const OMITTED_MAX: usize = 1 << 12;
/// Bytes among which the bracket after an array's length is looked for.
const LENGTH_TEXT_MAX: usize = 64;

/// A static that holds a site entry, checked.
pub(super) struct Static {
    /// Its symbol.
    pub(super) symbol: String,
    /// All its bytes, omitted zeros included.
    pub(super) bytes: Vec<u8>,
    /// The place of its values in the text, without the braces.
    pub(super) values: Range<usize>,
}

impl Static {
    /// The site entry.
    pub(super) fn entry(&self) -> Result<SiteEntry<'_>, Error> {
        SiteEntry::parse(&self.bytes).map_err(|source| {
            Error::new(format!(
                "the static {}: {source}; build the device crate with this version of the profiler",
                self.symbol
            ))
        })
    }

    /// The values with the id written into them.
    pub(super) fn numbered(&self, id: u32) -> String {
        let mut bytes = self.bytes.clone();
        bytes[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&id.to_le_bytes());
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let values: Vec<String> = bytes[..used].iter().map(u8::to_string).collect();
        values.join(", ")
    }

    /// Checks the entry's own key, id and number of names.
    fn check(self) -> Result<Self, Error> {
        let entry = self.entry()?;
        let mut unkeyed = self.bytes.clone();
        unkeyed[KEY_OFFSET..KEY_OFFSET + 8].fill(0);
        unkeyed[ID_OFFSET..ID_OFFSET + 4].fill(0);
        let names = entry.names.len();
        let reason = if fnv1a(&unkeyed) != entry.key {
            "its key is not the hash of its bytes"
        } else if entry.id != hashed_id(entry.key, entry.ids) {
            "its id is not the hashed one"
        } else if (entry.kind == SiteKind::Names || names > 0) && entry.ids as usize <= names {
            "it has more names than ids"
        } else {
            return Ok(self);
        };
        Err(damaged(&self.symbol, reason))
    }
}

/// The error of an entry whose bytes do not agree with themselves.
fn damaged(symbol: &str, reason: &str) -> Error {
    Error::new(format!(
        "the site entry in the static {symbol} is damaged: {reason}; rebuild the device crate"
    ))
}

/// All site entries of the module, in the order of the text.
pub(super) fn find(text: &str) -> Result<Vec<Static>, Error> {
    let mut statics = Vec::new();
    let mut resume = 0;
    for (at, fragment) in text.match_indices(symbol::SITE_STATIC) {
        if at < resume {
            continue;
        }
        let start = text[..at]
            .rfind(|c| !is_symbol(c))
            .map_or(0, |before| before + text[before..].chars().next().map_or(1, char::len_utf8));
        let after = at + fragment.len();
        let end = text[after..].find(|c| !is_symbol(c)).map_or(text.len(), |length| after + length);
        resume = end;
        let symbol = &text[start..end];
        let damaged = |reason| damaged(symbol, reason);
        if !text[..start].trim_end().ends_with(".b8") {
            continue;
        }
        let Some((length, rest)) = length(&text[end..]) else { continue };
        let Some(rest) = initialiser(rest) else { continue };
        let values_start = text.len() - rest.len();
        let values =
            &rest[..rest.find('}').ok_or_else(|| damaged("its initialiser has no end"))?];
        resume = values_start + values.len();
        let mut bytes = Vec::new();
        for value in values.split(',') {
            let value = value.trim();
            if value.is_empty() && values.trim().is_empty() {
                break;
            }
            bytes.push(value.parse().map_err(|_| damaged("a value is not a byte"))?);
        }
        // A user's variable may have such a name; only the magic makes it ours.
        if !bytes.starts_with(&MAGIC) {
            continue;
        }
        let omitted = length.checked_sub(bytes.len());
        if omitted.is_none_or(|zeros| zeros > OMITTED_MAX) || length < FIXED_BYTES {
            return Err(damaged("its length cannot be that of a site entry"));
        }
        bytes.resize(length, 0);
        let found = Static { symbol: symbol.to_owned(), bytes, values: values_start..resume };
        statics.push(found.check()?);
    }
    Ok(statics)
}

/// Characters of a PTX identifier (PTX ISA, "Identifiers"), and the dot that LLVM may leave.
fn is_symbol(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')
}

/// Parses `[N]`; returns N and the text after it.
fn length(text: &str) -> Option<(usize, &str)> {
    let rest = text.trim_start().strip_prefix('[')?;
    // No farther: a text of nothing but begun arrays is not to be searched for each of them.
    let bracket = rest.bytes().take(LENGTH_TEXT_MAX).position(|byte| byte == b']')?;
    Some((rest[..bracket].trim().parse().ok()?, &rest[bracket + 1..]))
}

/// The text after `= {`.
fn initialiser(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('=')?.trim_start().strip_prefix('{')
}
