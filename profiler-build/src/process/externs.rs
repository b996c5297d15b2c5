//! Refuses calls of functions that nothing defines.
//!
//! No library is linked to a module: the driver defines only its own system calls, and refuses the
//! module when it is loaded. `memcmp`, which `==` of slices calls, is in `compiler_builtins`, which
//! takes no part in link-time optimisation.

use std::collections::BTreeMap;

use super::demangled;
use super::ptx::{Head, Kind, Module, TokenKind};
use crate::error::ProcessError;

/// The driver's own functions (CUDA, "PTX Writer's Guide to Interoperability", "System Calls").
const SYSTEM_CALLS: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
/// What the names of the driver's other ones begin with.
const SYSTEM_CALL_PREFIX: &str = "__cuda_syscall";

/// Fails if a function of the module calls one that is declared and nowhere defined.
pub(super) fn check(module: &Module<'_>) -> Result<(), ProcessError> {
    let declared = module.statements.iter().filter(|it| it.text.starts_with(".extern"));
    // Each with its first caller.
    let mut callers: BTreeMap<&str, Option<String>> = declared
        .filter_map(Head::of)
        .map(|head| (head.name, None))
        .filter(|(name, _)| !SYSTEM_CALLS.contains(name) && !name.starts_with(SYSTEM_CALL_PREFIX))
        .collect();
    if callers.is_empty() {
        return Ok(());
    }
    for function in &module.functions {
        let body = &module.statements[function.body.clone()];
        for statement in body.iter().filter(|it| it.kind == Kind::Plain) {
            if !statement.mnemonic().is_some_and(|(_, mnemonic)| mnemonic.starts_with("call")) {
                continue;
            }
            for word in statement.tokens().filter(|token| token.kind == TokenKind::Word) {
                if let Some(caller) = callers.get_mut(word.text) {
                    caller.get_or_insert_with(|| demangled(function.name));
                }
            }
        }
    }
    let calls: Vec<String> = callers
        .into_iter()
        .filter_map(|(name, caller)| Some(format!("`{}` calls `{name}`", caller?)))
        .collect();
    if calls.is_empty() {
        Ok(())
    } else {
        Err(ProcessError::Unresolved { calls: calls.join(", ") })
    }
}
