//! The sites of a module. A twin has no PTX with site entries, so sites register when they are first executed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use crate::context;

#[derive(Default)]
struct Module {
    sites: HashMap<&'static [u8], Site>,
    /// Those of `sites` by where their entries lie: looked up at each record, when the bytes would take long.
    places: BTreeMap<(usize, usize), Site>,
    entries: Vec<(u32, &'static [u8])>,
    numbered: u32,
    /// Sites, and the kernels that executed them, by their numbers.
    executed: BTreeSet<(u32, u32)>,
}

#[derive(Clone, Copy)]
struct Site {
    number: u32,
    is_kernel: bool,
}

static MODULE: Mutex<Option<Module>> = Mutex::new(None);

/// The first number of an entry, from 1 on; the same at each call. `read` is called for an entry that has none:
/// whether it is of a kernel, and the amount of numbers. Sites that a thread executes after the site of a
/// kernel belong to that kernel.
#[must_use]
pub fn number_of(entry: &'static [u8], read: impl FnOnce() -> (bool, u32)) -> u32 {
    let mut module = MODULE.lock().unwrap_or_else(PoisonError::into_inner);
    let module = module.get_or_insert_default();
    let place = (entry.as_ptr().addr(), entry.len());
    let site = match module.places.get(&place) {
        Some(&site) => site,
        None => {
            let site = *module.sites.entry(entry).or_insert_with(|| {
                let (is_kernel, count) = read();
                let number = module.numbered + 1;
                module.numbered += count;
                module.entries.push((number, entry));
                Site { number, is_kernel }
            });
            module.places.insert(place, site);
            site
        }
    };
    if context::is_inside() {
        context::with("number_of", |context, _| {
            if site.is_kernel {
                context.kernel.set(site.number);
            }
            module.executed.insert((site.number, context.kernel.get()));
        });
    }
    site.number
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
        let number = number_of(first, || (false, 3));
        assert_eq!(number_of(second, || (false, 1)), number + 3);
        assert_eq!(number_of(first, || unreachable!("it has its numbers")), number);
        assert_eq!(numbered_entries(), [(number, first), (number + 3, second)]);
    }
}
