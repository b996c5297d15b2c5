//! `docs/unsafe.md`: everything `unsafe` in the repository, with the reason that stands beside it.
//!
//! Found by tokens and not by syntax trees: what macros are given, and what they write, has no tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::Error;
use crate::tidy::{is_test, tracked};

/// The list, from the repository's root.
pub(crate) const FILE: &str = "docs/unsafe.md";

const HEAD: &str = "\
# Everything `unsafe`

Written by `cargo xtask unsafe-list` from the sources; `cargo xtask tidy` and a test fail where it is \
not what that writes, or where an `unsafe` has no reason beside it. For a block or an `impl` that is \
its `SAFETY` comment, for a function what its callers must see to. Where several things of a function \
have one reason, their number is given. [Atomics](atomics.md) have a page of their own; \
[`cargo xtask sanitize`](sanitizers.md) runs what of this can run without a GPU under sanitizers.
";

/// Text that is compared with what macros write, and programs that must not compile.
const NOT_CODE: [&str; 2] =
    ["profiler-macros/src/tests/expected/", "profiler-device/tests/ui/fail/"];

/// What stands for a function of a test, where nobody else can call it.
const OF_TEST: &str = "a test's own, called beside it";

/// How many lines of code may lie between a comment and what it is about: the begin of a statement.
const LINES_BETWEEN: usize = 9;

/// Something `unsafe`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    /// In which function or item, or what it is itself.
    what: String,
    /// Why it is sound, or what callers must see to; empty if nothing says it.
    reason: String,
    is_function: bool,
    line: usize,
}

/// Why the list is not what it should be, if it is not.
pub(crate) fn offence(root: &Path) -> Result<Option<String>, Error> {
    let listed = std::fs::read_to_string(root.join(FILE)).unwrap_or_default();
    Ok((listed != text(root)?).then(|| {
        format!(
            "{FILE}: something `unsafe` came, went or has another reason: run `cargo xtask \
             unsafe-list`, and look at what it changed"
        )
    }))
}

/// What the list should be.
pub(crate) fn text(root: &Path) -> Result<String, Error> {
    let listed = tracked(root)?;
    let mut names: Vec<&str> = listed.iter().map(String::as_str).collect();
    names.sort_unstable();
    let packages: Vec<&str> =
        names.iter().filter_map(|name| name.strip_suffix("/Cargo.toml")).collect();
    let package_of = |name: &str| {
        let holds = packages.iter().filter(|package| {
            name.strip_prefix(**package).is_some_and(|rest| rest.starts_with('/'))
        });
        holds.max_by_key(|package| package.len()).copied()
    };
    let mut files: BTreeMap<&str, Vec<(&str, Vec<Found>)>> =
        packages.iter().map(|package| (*package, Vec::new())).collect();
    let (mut forbidding, mut with_root, mut unfounded) = (Vec::new(), Vec::new(), Vec::new());
    let is_code = |name: &str| {
        name.ends_with(".rs") && !NOT_CODE.iter().any(|folder| name.starts_with(folder))
    };
    for name in names.iter().filter(|name| is_code(name)) {
        // A file may be listed and deleted.
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        let Some(package) = package_of(name) else { continue };
        if is_root(&name[package.len()..]) {
            with_root.push(package);
            if text.contains("\n#![forbid(unsafe_code)]\n") {
                forbidding.push(package);
            }
        }
        let mut found = find(&text).map_err(|error| format!("{name}: {error}"))?;
        if is_test(name) {
            let functions = found.iter_mut().filter(|found| found.is_function);
            functions.filter(|found| found.reason.is_empty()).for_each(|found| {
                found.reason = OF_TEST.to_owned();
            });
        }
        let without = found.iter().filter(|found| found.reason.is_empty());
        unfounded.extend(without.map(|found| format!("{name}:{}: {}", found.line, found.what)));
        if !found.is_empty() {
            files.entry(package).or_default().push((*name, found));
        }
    }
    if unfounded.is_empty() {
        return render(&files, &forbidding, &with_root);
    }
    Err(format!(
        "no reason stands beside these; write a SAFETY comment, or a Safety section:\n{}",
        unfounded.join("\n")
    )
    .into())
}

