//! Joins the declarations in the two copies of a kernel's body.
//!
//! `#[profiled]` compiles a kernel's body twice, as a copy that records and a plain one, and a text in
//! `asm!` then stands twice in one entry. With a name of its own in each, an array of shared memory
//! takes its bytes twice; with one fixed name ptxas refuses the second declaration. A block runs one
//! of the copies only, all its threads the same, so that both can have one array. A copy is told by
//! the instruction that holds the kernel's own site, which stands where recording begins.

use std::collections::{HashMap, HashSet};

use profiler_wire::site::SiteKind;

use super::{Edit, Marked};
use crate::error::Error;
use profiler_ptx::syntax::{Function, Kind, Module, Statement, Token, TokenKind};

/// Directives that declare a variable in a function's body.
const DECLARATIONS: [&str; 5] = [".reg", ".shared", ".local", ".global", ".const"];

/// Gives each pair of arrays one, in the kernels whose bodies are there twice.
pub(super) fn join(
    module: &Module<'_>,
    marked: &[Marked],
    edits: &mut Vec<Edit>,
) -> Result<(), Error> {
    for function in module.functions.iter().filter(|function| function.is_kernel) {
        let first = marked.partition_point(|marked| marked.statement < function.body.start);
        let begins: Vec<usize> = marked[first..]
            .iter()
            .take_while(|marked| marked.statement < function.body.end)
            .filter(|marked| marked.kind == SiteKind::Kernel)
            .map(|marked| marked.statement - function.body.start)
            .collect();
        if !begins.is_empty() {
            Body::of(module, function).join(&begins, edits)?;
        }
    }
    Ok(())
}

/// The number of a block of braces; the body itself is 0.
type Scope = usize;

/// A kernel's body.
struct Body<'m, 'a> {
    function: &'m Function<'a>,
    /// The end of the brace before it.
    start: usize,
    statements: &'m [Statement<'a>],
    /// For each statement the block in which it stands.
    scopes: Vec<Scope>,
    /// For each block the one around it.
    around: Vec<Option<Scope>>,
    labels: HashMap<(Scope, &'a str), usize>,
}

/// A declaration of shared memory, and the later ones of the same names in its block.
struct Shared<'a> {
    statements: Vec<usize>,
    names: Vec<&'a str>,
    /// Its text, with a line break for each name.
    pattern: String,
}

/// The place of a declaration.
#[derive(PartialEq)]
enum Copy {
    Recording,
    Plain,
    /// In both, by one name.
    Each,
    /// In a part of the code that the compiler left common to both.
    Common,
}

impl<'m, 'a> Body<'m, 'a> {
    fn of(module: &'m Module<'a>, function: &'m Function<'a>) -> Self {
        let statements = &module.statements[function.body.clone()];
        let (mut scopes, mut around, mut scope) = (Vec::new(), vec![None], 0);
        for statement in statements {
            if statement.kind == Kind::Open {
                around.push(Some(scope));
                scope = around.len() - 1;
            }
            scopes.push(scope);
            if statement.kind == Kind::Close {
                scope = around[scope].unwrap_or(0);
            }
        }
        let start = module.statements[function.body.start - 1].end();
        Self { function, start, statements, scopes, around, labels: HashMap::new() }
    }

    fn fail(&self, reason: String) -> Error {
        Error::new(format!(
            "#[profiled] compiles the body of the kernel `{}` twice, and {reason}; or compile it once, \
             by `#[profiled(single_body)]`",
            self.function.name
        ))
    }

