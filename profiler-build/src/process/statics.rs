//! The site entries among the variables of a module.

use std::ops::Range;

use profiler_wire::site::{
    FIXED_BYTES, ID_OFFSET, KEY_OFFSET, SiteEntry, SiteKind, fnv1a, hashed_id,
};
use profiler_wire::statics::{self, OMITTED_MAX};

use crate::error::Error;

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
    let damaged = |(symbol, reason): (&str, &'static str)| damaged(symbol, reason);
    let checked = |found: statics::Static<'_>| {
        let statics::Static { symbol, length, mut bytes, values } = found;
        if length > bytes.len() + OMITTED_MAX || length < FIXED_BYTES {
            return Err(damaged((symbol, "its length cannot be that of a site entry")));
        }
        bytes.resize(length, 0);
        Static { symbol: symbol.to_owned(), bytes, values }.check()
    };
    statics::find(text).map_err(damaged)?.into_iter().map(checked).collect()
}
