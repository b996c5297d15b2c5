//! A sequence that takes an element anywhere without moving all after it.

use std::collections::VecDeque;

/// Elements of a part, from which on it is cut in two.
const PART_MOST: usize = 1024;

/// Elements in order, in parts of a limited size, so that one that is inserted in the middle moves those
/// of its part alone. At its end it is as quick as a `Vec`: it is searched from there.
#[derive(Debug)]
pub(crate) struct Sequence<T> {
    /// None is empty but the last, which is always there. Parts that were emptied at the end lie after
    /// `used` and are used again.
    parts: Vec<VecDeque<T>>,
    /// The number of parts in use.
    used: usize,
    length: usize,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self { parts: Vec::new(), used: 0, length: 0 }
    }
}

impl<T> Sequence<T> {
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn clear(&mut self) {
        self.parts[..self.used].iter_mut().for_each(VecDeque::clear);
        (self.used, self.length) = (0, 0);
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.parts[..self.used].last().and_then(VecDeque::back)
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let last = self.parts[..self.used].last_mut()?;
        let popped = last.pop_back();
        if last.is_empty() {
            self.used -= 1;
        }
        self.length -= usize::from(popped.is_some());
        popped
    }

    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (part, at) = self.place(index);
        self.parts[..self.used].get(part)?.get(at)
    }

    /// Inserts an element, after which those from `index` on then stand; at the end where there are none.
    pub(crate) fn insert(&mut self, index: usize, element: T) {
        let (mut part, mut at) = self.place(index);
        if part == self.used {
            // After all of them: in the last part, where there is one.
            part = self.used.saturating_sub(1);
            at = self.parts.get(part).map_or(0, VecDeque::len);
        }
        if self.used == 0 || self.parts[part].len() == PART_MOST {
            // Of a full part the half of it; after the last element a new one.
            let cut = if at == PART_MOST { PART_MOST } else { PART_MOST / 2 };
            let rest = if self.used == 0 { None } else { Some(self.parts[part].split_off(cut)) };
            let new = if self.used == 0 { 0 } else { part + 1 };
            self.open(new);
            self.parts[new].extend(rest.into_iter().flatten());
            if self.used > 1 && at >= cut {
                (part, at) = (new, at - cut);
            }
        }
        self.parts[part].insert(at, element);
        self.length += 1;
    }

    /// How many elements from the first on are such that this holds of them; of none after them it does.
    pub(crate) fn partition_point(&self, mut holds: impl FnMut(&T) -> bool) -> usize {
        let parts = &self.parts[..self.used];
        let part = parts.partition_point(|part| part.back().is_some_and(&mut holds));
        let before: usize = parts[..part].iter().map(VecDeque::len).sum();
        before + parts.get(part).map_or(0, |part| part.partition_point(holds))
    }

    /// An empty part at this place.
    fn open(&mut self, part: usize) {
        if self.parts.len() == self.used {
            self.parts.push(VecDeque::new());
        }
        self.parts[part..=self.used].rotate_right(1);
        self.used += 1;
    }

    /// The part in which an element stands and where in it; of the first after the last, that no part has.
    fn place(&self, index: usize) -> (usize, usize) {
        let mut begin = self.length;
        if index >= begin {
            return (self.used, 0);
        }
        for (part, elements) in self.parts[..self.used].iter().enumerate().rev() {
            begin -= elements.len();
            if index >= begin {
                return (part, index - begin);
            }
        }
        (self.used, 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{PART_MOST, Sequence};

    fn elements(sequence: &Sequence<u32>) -> Vec<u32> {
        (0..sequence.len()).map(|at| *sequence.get(at).expect("it has as many")).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// It does what a vector does.
        #[test]
        fn it_is_a_vector(
            changes in prop::collection::vec((0_u32..20, 0.0_f64..1.0), 0..6000),
            front: bool,
        ) {
            let (mut sequence, mut vector) = (Sequence::default(), Vec::new());
            for (number, (what, place)) in (0..).zip(changes) {
                let at = if front { 0 } else { (place * (vector.len() + 1) as f64) as usize };
                match what {
                    0 if number % 1000 == 999 => {
                        sequence.clear();
                        vector.clear();
                    }
                    0..=3 => prop_assert_eq!(sequence.pop(), vector.pop()),
                    4..=9 => {
                        sequence.insert(vector.len(), number);
                        vector.push(number);
                    }
                    _ => {
                        sequence.insert(at, number);
                        vector.insert(at, number);
                    }
                }
                prop_assert_eq!(sequence.last(), vector.last());
                prop_assert_eq!(sequence.len(), vector.len());
                prop_assert_eq!(sequence.get(at), vector.get(at));
            }
            prop_assert_eq!(elements(&sequence), vector);
        }
    }

    #[test]
    fn it_is_searched_as_a_vector_is() {
        let mut sequence = Sequence::default();
        let count = 5 * PART_MOST as u32;
        for number in (0..count).rev() {
            sequence.insert(0, number);
        }
        for below in [0, 1, PART_MOST as u32, 2000, count - 1, count] {
            assert_eq!(sequence.partition_point(|number| *number < below), below as usize);
        }
        assert_eq!(sequence.get(count as usize), None);
        assert_eq!(Sequence::<u32>::default().partition_point(|_| true), 0);
    }
}
