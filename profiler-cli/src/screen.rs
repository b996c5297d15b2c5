//! Makes output for programs safe for a terminal, if it goes to one.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::str;

use profiler_trace::printable;

use crate::output::Content;

/// A writer to a terminal. Names in a stranger's capture may hold control sequences, which are made harmless;
/// everything else stays.
pub(crate) struct Screen<W> {
    writer: W,
    content: Content,
    /// The first bytes of a character, whose others are still to come.
    begun: Vec<u8>,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(writer: W, content: Content) -> Self {
        Self { writer, content, begun: Vec::new() }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let whole = match str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let after = self.begun.split_off(whole);
        let text = String::from_utf8_lossy(&self.begun);
        self.writer.write_all(fit(&text, self.content).as_bytes())?;
        self.begun = after;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The text without characters that steer a terminal. JSON escapes them, and means the same.
fn fit(text: &str, content: Content) -> Cow<'_, str> {
    if !text.contains(steers) {
        return text.into();
    }
    let mut fit = String::with_capacity(text.len());
    for character in text.chars() {
        match content {
            _ if !steers(character) => fit.push(character),
            // All of them have 16 bits.
            Content::Json => {
                let _ = write!(fit, "\\u{:04x}", u32::from(character));
            }
            Content::Text | Content::Binary => fit.push(' '),
        }
    }
    fit.into()
}

/// Whether a character has no place in a line of text.
fn steers(character: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = character.encode_utf8(&mut bytes);
    printable(text) != text && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::Screen;
    use crate::output::Content;

    /// The text on the terminal, in whatever pieces it is written.
    fn shown(text: &str, content: Content) -> String {
        let mut all: Option<Vec<u8>> = None;
        for piece in 1..=text.len() {
            let mut screen = Screen::new(Vec::new(), content);
            for bytes in text.as_bytes().chunks(piece) {
                screen.write_all(bytes).expect("memory can be written");
            }
            assert!(screen.begun.is_empty());
            assert_eq!(*all.get_or_insert_with(|| screen.writer.clone()), screen.writer);
        }
        String::from_utf8(all.unwrap_or_default()).expect("text")
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let text = "a,\"größer\u{1f600}\x1b]0;x\x07\"\tb\r\n\u{9b}2J\u{202e}\x7f";
        assert_eq!(shown(text, Content::Text), "a,\"größer\u{1f600} ]0;x \"\tb \n 2J  ");
        let plain = "größer,\u{1f600}\n";
        assert_eq!(shown(plain, Content::Text), plain);
    }

    #[test]
    fn json_holds_the_same() {
        let value = json!({ "näme": "\u{9b}2J\u{2066}\x7f\x1b\u{1f600}", "list": [1, "\n"] });
        let shown = shown(&format!("{value:#}\n"), Content::Json);
        assert!(shown.contains("\\u009b2J\\u2066\\u007f\\u001b\u{1f600}"), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }

    #[test]
    fn bytes_that_are_no_text_are_none_on_a_terminal() {
        let mut screen = Screen::new(Vec::new(), Content::Text);
        screen.write_all(b"a\x9bb\xffc").expect("memory can be written");
        assert_eq!(screen.writer, "a\u{fffd}b\u{fffd}c".as_bytes());
    }
}
