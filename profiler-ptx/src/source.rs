//! Which line of the source an instruction comes from, by the directives `.file` and `.loc`.
#![cfg(feature = "rewrite")]

use std::borrow::Cow;
use std::collections::HashMap;

use crate::syntax::{Module, Statement, Token, TokenKind, Tokens};

const DEBUG_STR: &str = ".debug_str";

/// A place in the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// The file as the compiler names it; empty if the PTX has no line information.
    pub file: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u32,
    /// The column; 0 if it is not known.
    pub column: u32,
}

impl std::fmt::Display for Location {
    /// `softmax.py:12`, without the folders.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        write!(f, "{name}:{}", self.line)
    }
}

/// File number, line and column, as a `.loc` states them.
type Place = (u32, u32, u32);

/// Where a function was inlined.
#[derive(Clone)]
struct Caller {
    at: Place,
    /// The function's name: a label in the section `.debug_str`, and the bytes between.
    function: (String, usize),
}

/// Follows the `.loc` directives of a module.
pub(crate) struct Source {
    files: HashMap<u32, String>,
    /// Where the function that has a place was inlined, and its name.
    callers: HashMap<Place, Caller>,
    strings: Strings,
}

impl Source {
    pub(crate) fn of(module: &Module<'_>) -> Self {
        let mut files = HashMap::new();
        let mut callers = HashMap::new();
        for statement in &module.statements {
            if let Some((number, name)) = file(statement) {
                files.insert(number, name);
            } else if let Some((place, Some(caller))) = loc(statement) {
                callers.insert(place, caller);
            }
        }
        Self { files, callers, strings: Strings::of(module) }
    }

    /// The place that a `.loc` directive states: in the outermost function, as that is the user's own code, if
    /// the directive or the comment after it says where the function was inlined.
    pub(crate) fn location(
        &self,
        module: &Module<'_>,
        statement: &Statement<'_>,
    ) -> Option<Location> {
        let (mut place, mut caller) = loc(statement)?;
        let rest = &module.text[statement.end()..];
        let rest = rest.split('\n').next().unwrap_or_default();
        if let Some((name, line, column)) = rest.rsplit_once("@[").and_then(|(_, at)| comment(at)) {
            let named = |file: &&String| file.rsplit('/').next() == Some(name);
            let file = self.files.values().find(named).cloned().unwrap_or_else(|| name.to_owned());
            return Some(Location { file, line, column });
        }
        // Places may refer to each other in a circle if the text is damaged.
        for _ in 0..self.callers.len() {
            let Some(next) = caller else { break };
            place = next.at;
            caller = self.callers.get(&place).cloned();
        }
        let (file, line, column) = place;
        let file = self.files.get(&file).cloned().unwrap_or_default();
        (line != 0).then_some(Location { file, line, column })
    }

    /// The names of the functions that are inlined at the place that a `.loc` directive states. `None` if it
    /// states none.
    pub(crate) fn functions(&self, statement: &Statement<'_>) -> Option<Vec<String>> {
        let ((_, line, _), mut caller) = loc(statement)?;
        let mut names = Vec::new();
        for _ in 0..=self.callers.len() {
            let Some(Caller { at, function }) = caller else { break };
            names.push(self.strings.get(&function).into_owned());
            caller = self.callers.get(&at).cloned();
        }
        (line != 0).then_some(names)
    }
}

/// The section `.debug_str`.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
    /// Where each label stands; the section's own name is one.
    labels: HashMap<String, usize>,
}

impl Strings {
    fn of(module: &Module<'_>) -> Self {
        let is_section =
            |it: &&Statement<'_>| it.text.starts_with(".section") && it.text.ends_with(DEBUG_STR);
        let section = module.statements.iter().find(is_section);
        let text = section.map_or("", |section| &module.text[section.end()..]);
        let mut strings = Self::default();
        strings.labels.insert(DEBUG_STR.to_owned(), 0);
        let tokens = Tokens::of(text).take_while(|token| !token.is_sign("}"));
        for token in tokens.filter(|token| token.kind == TokenKind::Word) {
            if let Ok(byte) = token.text.parse() {
                strings.bytes.push(byte);
            } else if !token.text.starts_with('.') {
                strings.labels.insert(token.text.to_owned(), strings.bytes.len());
            }
        }
        strings
    }

