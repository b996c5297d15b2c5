//! Which slices share a row.
//!
//! A row of a timeline holds slices that nest. Regions that a kernel lets cross are parted into as
//! many rows as it takes; nothing is dropped and nothing is nested where it does not belong.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A slice or an instant on its way to a row, with unrounded times in nanoseconds, both finite and
/// `start <= end`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Item<What> {
    pub(super) start: f64,
    pub(super) end: f64,
    /// How deep its recorder says it was: decides where times alone do not.
    pub(super) depth: i32,
    pub(super) what: What,
}

impl<What> Item<What> {
    /// Parents before children, and what was over before what had yet to come.
    fn order(&self, other: &Self) -> Ordering {
        (self.start.total_cmp(&other.start))
            .then(self.depth.cmp(&other.depth))
            .then((self.end > self.start).cmp(&(other.end > other.start)))
            .then(other.end.total_cmp(&self.end))
    }

    /// Whether `later`, which does not come before `self` in order, begins when `self` has ended.
    pub(super) fn ended_before(&self, later: &Self) -> bool {
        self.end < later.start || (self.end == later.start && later.depth <= self.depth)
    }
}

/// A row: its items in order, each nested in all those before it that have not ended.
pub(super) type Row<What> = Vec<Item<What>>;

/// Parts the items of one recorder into rows. The first row is the fullest that keeping the order
/// allows; what does not cross is all there.
pub(super) fn nest<What>(mut items: Vec<Item<What>>) -> Vec<Row<What>> {
    struct Open<What> {
        row: Row<What>,
        /// Indices of the items that had not ended at the last item's start.
        stack: Vec<usize>,
    }
    items.sort_by(Item::order);
    let mut rows: Vec<Open<What>> = Vec::new();
    for item in items {
        let mut at = 0;
        while at < rows.len() {
            let Open { row, stack } = &mut rows[at];
            while stack.last().is_some_and(|&top| row[top].ended_before(&item)) {
                stack.pop();
            }
            if stack.last().is_none_or(|&top| item.end <= row[top].end) {
                break;
            }
            at += 1;
        }
        if at == rows.len() {
            rows.push(Open { row: Vec::new(), stack: Vec::new() });
        }
        let Open { row, stack } = &mut rows[at];
        stack.push(row.len());
        row.push(item);
    }
    rows.into_iter().map(|open| open.row).collect()
}

/// Lays the rows of several recorders onto the fewest common rows on which no two of them overlap.
/// What nests stays together.
pub(super) fn pack<What>(sources: Vec<Vec<Row<What>>>) -> Vec<Row<What>> {
    let mut trees = Vec::new();
    for row in sources.into_iter().flatten() {
        let mut tree: Row<What> = Vec::new();
        for item in row {
            if tree.first().is_some_and(|root| root.ended_before(&item)) {
                trees.push(std::mem::take(&mut tree));
            }
            tree.push(item);
        }
        if !tree.is_empty() {
            trees.push(tree);
        }
    }
    trees.sort_by(|left, right| left[0].order(&right[0]));
    let mut rows: Vec<Row<What>> = Vec::new();
    // The row that is free first, and since when.
    let mut free: BinaryHeap<Reverse<(Moment, usize)>> = BinaryHeap::new();
    for mut tree in trees {
        // Where one tree ends just where the next begins, depths must not join them.
        tree[0].depth = i32::MIN;
        let (start, end) = (Moment(tree[0].start), Moment(tree[0].end));
        let row = match free.peek() {
            Some(&Reverse((since, row))) if since <= start => {
                free.pop();
                row
            }
            _ => {
                rows.push(Vec::new());
                rows.len() - 1
            }
        };
        free.push(Reverse((end, row)));
        rows[row].extend(tree);
    }
    rows
}

/// A time in total order.
#[derive(Clone, Copy)]
struct Moment(f64);

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Moment {}
impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
