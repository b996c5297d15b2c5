//! The statics of site entries in the text of a PTX module.
//!
//! A static is `[linkage] .global .align 1 .b8 NAME[N] = {80, 83, ..};` (PTX ISA, "State Spaces,
//! Types, and Variables"). Its initializer may be shorter than N, the rest is zero.

use alloc::vec::Vec;
use core::ops::Range;

use crate::site::MAGIC;
use crate::symbol::SITE_STATIC;

/// Zeros that a compiler may leave out at the end of a site entry: a few empty strings. A text must
/// not be able to ask for any amount of memory.
pub const OMITTED_MAX: usize = 1 << 12;
/// Bytes among which the bracket after an array's length is looked for.
const LENGTH_TEXT_MAX: usize = 64;

/// A static that begins like a site entry.
#[derive(Clone, Debug)]
pub struct Static<'t> {
    /// Its symbol.
    pub symbol: &'t str,
    /// The length that the text gives, at least that of `bytes`.
    pub length: usize,
    /// The bytes of its initializer.
    pub bytes: Vec<u8>,
    /// The place of these in the text, without the braces.
    pub values: Range<usize>,
}

/// All statics of site entries, in the order of the text; any text will do.
///
/// # Errors
///
/// The symbol of the first static whose initializer is damaged, and what is wrong with it.
pub fn find(text: &str) -> Result<Vec<Static<'_>>, (&str, &'static str)> {
    let mut statics = Vec::new();
    let mut resume = 0;
    for (at, _) in text.match_indices(SITE_STATIC) {
        if at < resume {
            continue;
        }
        let name = identifier(text, at);
        resume = name.end;
        let symbol = &text[name.clone()];
        // Elsewhere it is used.
        let before = text[..name.start].trim_end();
        if !before.ends_with(".b8") && !before.ends_with(".u8") {
            continue;
        }
        let Some((length, rest)) = array(&text[name.end..]) else { continue };
        let start = text.len() - rest.len();
        let end = rest.find('}').ok_or((symbol, "its initializer has no end"))?;
        resume = start + end;
        let list = &rest[..end];
        let is_empty = list.trim().is_empty();
        let numbers = list.split(',').filter(|_| !is_empty);
        let bytes: Option<Vec<u8>> = numbers.map(|number| byte(number.trim())).collect();
        let bytes = bytes.ok_or((symbol, "a value of its initializer is not a byte"))?;
        // A user's variable may have such a name.
        if !bytes.starts_with(&MAGIC) {
            continue;
        }
        let length = length.trim().parse().ok().filter(|length| *length >= bytes.len());
        let length = length.ok_or((symbol, "its length is not that of its initializer"))?;
        statics.push(Static { symbol, length, bytes, values: start..resume });
    }
    Ok(statics)
}

/// The whole identifier around a place inside it (PTX ISA, "Identifiers"; LLVM may leave a dot).
#[must_use]
pub fn identifier(text: &str, at: usize) -> Range<usize> {
    let part =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.');
    let bytes = text.as_bytes();
    let before = bytes[..at].iter().rev().take_while(|byte| part(byte)).count();
    let after = bytes[at..].iter().take_while(|byte| part(byte)).count();
    at - before..at + after
}

/// Of `[N] = {` the N, and the text after it.
fn array(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('[')?;
    // No farther: a text of nothing but begun arrays is not to be searched for each of them.
    let bracket = rest.bytes().take(LENGTH_TEXT_MAX).position(|byte| byte == b']')?;
    let after = rest[bracket + 1..].trim_start().strip_prefix('=')?;
    Some((&rest[..bracket], after.trim_start().strip_prefix('{')?))
}

/// A byte of an initializer: decimal or hexadecimal, and possibly written as a signed number.
fn byte(text: &str) -> Option<u8> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u8::from_str_radix(digits, 16).ok();
    }
    let number: i16 = text.parse().ok()?;
    u8::try_from(number).ok().or_else(|| i8::try_from(number).ok().map(i8::cast_unsigned))
}
