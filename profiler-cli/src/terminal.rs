//! Fits text for people into the width of their terminal.

use std::borrow::Cow;
use std::fmt;
use std::io;

use terminal_size::{Height, Width, terminal_size_of};
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter};

/// Narrower terminals are treated as if they had so many columns: shorter lines are no easier to read.
const NARROWEST: usize = 40;

/// The columns of the terminal of standard output; `None` if that goes elsewhere.
pub(crate) fn width_of_stdout() -> Option<usize> {
    terminal_size_of(io::stdout()).map(columns)
}

/// The same of standard error.
pub(crate) fn width_of_stderr() -> Option<usize> {
    terminal_size_of(io::stderr()).map(columns)
}

fn columns((width, _): (Width, Height)) -> usize {
    usize::from(width.0).max(NARROWEST)
}

/// Text, padded with blanks to so many columns. A wide character, as of Chinese or an emoji, takes two.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    text.to_owned() + &" ".repeat(columns.saturating_sub(display_width(text)))
}

/// A table and the lines around it, within a width.
pub(crate) fn fitted(table: &dyn fmt::Display, width: Option<usize>) -> String {
    match width {
        Some(columns) => lines(&format!("{table:columns$}"), width).into_owned(),
        None => format!("{table:0$}", 0),
    }
}

/// Lines of text. A line longer than the width goes on in the next one, indented by two columns.
pub(crate) fn lines(text: &str, width: Option<usize>) -> Cow<'_, str> {
    match width {
        None => text.into(),
        Some(width) => {
            let lines: Vec<_> = text.split('\n').map(|line| filled(line, width)).collect();
            lines.join("\n").into()
        }
    }
}

fn filled(line: &str, width: usize) -> Cow<'_, str> {
    if display_width(line) <= width {
        return line.into();
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let further = " ".repeat((indent + 2).min(width / 2));
    let options = Options::new(width)
        .word_splitter(WordSplitter::NoHyphenation)
        // A path is copied whole.
        .break_words(false)
        .subsequent_indent(&further);
    // A percentage stays whole.
    textwrap::fill(&line.replace(" %", "\u{a0}%"), options).replace("\u{a0}%", " %").into()
}

#[cfg(test)]
mod tests {
    use super::{fitted, lines, padded};

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(padded("größe", 7), "größe  ");
        assert_eq!(padded("載入", 7), "載入   ");
        assert_eq!(padded("載入", 3), "載入");
    }

    #[test]
    fn long_lines_go_on_further_in_and_others_stay() {
        let text = "short\n  \u{1b}[1mnote\u{1b}[0m: one two three four five\n\nlast   apart\n";
        assert_eq!(lines(text, None), text);
        let filled =
            "short\n  \u{1b}[1mnote\u{1b}[0m: one two\n    three four five\n\nlast   apart\n";
        assert_eq!(lines(text, Some(19)), filled);
        assert_eq!(lines(text, Some(100)), text);
        assert_eq!(lines("more by 12.5 %", Some(13)), "more by\n  12.5 %");
    }

    #[test]
    fn no_word_is_broken() {
        assert_eq!(lines("a/long-path.capture: b", Some(20)), "a/long-path.capture:\n  b");
        assert_eq!(lines("see 0123456789", Some(6)), "see\n  0123456789");
    }

    #[test]
    fn tables_are_told_their_width() {
        struct Told;
        impl std::fmt::Display for Told {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:?}", f.width())
            }
        }
        assert_eq!(
            (fitted(&Told, None), fitted(&Told, Some(80))),
            ("Some(0)".into(), "Some(80)".into())
        );
    }
}