    fn join(&mut self, begins: &[usize], edits: &mut Vec<Edit>) -> Result<(), Error> {
        self.find_labels()?;
        let shared = self.declarations(edits);
        // Arrays that cannot be told apart but by their names.
        let mut alike: HashMap<&str, Vec<&Shared<'_>>> = HashMap::new();
        for array in &shared {
            alike.entry(&array.pattern).or_default().push(array);
        }
        if alike.values().all(|arrays| arrays.len() < 2) {
            return Ok(());
        }
        let copies = self.copies(begins);
        let mut joined: HashMap<(Scope, &str), String> = HashMap::new();
        // In the order of the text.
        for array in &shared {
            let Some(arrays) = alike.remove(array.pattern.as_str()) else { continue };
            let of = |copy: &Copy| {
                let is = |array: &&&Shared<'_>| copies(array) == *copy;
                arrays.iter().filter(is).copied().collect::<Vec<_>>()
            };
            let (recording, plain) = (of(&Copy::Recording), of(&Copy::Plain));
            // Where the plain copy has more, it takes what the kernel takes with profiling off.
            let is_unclear = recording.len() > plain.len() && !plain.is_empty()
                || plain.len() > recording.len() && !of(&Copy::Common).is_empty();
            // A name that stands for several, such as `t<3>` for `t0` to `t2`.
            let is_range = array.pattern.contains('<');
            if is_unclear || is_range && !recording.is_empty() && !plain.is_empty() {
                return Err(self.fail(format!(
                    "it is unclear which shared memory that its `asm!` declares (`{}`) is the same in both",
                    array.names.join("`, `")
                )));
            }
            for (recording, plain) in recording.into_iter().zip(plain) {
                self.join_pair([recording, plain], &mut joined, edits);
            }
        }
        self.rename(&joined, edits)
    }

    /// Notes the labels. That of an `asm!` which is there twice is an error, as ptxas would say when
    /// the module is loaded.
    fn find_labels(&mut self) -> Result<(), Error> {
        for (index, statement) in self.statements.iter().enumerate() {
            if statement.kind != Kind::Label {
                continue;
            }
            let label = statement.text.trim_end_matches(':').trim_end();
            if self.labels.insert((self.scopes[index], label), index).is_some() {
                return Err(self.fail(format!(
                    "the label `{label}` of its `asm!` then stands there twice: put braces around \
                     that text, as `{{{{ .. }}}}`"
                )));
            }
        }
        Ok(())
    }

