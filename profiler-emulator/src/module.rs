//! The sites of a module. A twin has no PTX with site entries, so sites register when they are first executed.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use crate::context;

#[derive(Default)]
struct Module {
    numbers: HashMap<&'static [u8], u32>,
    entries: Vec<(u32, &'static [u8])>,
    numbered: u32,
    /// Sites, and the kernels that executed them, by their numbers.
    executed: BTreeSet<(u32, u32)>,
}

static MODULE: Mutex<Option<Module>> = Mutex::new(None);

/// The first number of an entry, from 1 on; the same at each call. `count` is called once, for the amount of
/// numbers. Sites that a thread executes after the site of a kernel belong to that kernel.
#[must_use]
pub fn number_of(entry: &'static [u8], is_kernel: bool, count: impl FnOnce() -> u32) -> u32 {
    let mut module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
    let module = module.get_or_insert_default();
    let number = match module.numbers.get(entry) {
        Some(&number) => number,
        None => {
            let number = module.numbered + 1;
            module.numbered += count();
            module.numbers.insert(entry, number);
            module.entries.push((number, entry));
            number
        }
    };
    if context::is_inside() {
        context::with("number_of", |context, _| {
            if is_kernel {
                context.kernel.set(number);
            }
            module.executed.insert((number, context.kernel.get()));
        });
    }
    number
}

/// Sites that were executed in this process, each with a kernel that did so, by their numbers.
#[must_use]
pub fn executed() -> Vec<(u32, u32)> {
    let module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
    let module = module.as_ref().map(|module| module.executed.iter().copied().collect());
    module.unwrap_or_default()
}

/// All entries that got a number in this process, with it, in the order of the numbers.
#[must_use]
pub fn numbered_entries() -> Vec<(u32, &'static [u8])> {
    let module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
    module.as_ref().map(|module| module.entries.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{number_of, numbered_entries};

    #[test]
    fn entries_keep_their_numbers() {
        let (first, second): (&[u8], &[u8]) = (b"first", b"second");
        let number = number_of(first, false, || 3);
        assert_eq!(number_of(second, false, || 1), number + 3);
        assert_eq!(number_of(first, false, || unreachable!("it has its numbers")), number);
        assert_eq!(numbered_entries(), [(number, first), (number + 3, second)]);
    }
}
