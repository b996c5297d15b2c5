//! Text from a capture, made fit for terminals and Markdown, and the words that all outputs share.

use std::borrow::Cow;

use profiler_wire::Strategy;
use profiler_wire::header::{Clock, Dim3};
use unicode_width::UnicodeWidthChar;

/// Text from a capture as it may be printed: on one line, and without power over the terminal.
///
/// Names come from the writer of the capture. Control characters, which begin escape sequences, and
/// characters that change the direction of text become spaces.
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
/// The rest becomes `…`. A character counts two columns if terminals draw it so, such as Chinese
/// and emoji. A character without width, such as a combining accent, counts one, so every text has
/// a bounded length.
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

/// Text as it may be printed within so many columns of a terminal. `…` replaces its middle, because
/// names often differ at their ends.
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

/// The same for the end of a text: `…` replaces its begin.
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

/// The number of terminal columns that a character takes, at least one.
fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1).max(1)
}

/// Text for Markdown, with its special characters escaped.
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

/// Whether a character affects the text around it.
fn steers(character: char) -> bool {
    // Embeddings, overrides and isolates of Unicode's bidirectional algorithm (UAX #9).
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control()
}

/// An extent as people write it: `4`, `4x2`, `4x2x3`.
pub(crate) fn extent(dim: Dim3) -> String {
    match dim {
        [x, 1, 1] => format!("{x}"),
        [x, y, 1] => format!("{x}x{y}"),
        [x, y, z] => format!("{x}x{y}x{z}"),
    }
}

/// The name of a block: as many coordinates as the grid has dimensions.
pub(crate) fn block(block: Dim3, grid: Dim3) -> String {
    let [x, y, z] = block;
    match grid {
        [_, 1, 1] if y == 0 && z == 0 => format!("block {x}"),
        [_, _, 1] if z == 0 => format!("block {x},{y}"),
        _ => format!("block {x},{y},{z}"),
    }
}

/// The strategy in the words of the macros.
pub(crate) fn strategy(strategy: Strategy) -> String {
    match strategy {
        Strategy::Warp => "warp".to_owned(),
        Strategy::Block => "block".to_owned(),
        Strategy::WarpIndex(index) => format!("warp({index})"),
        Strategy::WarpGroup => "warp_group".to_owned(),
        Strategy::Elected => "elected".to_owned(),
        Strategy::Thread => "thread".to_owned(),
        Strategy::When => "when".to_owned(),
    }
}

/// The clock of a warp's records.
pub(crate) fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Cycles => "cycles of the SM",
        Clock::GlobalTimer => "globaltimer",
    }
}

/// The clock of a warp's records, for programs.
pub(crate) fn clock_name(clock: Clock) -> &'static str {
    match clock {
        Clock::Cycles => "cycles",
        Clock::GlobalTimer => "globaltimer",
    }
}

/// So many things, which are called this if there is one.
pub(crate) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A name in a table: on one line, and cut if it is long.
pub(crate) fn one_line(name: &str) -> String {
    shortened(name, 48)
}

/// Adds a name to a stack. What parts frames, values and lines is written as a sign that looks like
/// it, so that names stay apart and can be read.
pub(crate) fn push_frame(stack: &mut String, name: &str) {
    let name = match name {
        "" => "(no name)",
        name => name,
    };
    // Readers trim lines, and take what stands after a space and is a number for a value.
    let text = name.trim();
    let before = name.len() - name.trim_start().len();
    let number = text.rfind(' ').filter(|&at| {
        let rest = text[at + 1..].trim_start_matches(|digit: char| digit.is_ascii_digit());
        rest.is_empty() || rest.starts_with('.')
    });
    for (at, character) in name.char_indices() {
        stack.push(match character {
            _ if character.is_whitespace() && !(before..before + text.len()).contains(&at) => '␠',
            ' ' if number.is_some_and(|number| before + number == at) => '\u{a0}',
            ';' => '；',
            '\u{7f}' => '␡',
            '\0'..' ' => char::from_u32(0x2400 + u32::from(character)).unwrap_or(' '),
            character if character.is_control() => char::REPLACEMENT_CHARACTER,
            character => character,
        });
    }
}

/// A name with its place in the source. Of a long path the end is left, which tells files apart. A kernel that nobody
/// annotated, compiled without lines, has no place.
pub(crate) fn named_at(name: &str, file: &str, line: u32, column: u32) -> String {
    if file.is_empty() {
        return format!("{} (no source)", one_line(name));
    }
    format!("{} ({}:{line}:{column})", one_line(name), shortened_to_end(file, 40))
}

#[cfg(test)]
mod tests {
    use super::{named_at, one_line};

    #[test]
    fn names_are_cut_by_the_columns_that_they_take() {
        let (name, file) = ("載".repeat(30), "檔".repeat(30));
        assert_eq!(one_line(&name), "載".repeat(24) + "…");
        assert_eq!(named_at("loop", "", 0, 0), "loop (no source)");
        let place = named_at("load", &format!("src/{file}.rs"), 7, 5);
        assert_eq!(place, format!("load (…{}.rs:7:5)", "檔".repeat(18)));
        // Accents of their own take none, of which there may be any number.
        assert_eq!(one_line(&"\u{301}".repeat(50)), "\u{301}".repeat(48) + "…");
    }
}