/// The file that an attribute of the whole crate stands in.
fn is_root(path: &str) -> bool {
    matches!(path, "/src/lib.rs" | "/src/main.rs")
}

fn render(
    files: &BTreeMap<&str, Vec<(&str, Vec<Found>)>>,
    forbidding: &[&str],
    with_root: &[&str],
) -> Result<String, Error> {
    let (mut text, mut none) = (HEAD.to_owned(), Vec::new());
    text += "\n## Packages without\n\n";
    for (package, files) in files {
        let in_itself = |file: &(&str, Vec<Found>)| file.0[package.len()..].starts_with("/src/");
        if forbidding.contains(package) {
            let elsewhere = match (files.iter().any(in_itself), files.is_empty()) {
                (_, true) => "",
                (true, _) => ", but for code that its macros write",
                (false, _) => ", but for its tests",
            };
            none.push(format!("- `{package}`, by `#![forbid(unsafe_code)]`{elsewhere}"));
        } else if !files.iter().any(in_itself) && with_root.contains(package) {
            let message =
                format!("{package} has nothing unsafe: forbid it, `#![forbid(unsafe_code)]`");
            return Err(message.into());
        }
    }
    text += &none.join("\n");
    text.push('\n');
    for (package, files) in files.iter().filter(|(_, files)| !files.is_empty()) {
        let count: usize = files.iter().map(|(_, found)| found.len()).sum();
        writeln!(text, "\n## `{package}`: {count}")?;
        for (name, found) in files {
            writeln!(text, "\n`{name}`\n")?;
            let mut rows: Vec<(&Found, usize)> = Vec::new();
            for found in found {
                match rows
                    .iter_mut()
                    .find(|(row, _)| (&row.what, &row.reason) == (&found.what, &found.reason))
                {
                    Some((_, count)) => *count += 1,
                    None => rows.push((found, 1)),
                }
            }
            for (found, count) in rows {
                let times = if count > 1 { format!(", {count} times") } else { String::new() };
                writeln!(text, "- {}{times}: {}", found.what, found.reason)?;
            }
        }
    }
    Ok(text)
}

/// Everything `unsafe` in a file.
fn find(text: &str) -> Result<Vec<Found>, Error> {
    syn::parse_file(text)?;
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut search = Search { lines: text.lines().collect(), found: Vec::new() };
    search.walk(tokens, "");
    Ok(search.found)
}

