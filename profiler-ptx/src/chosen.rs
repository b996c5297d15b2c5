//! Regions that users choose: lines of the source, functions, patterns of instructions.
#![cfg(feature = "rewrite")]

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use crate::graph::{Graph, Instruction};
use crate::region::{self, Point, Region, RegionKind, locations};
use crate::source::{Location, Source};
use crate::syntax::{Function, Module, Statement, TokenKind, Tokens};
use crate::{Chosen, LeftOut};

/// Code to record, chosen by the user. Its text is that of `profiler sites --region`: `lines FILE:40-57=NAME`,
/// `function NAME`, `instruction 'wgmma.*'=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selection {
    /// The code of these lines, and what is inlined into it.
    Lines {
        /// The file's name, with as many of its folders as tell it from others.
        file: String,
        /// The first line.
        first: u32,
        /// The last line.
        last: u32,
        /// The region's name.
        name: String,
    },
    /// Calls of a function, and its code wherever it is inlined.
    Function {
        /// A part of the function's name, such as `load` or `tile::load`.
        function: String,
        /// The region's name.
        name: String,
    },
    /// Instructions, each with its neighbours that match as well.
    Instruction {
        /// A pattern for the whole opcode, in which `*` stands for anything.
        pattern: String,
        /// The region's name.
        name: String,
    },
}

impl Selection {
    /// The region's name in records.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Lines { name, .. }
            | Self::Function { name, .. }
            | Self::Instruction { name, .. } => name,
        }
    }
}

/// Why a text is no [`Selection`]. `Debug` is the text of `Display`, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectionError(&'static str);

impl fmt::Debug for SelectionError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl FromStr for Selection {
    type Err = SelectionError;

    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let wrong = |help| Err(SelectionError(help));
        let (kind, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let (what, name) = match rest.rsplit_once('=') {
            Some((what, name)) => (what.trim(), Some(name.trim())),
            None => (rest.trim(), None),
        };
        if text.contains(char::is_control) || name.is_some_and(str::is_empty) {
            return wrong("give a name after `=`, without line breaks");
        }
        let name_or = |other: &str| name.unwrap_or(other).to_owned();
        match kind {
            "lines" => {
                let (Some((file, lines)), Some(name)) = (what.rsplit_once(':'), name) else {
                    return wrong(
                        "give a file, lines and a name, like `lines softmax.py:40-57=load`",
                    );
                };
                let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
                let (Ok(first), Ok(last)) = (first.trim().parse(), last.trim().parse()) else {
                    return wrong("give the lines as numbers, like `softmax.py:40-57`");
                };
                if file.is_empty() || first == 0 || first > last {
                    return wrong("give a file and lines from 1 on, the first one first");
                }
                Ok(Self::Lines { file: file.to_owned(), first, last, name: name.to_owned() })
            }
            "function" if !what.is_empty() => {
                Ok(Self::Function { function: what.to_owned(), name: name_or(what) })
            }
            "function" => wrong("give the function's name, like `function load`"),
            "instruction" if !what.is_empty() && !what.contains(' ') => {
                Ok(Self::Instruction { pattern: what.to_owned(), name: name_or(what) })
            }
            "instruction" => wrong("give a pattern for opcodes, like `instruction wgmma.*=mma`"),
            _ => wrong(
                "begin with `lines`, `function` or `instruction`, like `lines softmax.py:40-57=load`",
            ),
        }
    }
}

impl Display for Selection {
    /// The text that [`from_str`](FromStr::from_str) reads, if the name has no `=`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (kind, what, name) = match self {
            Self::Lines { file, first, last, name } => {
                return write!(f, "lines {file}:{first}-{last}={name}");
            }
            Self::Function { function, name } => ("function", function, name),
            Self::Instruction { pattern, name } => ("instruction", pattern, name),
        };
        write!(f, "{kind} {what}")?;
        if name == what { Ok(()) } else { write!(f, "={name}") }
    }
}

