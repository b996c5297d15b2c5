//! Stacks that a thread of the host keeps between its launches.

use std::cell::RefCell;

use corosensei::stack::DefaultStack;

/// The address space that a thread keeps: the stacks of 256 threads, as long as these have 1 MiB.
const KEPT_BYTES: usize = 256 << 20;

thread_local! {
    /// The size of each stack, and those that launches have left. To make one is a call of the system, and its
    /// first use a fault for each page, which together took longer than short kernels run.
    static STACKS: RefCell<(usize, Vec<DefaultStack>)> = const { RefCell::new((0, Vec::new())) };
}

/// Stacks of this size that earlier launches of this thread have left.
pub(crate) fn take(bytes: usize) -> Vec<DefaultStack> {
    STACKS.with_borrow_mut(
        |(size, stacks)| {
            if *size == bytes { std::mem::take(stacks) } else { Vec::new() }
        },
    )
}

/// Keeps stacks of this size for the thread's next launch in place of those that are kept, as many as
/// there is room for.
pub(crate) fn keep(bytes: usize, mut stacks: Vec<DefaultStack>) {
    stacks.truncate(KEPT_BYTES / bytes.max(1));
    let _ = STACKS.try_with(|kept| kept.replace((bytes, stacks)));
}

#[cfg(test)]
mod tests {
    use corosensei::stack::{DefaultStack, Stack};

    use super::{KEPT_BYTES, keep, take};

    #[test]
    fn stacks_are_kept_for_launches_that_want_them_so_large() {
        const BYTES: usize = KEPT_BYTES / 2;
        let stack = || DefaultStack::new(BYTES).expect("address space");
        let stacks = [stack(), stack(), stack()];
        let places = stacks.each_ref().map(|stack| stack.base().get());
        keep(BYTES, stacks.into());
        assert!(take(BYTES - 1).is_empty());
        let kept: Vec<usize> = take(BYTES).iter().map(|stack| stack.base().get()).collect();
        assert_eq!(kept, places[..2], "there is room for two");
        assert!(take(BYTES).is_empty(), "they are the launch's");
    }
}
