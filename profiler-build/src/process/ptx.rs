//! Splits the text of a PTX module into statements, by its tokens.
//!
//! Facts from the PTX ISA, "Syntax": comments are those of C and stand wherever white space may; a
//! statement ends with `;` and may stand on several lines, several of them on one; `{` opens a block
//! where a statement could begin or after the head of a function, and is an operand's or an
//! initialiser's elsewhere. A few directives end with their line instead.

use std::borrow::Cow;
use std::ops::Range;

/// Directives that end with their line.
const LINES: [&str; 5] = [".version", ".target", ".address_size", ".file", ".loc"];
/// Directives whose statement is the head of a block.
const HEADS: [&str; 3] = [".entry", ".func", ".section"];

/// A part of the text that white space does not divide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    /// Its begin.
    pub(super) at: usize,
    pub(super) text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A name, a number, a directive or a mnemonic, with the dots and `::` in it.
    Word,
    /// A string with its quotes.
    String,
    /// A comment; what begins one and is not closed is one to its end.
    Comment,
    /// Any other character.
    Sign,
}

impl Token<'_> {
    pub(super) fn is_sign(&self, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text == sign
    }

    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }
}

/// The tokens of a text. Between them is nothing but white space.
#[derive(Clone)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        let at = self.at;
        let rest = &self.text[at..];
        let first = *bytes.get(at)?;
        let (kind, length) = match first {
            _ if WORD[first as usize] => (TokenKind::Word, word_length(rest.as_bytes())),
            b'/' if rest.starts_with("//") => (TokenKind::Comment, line_length(rest)),
            b'/' if rest.starts_with("/*") => {
                let inside = rest[2..].find("*/");
                (TokenKind::Comment, inside.map_or(rest.len(), |length| length + 4))
            }
            b'"' => {
                // One that is not closed ends with its line.
                let inside = rest[1..].find(['"', '\n']).map_or(rest.len(), |length| length + 1);
                (TokenKind::String, inside + usize::from(rest[inside..].starts_with('"')))
            }
            _ => (TokenKind::Sign, rest.chars().next().map_or(1, char::len_utf8)),
        };
        self.at = at + length;
        Some(Token { kind, at, text: &rest[..length] })
    }
}

/// Which bytes belong to a word. A table, as build scripts are compiled without optimisation.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] =
            (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'$' | b'%' | b'.');
        byte += 1;
    }
    table
};

fn word_length(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        while length < bytes.len() && WORD[bytes[length] as usize] {
            length += 1;
        }
        if !bytes[length..].starts_with(b"::") {
            return length;
        }
        length += 2;
    }
}

fn line_length(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An instruction, a declaration or a directive, with its `;`. Without one it is the head of a
    /// block, a directive that ends with its line, or not PTX.
    Plain,
    /// A label with its colon.
    Label,
    /// `{`, which begins a block.
    Open,
    /// `}`, which ends one.
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    pub(super) kind: Kind,
    /// Its begin in the module.
    pub(super) at: usize,
    /// From its first token to its last.
    pub(super) text: &'a str,
}

impl<'a> Statement<'a> {
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    /// Its tokens without comments, placed in the module.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Token<'a>> {
        let at = self.at;
        Tokens::of(self.text)
            .filter(|token| token.kind != TokenKind::Comment)
            .map(move |token| Token { at: at + token.at, ..token })
    }

    /// An instruction's guard, from the `@` to the mnemonic and empty if it has none, and the mnemonic,
    /// without the white space and comments that may stand before its dots; a directive is its own.
    pub(super) fn mnemonic(&self) -> Option<(&'a str, Cow<'a, str>)> {
        let mut tokens = self.tokens();
        let mut first = tokens.next()?;
        if first.is_sign("@") {
            let predicate = tokens.find(|token| !token.is_sign("!"))?;
            first = tokens.next().filter(|_| predicate.kind == TokenKind::Word)?;
        }
        let mut word = Cow::Borrowed((first.kind == TokenKind::Word).then_some(first.text)?);
        if !word.starts_with('.') {
            for modifier in tokens.take_while(|token| token.text.starts_with('.')) {
                word.to_mut().push_str(modifier.text);
            }
        }
        Some((&self.text[..first.at - self.at], word))
    }
}

/// The statements of a module. Comments are none, nor a part of one at whose ends they stand.
struct Statements<'a> {
    tokens: Tokens<'a>,
}

impl<'a> Iterator for Statements<'a> {
    type Item = Statement<'a>;