/// The chosen regions of a kernel, and those that cannot be placed.
pub(crate) fn find(
    module: &Module<'_>,
    function: &Function<'_>,
    graph: &Graph,
    source: &Source,
    selections: &[Selection],
) -> (Vec<Region>, Vec<LeftOut>) {
    let (mut regions, mut refused) = (Vec::new(), Vec::new());
    if selections.is_empty() {
        return (regions, refused);
    }
    let locations = locations(module, function, source);
    let location = |statement: usize| locations[statement - function.body.start].as_ref();
    for (index, selection) in selections.iter().enumerate() {
        let inside: BTreeSet<usize> = match selection {
            Selection::Lines { file, first, last, .. } => {
                let is_in =
                    |at: &Location| (*first..=*last).contains(&at.line) && is_file(&at.file, file);
                instructions(module, function)
                    .filter_map(|(statement, _)| {
                        location(statement).is_some_and(is_in).then_some(statement)
                    })
                    .collect()
            }
            Selection::Function { function: name, .. } => {
                of_function(module, function, source, name)
            }
            Selection::Instruction { pattern, .. } => instructions(module, function)
                .filter(|(_, it)| matches(pattern, &it.opcode))
                .map(|(statement, _)| statement)
                .collect(),
        };
        let parts = match selection {
            Selection::Instruction { .. } => runs(module, graph, &inside),
            _ => vec![inside],
        };
        for inside in parts {
            let Some(first) = inside.first() else { continue };
            let chosen = Chosen { selection: index, name: selection.name().to_owned() };
            let (kind, location) = (RegionKind::Chosen, location(*first).cloned());
            match around(module, graph, inside) {
                Ok(region) => {
                    regions.push(Region { chosen: Some(chosen), location, ..region });
                }
                Err(reason) => {
                    let (reason, chosen) = (reason.to_owned(), Some(chosen));
                    refused.push(LeftOut { kind, location, reason, chosen });
                }
            }
        }
    }
    (regions, refused)
}

fn instructions<'m, 'a>(
    module: &'m Module<'a>,
    function: &Function<'_>,
) -> impl Iterator<Item = (usize, Instruction<'a>)> + use<'m, 'a> {
    let of = |statement: usize| Some((statement, Instruction::of(&module.statements[statement])?));
    function.body.clone().filter_map(of)
}

/// Whether a path ends with a file's name and folders.
fn is_file(path: &str, file: &str) -> bool {
    let before = path.strip_suffix(file);
    before.is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
}

/// Whether a pattern in which `*` stands for anything matches all of a text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| text.strip_prefix(start)) else {
        return false;
    };
    let Some(end) = parts.next_back() else { return rest.is_empty() };
    parts.all(|part| passes(&mut rest, part)) && rest.ends_with(end)
}

/// Takes a text up to the end of a part that it has.
fn passes(text: &mut &str, part: &str) -> bool {
    let after = text.split_once(part).map(|(_, after)| after);
    *text = after.unwrap_or(text);
    after.is_some()
}

/// Whether a name has all parts of another, in their order. The parts of a path like `tile::load` stand so in names
/// that a compiler has mangled.
fn is_named(name: &str, wanted: &str) -> bool {
    let mut rest = name;
    wanted.split("::").all(|part| passes(&mut rest, part))
}

/// The instructions that are inlined from a function or call it.
fn of_function(
    module: &Module<'_>,
    function: &Function<'_>,
    source: &Source,
    name: &str,
) -> BTreeSet<usize> {
    let mut is_inlined = false;
    let mut inside = BTreeSet::new();
    for index in function.body.clone() {
        let statement = &module.statements[index];
        if let Some(functions) = source.functions(statement) {
            is_inlined = functions.iter().any(|function| is_named(function, name));
        }
        let Some(instruction) = Instruction::of(statement) else { continue };
        let calls = || instruction.name() == "call" && is_named(callee(statement), name);
        if is_inlined || calls() {
            inside.insert(index);
        }
    }
    inside
}

/// The function that a `call` names, after the values that it returns.
fn callee<'a>(statement: &Statement<'a>) -> &'a str {
    let mut depth = 0;
    let start = statement.mnemonic().map_or(0, |(guard, _)| guard.len());
    let names = Tokens::of(&statement.text[start..]).skip(1).find(|token| {
        depth += i32::from(token.is_sign("(")) - i32::from(token.is_sign(")"));
        depth == 0 && token.kind == TokenKind::Word && !token.text.starts_with('.')
    });
    names.map_or("", |token| token.text)
}

/// Sets of instructions that follow each other in a block.
fn runs(module: &Module<'_>, graph: &Graph, inside: &BTreeSet<usize>) -> Vec<BTreeSet<usize>> {
    let mut runs = Vec::new();
    for block in &graph.blocks {
        let mut run = BTreeSet::new();
        for index in block.statements.clone() {
            if inside.contains(&index) {
                run.insert(index);
            } else if Instruction::of(&module.statements[index]).is_some() {
                runs.push(std::mem::take(&mut run));
            }
        }
        runs.push(run);
    }
    runs
}

