//! Text from a capture, made fit for a terminal, or for Markdown.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

/// Text from a capture as it may be printed: on one line, and without power over the terminal.
///
/// Names come from whoever wrote the capture. Control characters, with which escape sequences begin,
/// and the characters by which Unicode turns the direction of text, become spaces.
///
/// ```
/// assert_eq!(profiler_trace::printable("load\x1b[2J"), "load [2J");
/// assert_eq!(profiler_trace::printable("größer"), "größer");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(steers) { text.replace(steers, " ").into() } else { text.into() }
}

/// Text from a capture as it may be [printed](printable), cut after so many columns of a terminal.
///
/// Of what follows, `…` is left. A character takes two columns where terminals draw it so, as those of
/// Chinese and emoji; one that takes none, such as an accent of its own, counts as one, so that no text is
/// of any length.
///
/// ```
/// assert_eq!(profiler_trace::shortened("größer", 4), "größ…");
/// assert_eq!(profiler_trace::shortened("載入資料", 5), "載入…");
/// assert_eq!(profiler_trace::shortened("載入資料", 8), "載入資料");
/// ```
#[must_use]
pub fn shortened(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let kept = text.find(|character| {
        taken += columns_of(character);
        taken > columns
    });
    match kept {
        Some(end) => format!("{}…", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// Text as it may be printed within so many columns of a terminal: `…` is left of its middle, as names often
/// differ at their ends.
#[must_use]
pub fn shortened_within(text: &str, columns: usize) -> String {
    if text.chars().map(columns_of).sum::<usize>() <= columns {
        return printable(text).into_owned();
    }
    let of_text = columns.saturating_sub(1);
    let of_end = of_text / 3;
    let begin = shortened(text, of_text - of_end);
    let end = shortened_to_end(text, of_end);
    format!("{begin}{}", end.trim_start_matches('…'))
}

/// The same of the end of a text: `…` is left of what is before.
pub(crate) fn shortened_to_end(text: &str, columns: usize) -> String {
    let mut taken = 0;
    let cut = text.char_indices().rev().find(|(_, character)| {
        taken += columns_of(*character);
        taken > columns
    });
    match cut {
        Some((at, character)) => format!("…{}", printable(&text[at + character.len_utf8()..])),
        None => printable(text).into_owned(),
    }
}

/// How many columns of a terminal a character takes, one at least.
fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1).max(1)
}

/// Text as it stands in Markdown, where some characters would have a meaning.
///
/// ```
/// assert_eq!(profiler_trace::markdown("sum<T>|load_a"), r"sum\<T\>\|load\_a");
/// ```
#[must_use]
pub fn markdown(text: &str) -> Cow<'_, str> {
    const MEANING: &[char] = &['\\', '`', '*', '_', '~', '$', '<', '>', '[', ']', '|', '&', '#'];
    if !text.contains(MEANING) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if MEANING.contains(&character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped.into()
}

/// Whether a character does something to what stands around it.
fn steers(character: char) -> bool {
    // Embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX #9).
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control()
}