    /// The string at some bytes after a label, or the label if it is nowhere.
    fn get<'s>(&'s self, (label, offset): &'s (String, usize)) -> Cow<'s, str> {
        let start = self.labels.get(label).and_then(|label| label.checked_add(*offset));
        let bytes = start.and_then(|start| self.bytes.get(start..));
        let name = bytes.and_then(|bytes| bytes.split(|byte| *byte == 0).next());
        name.map_or(Cow::Borrowed(label), String::from_utf8_lossy)
    }
}

/// `lib.py:12:4 ] ]`, as LLVM ends the comment after the `.loc` of an inlined function.
fn comment(text: &str) -> Option<(&str, u32, u32)> {
    let text = text.trim_end_matches([' ', ']', '\r']).trim();
    let (rest, column) = text.rsplit_once(':')?;
    let (name, line) = rest.rsplit_once(':')?;
    Some((name, line.parse().ok()?, column.parse().ok()?))
}

/// `.file NUMBER "NAME"`.
fn file(statement: &Statement<'_>) -> Option<(u32, String)> {
    let rest = statement.text.strip_prefix(".file")?;
    let mut parts = rest.splitn(3, '"');
    let number = parts.next()?.trim().parse().ok()?;
    Some((number, parts.next()?.to_owned()))
}

/// `.loc FILE LINE COLUMN [, function_name LABEL [+ OFFSET], inlined_at FILE LINE COLUMN]`.
fn loc(statement: &Statement<'_>) -> Option<(Place, Option<Caller>)> {
    let mut words = statement.tokens().filter(|token| token.kind == TokenKind::Word);
    words.next().filter(|first| first.text == ".loc")?;
    let place = |words: &mut dyn Iterator<Item = Token<'_>>| -> Option<Place> {
        let mut number = || words.next()?.text.parse().ok();
        Some((number()?, number()?, number()?))
    };
    let at = place(&mut words)?;
    let mut function = (String::new(), 0);
    while let Some(word) = words.next() {
        match word.text {
            "function_name" => function.0 = words.next()?.text.to_owned(),
            "inlined_at" => {
                let caller = place(&mut words).map(|at| Caller { at, function });
                return Some((at, caller));
            }
            offset => function.1 = offset.parse().unwrap_or(0),
        }
    }
    Some((at, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_place_is_the_users() {
        let text = ".file 1 \"/a/softmax.py\"\n.file\t2 \"lib.py\"\n.entry k() {\n.loc 1 12 4\n\
                    .loc 2 40 1, function_name $L_1, inlined_at 1 20 8\n\
                    .loc 2 7 2, function_name $L_2+4, inlined_at 2 40 1\n.loc 1 0 0\n.loc 3 5 6\n\
                    .loc 2 1 1 // lib.py:1:1 @[ lib.py:9:2 @[ softmax.py:16:19 ] ]\nret; }";
        let module = Module::parse(text);
        let source = Source::of(&module);
        let places = module.statements.iter().filter_map(|it| source.location(&module, it));
        let places: Vec<String> = places.map(|it| format!("{it}:{}", it.column)).collect();
        assert_eq!(
            places,
            ["softmax.py:12:4", "softmax.py:20:8", "softmax.py:20:8", ":5:6", "softmax.py:16:19"]
        );
    }

    #[test]
    fn places_that_go_in_a_circle_end() {
        let text = ".loc 1 1 1, function_name a, inlined_at 1 2 2\n\
                    .loc 1 2 2, function_name a, inlined_at 1 1 1\nret;";
        let module = Module::parse(text);
        let source = Source::of(&module);
        assert_eq!(
            module.statements.iter().filter_map(|it| source.location(&module, it)).count(),
            2
        );
    }
}