/// The region of a set of instructions: it begins wherever control comes to one of them from another one or from
/// outside the kernel, and ends wherever it goes on to another one.
fn around(
    module: &Module<'_>,
    graph: &Graph,
    inside: BTreeSet<usize>,
) -> Result<Region, &'static str> {
    let is_instruction = |index: &usize| Instruction::of(&module.statements[*index]).is_some();
    // Whether a block begins and ends inside; one without instructions is as the one after it.
    let mut states = vec![(false, false); graph.blocks.len()];
    for (index, block) in graph.blocks.iter().enumerate().rev() {
        let mut of_block = block.statements.clone().filter(is_instruction);
        let (first, last) = (of_block.next(), of_block.next_back());
        states[index] = match first {
            Some(first) => (inside.contains(&first), inside.contains(&last.unwrap_or(first))),
            None => states.get(index + 1).map_or((false, false), |next| (next.0, next.0)),
        };
    }
    let (mut begins, mut ends, mut inner) = region::around(module, graph, &states)?;
    for (index, block) in graph.blocks.iter().enumerate() {
        let mut of_block = block.statements.clone().filter(is_instruction);
        let Some(mut before) = of_block.next() else { continue };
        for statement in of_block {
            match (inside.contains(&before), inside.contains(&statement)) {
                (false, true) => begins.insert(Point::After(before)),
                (true, false) => {
                    inner = inner.max(graph.loop_of(index));
                    ends.insert(Point::After(before))
                }
                _ => false,
            };
            before = statement;
        }
    }
    Ok(Region {
        kind: RegionKind::Chosen,
        location: None,
        begins,
        ends,
        size: inside.len(),
        around: inner,
        barrier: None,
        inside,
        chosen: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Step;
    use crate::{Options, instrument};

    /// The instructions of a kernel with `+NAME` and `-NAME` where its regions begin and end.
    fn recorded(body: &str, specs: &[&str]) -> String {
        let text = format!(
            ".version 8.0\n.target sm_90\n.file 1 \"/a/softmax.cu\"\n.file 2 \"tile.h\"\n.entry k() {{\n{body}\n}}\n\
             .section .debug_str\n{{\nF0: // load\n.b8 95,90\n.b8 52\nF1:\n.b8 108\n.b8 111,97,100,115,0\n}}"
        );
        let regions: Vec<Selection> =
            specs.iter().map(|it| it.parse().expect("it is right")).collect();
        let options = Options { regions, auto: false, ..Options::default() };
        let out = instrument(&text, &options).expect("it is PTX");
        let kernel = &out.kernels[0];
        let name = |id: u32| {
            kernel.sites.iter().find(|site| site.id == id).map_or("?".to_owned(), |it| it.name())
        };
        let module = Module::parse(&out.text);
        let mut seen = Vec::new();
        for index in module.functions[0].body.clone() {
            let statement = &module.statements[index];
            if statement.text.starts_with("$profiler_plain") {
                break;
            }
            match Step::of(statement.text) {
                Some(Step::Begin(id)) => seen.push(format!("+{}", name(id))),
                Some(Step::End(id)) => seen.push(format!("-{}", name(id))),
                _ if !body.contains(statement.text) => {}
                _ => seen.extend(Instruction::of(statement).map(|it| it.opcode)),
            }
        }
        seen.extend(kernel.left_out.iter().map(|it| format!("no: {}", it.reason)));
        seen.join(" ")
    }

    #[test]
    fn specifications_come_back_and_wrong_ones_say_what_is_right() {
        for (text, full) in [
            ("lines a=b/x.cu:3=load q", "lines a=b/x.cu:3-3=load q"),
            (" lines C:\\x.cu:40-57=l", "lines C:\\x.cu:40-57=l"),
            ("function tile::load", "function tile::load"),
            ("function operator===eq", "function operator===eq"),
            ("function f = load", "function f=load"),
            ("instruction wgmma.*", "instruction wgmma.*"),
        ] {
            let selection: Selection = text.parse().expect("it is right");
            assert_eq!(selection.to_string(), full);
            assert_eq!(full.parse(), Ok(selection));
        }
        for (text, help) in [
            ("", "begin with `lines`"),
            ("line x.cu:3=a", "begin with `lines`"),
            ("lines x.cu:3", "and a name"),
            ("lines x.cu=a", "give a file, lines"),
            ("lines x.cu:a=a", "as numbers"),
            ("lines x.cu:3-2=a", "the first one first"),
            ("lines x.cu:0-2=a", "from 1 on"),
            ("lines :2=a", "give a file"),
            ("function", "function's name"),
            ("function f=", "after `=`"),
            ("function f=a\nb", "line breaks"),
            ("instruction a b", "pattern for opcodes"),
        ] {
            let error = text.parse::<Selection>().expect_err(text).to_string();
            assert!(error.contains(help), "{text}: {error}");
        }
    }

    #[test]
    fn instructions_are_recorded_with_their_neighbours() {
        let body = "wgmma.fence; add; @%p wgmma.mma; .loc 1 3 1\nwgmma.wait; L: wgmma.mma; ret;";
        assert_eq!(
            recorded(body, &["instruction wgmma.*=mma"]),
            "+mma wgmma.fence -mma add +mma wgmma.mma wgmma.wait -mma +mma wgmma.mma -mma ret"
        );
        assert_eq!(
            recorded(body, &["instruction wgmma.*t"]),
            "wgmma.fence add wgmma.mma +wgmma.*t wgmma.wait -wgmma.*t wgmma.mma ret"
        );
        // What leaves the kernel, and what begins it.
        let body = "@%p exit; add; ret;";
        assert_eq!(recorded(body, &["instruction *=all"]), "+all -all exit -all +all add -all ret");
        assert_eq!(recorded(body, &["instruction exit"]), "+exit -exit exit -exit add ret");
    }

    #[test]
    fn lines_are_recorded_from_edge_to_edge() {
        let lines = |body: &str, lines: &str| recorded(body, &[&format!("lines {lines}=l")]);
        // One stretch of a block, and a whole loop.
        let body =
            ".loc 1 1 1\nadd; .loc 1 2 1\nL: sub; .loc 1 3 1\nmul; @%p bra L; .loc 1 4 1\nret;";
        assert_eq!(lines(body, "softmax.cu:1"), "+l add -l sub mul bra ret");
        assert_eq!(lines(body, "a/softmax.cu:2-3"), "add +l sub mul bra -l ret");
        // Of the loop a part, which the way back enters as well.
        assert_eq!(lines(body, "/a/softmax.cu:2"), "add +l sub -l mul +l bra ret");
        assert_eq!(lines(body, "softmax.cu:3"), "add sub +l mul -l bra -l ret");
        assert_eq!(lines(body, "softmax.cu:9"), "add sub mul bra ret");
        assert_eq!(lines(body, "max.cu:2"), "add sub mul bra ret");
        // What is inlined belongs to the line that it is inlined at.
        let body = ".loc 2 7 1, function_name F1, inlined_at 1 3 1\nadd; .loc 1 4 1\nsub; ret;";
        assert_eq!(lines(body, "softmax.cu:3"), "+l add -l sub ret");
        assert_eq!(lines(body, "tile.h:7"), "add sub ret");
        // A table of branches has no place on its edges.
        let body =
            "T: .branchtargets A, B; brx.idx %r1, T; .loc 1 3 1\nA: add; .loc 1 4 1\nB: ret;";
        let reason = "no: it is entered or left through a table of branches";
        assert_eq!(lines(body, "softmax.cu:3"), format!("brx.idx add ret {reason}"));
    }

    #[test]
    fn functions_are_recorded_where_they_are_inlined_and_called() {
        let body = ".loc 1 3 1\nadd; .loc 2 7 1, function_name F1, inlined_at 1 3 1\nsub; \
                    .loc 2 9 1, function_name F0+1, inlined_at 2 7 1\nmul; \
                    .loc 2 9 1, function_name .debug_str + 1, inlined_at 1 5 1\nmin; .loc 1 4 1\n\
                    call.uni (%r), _ZN4tile5storeEv, (load); call (%r), %rd1; ret;";
        for (name, expected) in [
            ("loads", "add +loads sub mul min -loads call.uni call ret"),
            ("Z4loads", "add sub +Z4loads mul min -Z4loads call.uni call ret"),
            ("tile::store", "add sub mul min +tile::store call.uni -tile::store call ret"),
            ("store::tile", "add sub mul min call.uni call ret"),
            ("load", "add +load sub mul min -load call.uni call ret"),
        ] {
            assert_eq!(recorded(body, &[&format!("function {name}")]), expected);
        }
    }

    #[test]
    fn regions_at_one_place_nest_and_take_the_place_of_loops_and_waits() {
        let body = ".loc 1 1 1\nadd; .loc 1 2 1\nsub; bar.sync; .loc 1 3 1\nmul; ret;";
        let specs = ["instruction bar*=b", "lines softmax.cu:2-3=l", "lines softmax.cu:1-2=m"];
        assert_eq!(recorded(body, &specs), "+m add +l sub +b bar.sync -b -m mul -l ret");
        let text =
            format!(".version 8.0\n.target sm_90\n.file 1 \"x.cu\"\n.entry k() {{ {body} }}");
        let regions = vec!["instruction bar.sync=b".parse().expect("it is right")];
        let out = instrument(&text, &Options { regions, ..Options::default() }).expect("it is PTX");
        let [site] = &out.kernels[0].sites[..] else { panic!("{:?}", out.kernels[0]) };
        assert_eq!((site.name().as_str(), site.kind), ("b", RegionKind::Chosen));
        assert_eq!(out.kernels[0].left_out[0].reason, "`b` has a part or all of it");
        assert!(out.text.contains("bar.sync; bar.warp.sync 0xffffffff;"), "{}", out.text);
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, is_match) in [
            ("a.b", "a.b", true),
            ("a.b", "a.bc", false),
            ("a*", "a", true),
            ("*", "", true),
            ("a*b*c", "a.b.b.c", true),
            ("a*b*c", "a.c.b", false),
            ("*.b", "a.b.b", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), is_match, "{pattern} {text}");
        }
    }
}
