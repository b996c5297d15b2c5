//! Refuses the use of functions and variables that nothing defines.
//!
//! No library is linked to a module. The driver defines only its own system calls; it refuses the
//! module when it is loaded, or silently adds a variable of its own. `memcmp`, which `==` of slices
//! calls, is in `compiler_builtins`, which takes no part in link-time optimisation.

use std::collections::{BTreeMap, HashSet};

use super::copies::names;
use super::demangled;
use crate::error::Error;
use profiler_ptx::syntax::{Head, Kind, Module, Statement, TokenKind, Tokens};

/// The driver's own functions (CUDA, "PTX Writer's Guide to Interoperability", "System Calls").
const SYSTEM_CALLS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
/// The begin of the names of the driver's other functions.
const SYSTEM_CALL_PREFIX: &str = "__cuda_syscall";

/// Fails if a function or an initialiser uses a name that is declared and nowhere defined, or if a
/// function calls one that is not even declared.
pub(super) fn check<'a>(module: &Module<'a>) -> Result<(), Error> {
    let mut declared: HashSet<&str> = HashSet::new();
    let mut defined: HashSet<&str> = module.functions.iter().map(|it| it.name).collect();
    let mut initialised: Vec<&Statement<'_>> = Vec::new();
    for (index, statement) in module.statements.iter().enumerate() {
        let is_directive = statement.kind == Kind::Plain && statement.text.starts_with('.');
        if !is_directive || module.function_of(index).is_some() {
            continue;
        }
        let mut names = names(statement).map(|token| token.text);
        if let Some(head) = Head::of(statement) {
            declared.insert(head.name);
        } else if statement.text.starts_with(".alias") {
            defined.extend(names.next());
        } else if !statement.text.starts_with(".extern") {
            defined.extend(names);
            initialised.push(statement);
        } else if statement.tokens().all(|token| token.text != ".shared") {
            declared.extend(names);
        }
    }
    let is_defined = |name: &str| {
        defined.contains(name)
            || SYSTEM_CALLS.contains(&name)
            || name.starts_with(SYSTEM_CALL_PREFIX)
    };
    declared.retain(|name| !is_defined(name));
    // Each with its first user.
    let mut uses: BTreeMap<&str, String> = BTreeMap::new();
    let mut add_use = |user: &str, verb: &str, name: &'a str| {
        uses.entry(name).or_insert_with(|| format!("`{}` {verb} `{name}`", demangled(user)));
    };
    for function in &module.functions {
        for statement in &module.statements[function.body.clone()] {
            if let Some(name) = callee(statement).filter(|name| !is_defined(name)) {
                add_use(function.name, "calls", name);
            }
            for name in used(statement, &declared) {
                add_use(function.name, "uses", name);
            }
        }
    }
    for statement in initialised {
        for name in used(statement, &declared) {
            add_use(names(statement).next().map_or("", |name| name.text), "uses", name);
        }
    }
    if uses.is_empty() {
        return Ok(());
    }
    let uses: Vec<String> = uses.into_values().collect();
    Err(Error::new(format!(
        "{}, which the module does not define, and no library is linked to it: take mathematics \
         from the crate `libm`, compare slices by `a.iter().eq(b)` in place of `a == b`, which calls \
         `memcmp`, and write any other function or variable in Rust",
        uses.join(", ")
    )))
}

/// The names that a statement uses.
fn used<'a>(statement: &Statement<'a>, names: &HashSet<&str>) -> Vec<&'a str> {
    if names.is_empty() || statement.kind != Kind::Plain {
        return Vec::new();
    }
    let words = statement.tokens().filter(|token| token.kind == TokenKind::Word);
    words.map(|token| token.text).filter(|word| names.contains(word)).collect()
}

/// The function that a statement calls by its name. A call through a register has one word more, which
/// names the prototype or the functions that it may go to.
fn callee<'a>(statement: &Statement<'a>) -> Option<&'a str> {
    if statement.kind != Kind::Plain || !statement.text.starts_with(['c', '@']) {
        return None;
    }
    let (guard, mnemonic) = statement.mnemonic()?;
    if mnemonic.split('.').next() != Some("call") {
        return None;
    }
    let mut depth = 0_i32;
    let mut words = Tokens::of(&statement.text[guard.len()..]).filter(|token| {
        depth += i32::from(token.is_sign("(")) - i32::from(token.is_sign(")"));
        depth == 0 && token.kind == TokenKind::Word && !token.text.starts_with('.')
    });
    let name = words.nth(1)?.text;
    words.next().is_none().then_some(name)
}
