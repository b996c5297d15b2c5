//! Text from a capture, made fit for a terminal, or for Markdown.

use std::borrow::Cow;

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