    fn next(&mut self) -> Option<Statement<'a>> {
        let module = self.tokens.text;
        let of = |kind, first: Token<'a>, end: usize| {
            Some(Statement { kind, at: first.at, text: &module[first.at..end] })
        };
        let first = self.tokens.find(|token| token.kind != TokenKind::Comment)?;
        match first.text {
            "{" => return of(Kind::Open, first, first.end()),
            "}" => return of(Kind::Close, first, first.end()),
            ";" => return of(Kind::Plain, first, first.end()),
            _ => {}
        }
        let is_directive = first.text.starts_with('.');
        let is_line = is_directive && LINES.contains(&first.text);
        let mut is_head = is_directive && HEADS.contains(&first.text);
        let (mut end, mut nested, mut is_second) = (first.end(), 0_usize, true);
        loop {
            let before = self.tokens.clone();
            let Some(token) = self.tokens.next() else { break };
            let is_next = is_line && module[before.at..token.at].contains('\n');
            if is_next || is_head && token.is_sign("{") || nested == 0 && token.is_sign("}") {
                self.tokens = before;
                break;
            }
            match (token.kind, token.text) {
                (TokenKind::Sign, ";") => return of(Kind::Plain, first, token.end()),
                (TokenKind::Sign, ":") if is_second && first.kind == TokenKind::Word => {
                    return of(Kind::Label, first, token.end());
                }
                (TokenKind::Sign, "{") => nested += 1,
                (TokenKind::Sign, "}") => nested -= 1,
                (TokenKind::Word, word) => is_head |= is_directive && HEADS.contains(&word),
                _ => {}
            }
            if token.kind != TokenKind::Comment {
                (end, is_second) = (token.end(), false);
            }
        }
        of(Kind::Plain, first, end)
    }
}

/// A function that the module defines.
#[derive(Clone, Debug)]
pub(super) struct Function<'a> {
    /// Whether it is a kernel, an `.entry`.
    pub(super) is_kernel: bool,
    pub(super) name: &'a str,
    /// From after its parameter list, or its name if it has none, to its body.
    pub(super) directives: Range<usize>,
    /// The numbers of the statements between the braces of its body.
    pub(super) body: Range<usize>,
}

/// A module's text, taken apart.
pub(super) struct Module<'a> {
    pub(super) text: &'a str,
    pub(super) statements: Vec<Statement<'a>>,
    pub(super) functions: Vec<Function<'a>>,
}

impl<'a> Module<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let statements: Vec<_> = Statements { tokens: Tokens::of(text) }.collect();
        let mut functions: Vec<Function<'a>> = Vec::new();
        let mut depth = 0_usize;
        for (index, statement) in statements.iter().enumerate() {
            match statement.kind {
                Kind::Close => {
                    depth = depth.saturating_sub(1);
                    if let (0, Some(function)) = (depth, functions.last_mut()) {
                        function.body.end = function.body.end.min(index);
                    }
                }
                Kind::Open => {
                    depth += 1;
                    let head = index.checked_sub(1).and_then(|head| Head::of(&statements[head]));
                    let Some(Head { is_kernel, name, end }) = head else { continue };
                    // What is open before a function was not closed.
                    depth = 1;
                    if let Some(before) = functions.last_mut() {
                        before.body.end = before.body.end.min(index - 1);
                    }
                    let body = index + 1..statements.len();
                    functions.push(Function {
                        is_kernel,
                        name,
                        directives: end..statement.at,
                        body,
                    });
                }
                _ => {}
            }
        }
        Self { text, statements, functions }
    }

    /// The function whose body has this statement.
    pub(super) fn function_of(&self, statement: usize) -> Option<&Function<'a>> {
        let next = self.functions.partition_point(|it| it.body.start <= statement);
        let function = &self.functions[next.checked_sub(1)?];
        function.body.contains(&statement).then_some(function)
    }

    /// The number of the line, from 1, in which a place is, and its text.
    pub(super) fn line(&self, at: usize) -> (usize, &'a str) {
        let start = self.text[..at].rfind('\n').map_or(0, |before| before + 1);
        let line = &self.text[start..];
        (self.text[..start].matches('\n').count() + 1, line[..line_length(line)].trim())
    }
}

/// The head of a function, defined or declared.
pub(super) struct Head<'a> {
    is_kernel: bool,
    pub(super) name: &'a str,
    /// The end of its parameter list, or of its name.
    end: usize,
}