struct Search<'t> {
    lines: Vec<&'t str>,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Goes through tokens that stand in the item `within`.
    fn walk(&mut self, tokens: TokenStream, within: &str) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut within = within.to_owned();
        for (index, token) in tokens.iter().enumerate() {
            let behind = &tokens[index + 1..];
            match token {
                TokenTree::Group(group) => self.walk(group.stream(), &within),
                TokenTree::Ident(ident) if ident == "fn" => {
                    if let Some(name) = name(behind) {
                        within = name;
                    }
                }
                TokenTree::Ident(ident) if ident == "macro_rules" => {
                    if let Some(TokenTree::Ident(name)) = behind.get(1) {
                        within = format!("{name}!");
                    }
                }
                TokenTree::Ident(ident) if ident == "unsafe" => {
                    let line = ident.span().start().line;
                    if let Some(found) = self.judge(behind, &within, line) {
                        self.found.push(found);
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// What follows an `unsafe` says what it is; `None` where it is a type, or a name.
    fn judge(&self, behind: &[TokenTree], within: &str, line: usize) -> Option<Found> {
        let comment = || self.comment(line);
        let contract = || self.contract(line).or_else(comment).or_else(|| self.of_file());
        let mut is_function = false;
        let (what, reason) = match behind.first()? {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                (format!("`{within}`, a block"), comment())
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                let what = format!("`#[unsafe({})]`", group.stream());
                (what, comment().or_else(|| Some("no other item bears this name".to_owned())))
            }
            TokenTree::Ident(ident) if ident == "impl" || ident == "trait" => {
                let head = behind.iter().take_while(|token| !is_braces(token)).cloned();
                let head: TokenStream = head.collect();
                (format!("`unsafe {head}`"), comment())
            }
            TokenTree::Ident(ident) if ident == "fn" || ident == "extern" => {
                let at = behind.iter().position(|token| is_ident(token, "fn"));
                let braces = behind.iter().position(is_braces);
                match (at, braces) {
                    (at, Some(braces)) if at.is_none_or(|at| braces < at) => (
                        "`unsafe extern`, a block".to_owned(),
                        comment().or_else(|| self.contract(line)),
                    ),
                    (Some(at), _) => {
                        is_function = true;
                        (format!("`unsafe fn {}`", name(&behind[at + 1..])?), contract())
                    }
                    (None, _) => return None,
                }
            }
            TokenTree::Punct(_) => (format!("`{within}`, tokens that a macro writes"), comment()),
            TokenTree::Ident(_) | TokenTree::Literal(_) | TokenTree::Group(_) => return None,
        };
        Some(Found { what, reason: reason.unwrap_or_default(), is_function, line })
    }

    /// The SAFETY comment above a line, or at its end.
    fn comment(&self, line: usize) -> Option<String> {
        const MARK: &str = "// SAFETY:";
        let mut between = 0;
        for at in (0..line).rev() {
            let text = self.lines[at].trim_start();
            if let Some((_, reason)) = text.split_once(MARK) {
                let rest = self.lines[at + 1..].iter().map(|line| line.trim_start());
                let rest = rest.map_while(|line| line.strip_prefix("//"));
                return Some(joined(std::iter::once(reason).chain(rest)));
            }
            between += usize::from(!text.starts_with("//"));
            if between > LINES_BETWEEN || at + 1 < line && text.is_empty() {
                return None;
            }
        }
        None
    }

    /// The Safety section of the documentation above a line.
    fn contract(&self, line: usize) -> Option<String> {
        let above = self.lines[..line - 1].iter().rev().map(|line| line.trim_start());
        let documentation: Vec<&str> = above
            .take_while(|line| {
                line.starts_with("//") || line.starts_with("#[") || is_in_attribute(line)
            })
            .filter_map(|line| line.strip_prefix("///"))
            .collect();
        section(documentation.into_iter().rev())
    }

    /// The Safety section of the file's own documentation.
    fn of_file(&self) -> Option<String> {
        section(self.lines.iter().map_while(|line| line.strip_prefix("//!")))
    }
}

/// The first paragraph of a Safety section.
fn section<'l>(lines: impl Iterator<Item = &'l str>) -> Option<String> {
    let behind = lines.skip_while(|line| line.trim() != "# Safety").skip(1);
    let behind = behind.skip_while(|line| line.trim().is_empty());
    let text = joined(behind.take_while(|line| !line.trim().is_empty()));
    (!text.is_empty()).then_some(text)
}

/// A line within an attribute of several lines.
fn is_in_attribute(line: &str) -> bool {
    line.ends_with(',') && line.contains('=') && !line.contains(';') || line == ")]"
}

fn joined<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let text = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    without_paths(text.trim())
}

/// The text without links to paths of Rust, which only its own documentation can follow.
fn without_paths(text: &str) -> String {
    let is_path = |target: &str| {
        target.chars().all(|character| character.is_alphanumeric() || "_:!".contains(character))
    };
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("](") {
        let label = before.rfind('[').map(|at| (&before[..at], &before[at + 1..]));
        match (label, behind.split_once(')')) {
            (Some((head, label)), Some((target, tail))) if is_path(target) => {
                plain.extend([head, label]);
                rest = tail;
            }
            _ => {
                plain.extend([before, "]("]);
                rest = behind;
            }
        }
    }
    plain + rest
}

/// The name behind a `fn`; none where it is a type. In a macro it may be a variable.
fn name(behind: &[TokenTree]) -> Option<String> {
    match behind {
        [TokenTree::Ident(name), ..] => Some(name.to_string()),
        [TokenTree::Punct(sigil), TokenTree::Ident(name), ..] => Some(format!("{sigil}{name}")),
        _ => None,
    }
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_ident(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == wanted)
}

#[cfg(test)]
mod tests;