    /// All declarations of shared memory. Takes out the later ones of those, of whatever memory, that
    /// are alike in name too and stand in one block: with profiling off there is one.
    fn declarations(&self, edits: &mut Vec<Edit>) -> Vec<Shared<'a>> {
        let mut seen: HashMap<(Scope, String), Option<usize>> = HashMap::new();
        let mut shared: Vec<Shared<'a>> = Vec::new();
        for (index, statement) in self.statements.iter().enumerate() {
            let Some(directive) = declares(statement) else { continue };
            let words: Vec<&str> = statement.tokens().map(|token| token.text).collect();
            let key = (self.scopes[index], words.join(" "));
            if let Some(first) = seen.get(&key) {
                edits.push((statement.at..statement.end(), String::new()));
                if let Some(first) = first {
                    shared[*first].statements.push(index);
                }
                continue;
            }
            if directive != ".shared" {
                seen.insert(key, None);
                continue;
            }
            seen.insert(key, Some(shared.len()));
            let names: Vec<&str> = names(statement).map(|token| token.text).collect();
            let pattern: Vec<&str> =
                words.iter().map(|word| if names.contains(word) { "\n" } else { word }).collect();
            shared.push(Shared { statements: vec![index], names, pattern: pattern.join(" ") });
        }
        shared
    }

    /// A function that tells in which copy an array is declared.
    fn copies(&self, begins: &[usize]) -> impl Fn(&Shared<'_>) -> Copy {
        let recorded = self.reached(begins, &[]);
        let unrecorded = self.reached(&[0], begins);
        move |array| {
            let is = |index: &usize, wanted| (recorded[*index], unrecorded[*index]) == wanted;
            let in_recording = |index: &usize| is(index, (true, false));
            let in_plain = |index: &usize| is(index, (false, true));
            let statements = &array.statements;
            if statements.iter().all(in_recording) {
                Copy::Recording
            } else if statements.iter().all(in_plain) {
                Copy::Plain
            } else if statements.iter().all(|it| in_recording(it) || in_plain(it)) {
                Copy::Each
            } else {
                Copy::Common
            }
        }
    }

    /// The statements that are reached from these, without going through `closed`.
    fn reached(&self, from: &[usize], closed: &[usize]) -> Vec<bool> {
        let mut reached = vec![false; self.statements.len()];
        for index in closed {
            reached[*index] = true;
        }
        let mut open = from.to_vec();
        while let Some(index) = open.pop() {
            let is_new = reached.get(index).is_some_and(|reached| !reached);
            if is_new {
                reached[index] = true;
                self.follow(index, &mut open);
            }
        }
        for index in closed {
            reached[*index] = false;
        }
        reached
    }

    /// Adds the statements that may follow.
    fn follow(&self, index: usize, open: &mut Vec<usize>) {
        let statement = &self.statements[index];
        let Some((guard, mnemonic)) =
            statement.mnemonic().filter(|_| statement.kind == Kind::Plain)
        else {
            open.push(index + 1);
            return;
        };
        let operation = mnemonic.split('.').find(|part| !part.is_empty()).unwrap_or_default();
        if matches!(operation, "bra" | "brx" | "branchtargets") {
            let labels = statement.tokens().filter_map(|token| {
                self.visible(index, |scope| self.labels.get(&(scope, token.text)).copied())
            });
            open.extend(labels);
        }
        let ends = matches!(operation, "bra" | "brx" | "ret" | "exit" | "trap");
        if !ends || !guard.is_empty() {
            open.push(index + 1);
        }
    }

    /// The first result of `get` for the blocks around a statement, the innermost first.
    fn visible<T>(&self, index: usize, mut get: impl FnMut(Scope) -> Option<T>) -> Option<T> {
        let mut scope = self.scopes[index];
        loop {
            if let Some(found) = get(scope) {
                return Some(found);
            }
            scope = self.around[scope]?;
        }
    }

    /// Replaces both by one declaration, at the beginning of the body.
    fn join_pair(
        &self,
        pair: [&Shared<'a>; 2],
        joined: &mut HashMap<(Scope, &'a str), String>,
        edits: &mut Vec<Edit>,
    ) {
        // Each name is there twice.
        let start = joined.len() / 2;
        let name_of = |number: usize| format!("%profiler_shared_{}", start + number);
        let mut declaration = pair[0].pattern.clone();
        for number in 0..pair[0].names.len() {
            declaration = declaration.replacen('\n', &name_of(number), 1);
        }
        edits.push((self.start..self.start, format!("\n\t{declaration}")));
        for array in pair {
            let scope = self.scopes[array.statements[0]];
            for (number, name) in array.names.iter().enumerate() {
                joined.insert((scope, name), name_of(number));
            }
            let statement = &self.statements[array.statements[0]];
            edits.push((statement.at..statement.end(), String::new()));
        }
    }

    /// Renames joined variables at all their uses.
    fn rename(
        &self,
        joined: &HashMap<(Scope, &'a str), String>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), Error> {
        let names: HashSet<&str> = joined.keys().map(|(_, name)| *name).collect();
        if names.is_empty() {
            return Ok(());
        }
        // Those of the declarations so far.
        let mut declared: HashSet<(Scope, &str)> = HashSet::new();
        for (index, statement) in self.statements.iter().enumerate() {
            let directive = declares(statement);
            for token in statement.tokens().filter(|token| names.contains(token.text)) {
                if directive == Some(".shared") {
                    declared.insert((self.scopes[index], token.text));
                    continue;
                }
                if directive.is_some() {
                    return Err(self.fail(format!(
                        "its `asm!` declares `{}` as shared memory and as something else",
                        token.text
                    )));
                }
                let scope = self.visible(index, |scope| {
                    declared.contains(&(scope, token.text)).then_some(scope)
                });
                let name = scope.and_then(|scope| joined.get(&(scope, token.text)));
                edits.extend(name.map(|name| (token.at..token.end(), name.clone())));
            }
        }
        Ok(())
    }
}

/// The directive of a declaration of variables.
fn declares(statement: &Statement<'_>) -> Option<&'static str> {
    let first = statement.text.starts_with('.').then(|| statement.mnemonic())??;
    DECLARATIONS.into_iter().find(|directive| *directive == first.1)
}

/// The names that a declaration gives: the first word in front of each comma that is none of its
/// directives, nor the number after `.align`. None follows an initialiser.
pub(super) fn names<'a>(statement: &Statement<'a>) -> impl Iterator<Item = Token<'a>> {
    let (mut is_awaited, mut is_alignment) = (true, false);
    statement.tokens().take_while(|token| !token.is_sign("=")).filter(move |token| {
        let is_word = token.kind == TokenKind::Word;
        let is_name = is_word && is_awaited && !is_alignment && !token.text.starts_with('.');
        is_awaited = token.is_sign(",") || is_awaited && !is_name;
        is_alignment = token.text == ".align";
        is_name
    })
}