impl<'a> Head<'a> {
    pub(super) fn of(statement: &Statement<'a>) -> Option<Self> {
        if statement.kind != Kind::Plain || !statement.text.starts_with('.') {
            return None;
        }
        let mut tokens = statement.tokens();
        let directive = tokens.find(|token| matches!(token.text, ".entry" | ".func"))?;
        let mut name = tokens.next()?;
        // A value that a function returns.
        if name.is_sign("(") {
            tokens.find(|token| token.is_sign(")"))?;
            name = tokens.next()?;
        }
        if name.kind != TokenKind::Word {
            return None;
        }
        let end = match tokens.next() {
            Some(token) if token.is_sign("(") => tokens.find(|token| token.is_sign(")"))?.end(),
            _ => name.end(),
        };
        Some(Self { is_kernel: directive.text == ".entry", name: name.text, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(Kind, &str)> {
        let module = Module::parse(text);
        for statement in &module.statements {
            assert_eq!(&text[statement.at..statement.end()], statement.text);
        }
        module.statements.iter().map(|statement| (statement.kind, statement.text)).collect()
    }

    #[test]
    fn statements_end_where_their_tokens_say() {
        use Kind::{Close, Label, Open, Plain};
        let text = "// a; {\n.version 7.1 // {\n.target sm_80, debug\n.address_size 64\n/* ; */\n\
            .file 1 \"a;{.rs\"\n.global .b8 x[2] = {1, 2};\n\
            .visible .func (.param .b32 r) f (.param .b32 a) /* { */ .noreturn\n{ // ;\n\
            .loc 1 2 3, function_name $L, inlined_at 1 4 5\nL1: L2:mov.b64 {%r1, %r2}, %rd1;\n\
            .pragma \"nounroll; {\"; @!%p1 bra L1; { ; cp.async.shared::cta.global [a], [b]; }\n\
            call (r), f, (a) }\n.section .debug {\n.b8 1\n.b8 2\n}\n";
        let function = ".visible .func (.param .b32 r) f (.param .b32 a) /* { */ .noreturn";
        assert_eq!(
            statements(text),
            [
                (Plain, ".version 7.1"),
                (Plain, ".target sm_80, debug"),
                (Plain, ".address_size 64"),
                (Plain, ".file 1 \"a;{.rs\""),
                (Plain, ".global .b8 x[2] = {1, 2};"),
                (Plain, function),
                (Open, "{"),
                (Plain, ".loc 1 2 3, function_name $L, inlined_at 1 4 5"),
                (Label, "L1:"),
                (Label, "L2:"),
                (Plain, "mov.b64 {%r1, %r2}, %rd1;"),
                (Plain, ".pragma \"nounroll; {\";"),
                (Plain, "@!%p1 bra L1;"),
                (Open, "{"),
                (Plain, ";"),
                (Plain, "cp.async.shared::cta.global [a], [b];"),
                (Close, "}"),
                (Plain, "call (r), f, (a)"),
                (Close, "}"),
                (Plain, ".section .debug"),
                (Open, "{"),
                (Plain, ".b8 1\n.b8 2"),
                (Close, "}"),
            ]
        );
    }

    #[test]
    fn functions_have_their_names_and_bodies() {
        let text = ".extern .func (.param .b32 r) e (.param .b32 a);\n\
            .entry k (.param .u64 p) .maxntid 4 { { ret; } trap; }\n\
            .visible .func (.param .b32 r) f { ret; }\n.entry open { ret;\n.entry last() { exit; }";
        let module = Module::parse(text);
        let functions: Vec<_> = module
            .functions
            .iter()
            .map(|function| {
                let body = &module.statements[function.body.clone()];
                let body: Vec<&str> = body.iter().map(|statement| statement.text).collect();
                let directives = text[function.directives.clone()].trim();
                (function.is_kernel, function.name, directives, body.join(" "))
            })
            .collect();
        assert_eq!(
            functions,
            [
                (true, "k", ".maxntid 4", "{ ret; } trap;".to_owned()),
                (false, "f", "", "ret;".to_owned()),
                (true, "open", "", "ret;".to_owned()),
                (true, "last", "", "exit;".to_owned()),
            ]
        );
        for function in &module.functions {
            let found = module.function_of(function.body.start).map(|found| found.name);
            assert_eq!(found, Some(function.name));
        }
        assert!(module.function_of(0).is_none());
        assert_eq!(module.line(text.find("trap").expect("is there")).0, 2);
    }

    #[test]
    fn what_is_not_closed_is_gone_through_once() {
        for begun in
            ["\"", "/*", "/**/", "{", "}", "(", ".entry a {", ".file /**/", ".file;", "@", ":"]
        {
            let text = begun.repeat(50_000);
            let module = Module::parse(&text);
            assert!(module.statements.len() <= text.len());
        }
    }
}
