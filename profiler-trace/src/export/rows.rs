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
        /// When the last of the others ended, and the least depth of those that ended then: what comes
        /// next and begins then must be no deeper, or it would be taken to lie in them.
        ended: (f64, i32),
    }
    const NEVER: (f64, i32) = (f64::NAN, i32::MAX);
    items.sort_by(Item::order);
    let mut rows: Vec<Open<What>> = Vec::new();
    // When the innermost item of each row ends that runs; where none does, there is no end.
    let mut ends = Ends::default();
    // Items that run, the first to end first; of those that end at one time, the deepest.
    let mut running: BinaryHeap<Reverse<(Moment, Reverse<i32>, usize)>> = BinaryHeap::new();
    for mut item in items {
        while let Some(&Reverse((Moment(end), Reverse(depth), at))) = running.peek() {
            if !(end < item.start || (end == item.start && item.depth <= depth)) {
                break;
            }
            running.pop();
            let Open { row, stack, ended } = &mut rows[at];
            while let Some(top) = stack.pop_if(|top| row[*top].ended_before(&item)) {
                let Item { end, depth, .. } = row[top];
                *ended = (end, if ended.0 == end { ended.1.min(depth) } else { depth });
            }
            ends.set(at, stack.last().map_or(f64::INFINITY, |&top| row[top].end));
        }
        let at = ends.first_from(item.end).unwrap_or(rows.len());
        if at == rows.len() {
            rows.push(Open { row: Vec::new(), stack: Vec::new(), ended: NEVER });
        }
        let Open { row, stack, ended } = &mut rows[at];
        let (end, depth) = std::mem::replace(ended, NEVER);
        if end == item.start {
            item.depth = item.depth.min(depth);
        }
        ends.set(at, item.end);
        // 0 of either sign is one moment.
        running.push(Reverse((Moment(item.end + 0.0), Reverse(item.depth), at)));
        stack.push(row.len());
        row.push(item);
    }
    rows.into_iter().map(|open| open.row).collect()
}

/// The end of each row, in a tree in which the first that is late enough is found in as many steps as
/// it has levels: where all items cross, there are as many rows as items.
#[derive(Default)]
struct Ends {
    /// The latest end below each node; those of rows lie in the second half, the root at 1.
    latest: Vec<f64>,
}

impl Ends {
    fn set(&mut self, row: usize, end: f64) {
        if row >= self.latest.len() / 2 {
            self.grow((row + 1).next_power_of_two());
        }
        let mut at = self.latest.len() / 2 + row;
        self.latest[at] = end;
        while at > 1 {
            at /= 2;
            self.latest[at] = self.latest[2 * at].max(self.latest[2 * at + 1]);
        }
    }

    /// Makes room for so many rows, a power of two.
    fn grow(&mut self, rows: usize) {
        let known = self.latest.split_off(self.latest.len() / 2);
        self.latest = vec![f64::NEG_INFINITY; 2 * rows];
        self.latest[rows..rows + known.len()].copy_from_slice(&known);
        for at in (1..rows).rev() {
            self.latest[at] = self.latest[2 * at].max(self.latest[2 * at + 1]);
        }
    }

    /// The first row that ends then or later.
    fn first_from(&self, end: f64) -> Option<usize> {
        let rows = self.latest.len() / 2;
        let mut at = 1;
        if *self.latest.get(at)? < end {
            return None;
        }
        while at < rows {
            at *= 2;
            if self.latest[at] < end {
                at += 1;
            }
        }
        Some(at - rows)
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Item, Row, nest, pack};

    fn items(spans: Vec<(u8, u8)>, from: usize) -> Vec<Item<usize>> {
        let spans = spans.into_iter().enumerate();
        spans
            .map(|(at, (start, length))| Item {
                start: f64::from(start),
                end: f64::from(start) + f64::from(length),
                depth: 0,
                what: from + at,
            })
            .collect()
    }

    /// Opens and closes the items as a writer does, and requires that each nests in those that are
    /// open. Returns who was in a row.
    fn require_nesting(row: &Row<usize>) -> Vec<usize> {
        let mut open: Vec<&Item<usize>> = Vec::new();
        for item in row {
            while open.last().is_some_and(|top| top.ended_before(item)) {
                open.pop();
            }
            for around in &open {
                assert!(around.start <= item.start && item.end <= around.end);
            }
            open.push(item);
        }
        row.iter().map(|item| item.what).collect()
    }

    proptest! {
        #[test]
        fn rows_nest_and_hold_everything(spans in prop::collection::vec((0u8..40, 0u8..20), 0..40)) {
            let count = spans.len();
            let mut all: Vec<usize> = nest(items(spans, 0)).iter().flat_map(require_nesting).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..count).collect::<Vec<_>>());
        }

        #[test]
        fn packed_rows_keep_sources_apart(
            sources in prop::collection::vec(
                prop::collection::vec((0u8..40, 0u8..20), 0..15), 0..5,
            )
        ) {
            let nested = sources.iter().enumerate().map(|(at, spans)| nest(items(spans.clone(), at * 100)));
            let rows = pack(nested.collect());
            let mut count = 0;
            for row in &rows {
                count += require_nesting(row).len();
                for (at, inner) in row.iter().enumerate() {
                    for outer in &row[..at] {
                        let overlap = inner.start < outer.end;
                        prop_assert!(!overlap || inner.what / 100 == outer.what / 100);
                    }
                }
            }
            prop_assert_eq!(count, sources.iter().map(Vec::len).sum::<usize>());
        }
    }

    /// Rows as they are defined: each item is in the first that it fits, all of them tried in turn. One
    /// that begins where others of its row ended is no deeper than they were.
    fn in_the_first_that_fits(mut items: Vec<Item<usize>>) -> Vec<Vec<usize>> {
        #[derive(Default)]
        struct Tried {
            row: Vec<usize>,
            open: Vec<Item<usize>>,
            ended: Vec<Item<usize>>,
        }
        items.sort_by(Item::order);
        let mut rows: Vec<Tried> = Vec::new();
        for mut item in items {
            for Tried { open, ended, .. } in &mut rows {
                ended.extend(std::iter::from_fn(|| open.pop_if(|top| top.ended_before(&item))));
            }
            let fits = |of: &Tried| of.open.last().is_none_or(|top| item.end <= top.end);
            let at = rows.iter().position(fits).unwrap_or(rows.len());
            if at == rows.len() {
                rows.push(Tried::default());
            }
            let ended = rows[at].ended.drain(..).filter(|ended| ended.end == item.start);
            item.depth = ended.map(|ended| ended.depth).fold(item.depth, i32::min);
            rows[at].row.push(item.what);
            rows[at].open.push(item);
        }
        rows.into_iter().map(|of| of.row).collect()
    }

    proptest! {
        #[test]
        fn each_item_is_in_the_first_row_that_it_fits(
            spans in prop::collection::vec((0u8..12, 0u8..6, 0i32..4), 0..60),
        ) {
            let item = |(what, (start, length, depth)): (usize, (u8, u8, i32))| Item {
                start: f64::from(start) - 6.0,
                end: f64::from(start) - 6.0 + f64::from(length),
                depth,
                what,
            };
            let items: Vec<_> = spans.into_iter().enumerate().map(item).collect();
            let rows: Vec<_> = nest(items.clone()).iter().map(require_nesting).collect();
            prop_assert_eq!(rows, in_the_first_that_fits(items));
        }
    }

    #[test]
    fn depth_decides_where_times_are_equal() {
        let item = |start, end, depth, what| Item { start, end, depth, what };
        // What ended at 5 does not hold what began at 5 and is no deeper; what is deeper it holds.
        let row =
            nest(vec![item(0.0, 5.0, 0, 'a'), item(5.0, 5.0, 0, 'b'), item(5.0, 9.0, 0, 'c')]);
        assert_eq!(row.len(), 1);
        assert!(row[0][0].ended_before(&row[0][1]) && row[0][1].ended_before(&row[0][2]));
        let row = nest(vec![item(5.0, 5.0, 1, 'b'), item(0.0, 5.0, 0, 'a')]);
        assert_eq!(row[0][0].what, 'a');
        assert!(!row[0][0].ended_before(&row[0][1]));
    }

    #[test]
    fn what_starts_together_comes_empty_first_and_then_by_length() {
        let item = |end, what| Item { start: 5.0, end, depth: 0, what };
        let (empty, long, short) = (item(5.0, 'e'), item(9.0, 'l'), item(7.0, 's'));
        for items in [
            [empty, long, short],
            [empty, short, long],
            [long, empty, short],
            [long, short, empty],
            [short, empty, long],
            [short, long, empty],
        ] {
            let rows = nest(items.to_vec());
            let rows: Vec<String> =
                rows.iter().map(|row| row.iter().map(|item| item.what).collect()).collect();
            assert_eq!(rows, ["els"]);
        }
    }

    #[test]
    fn packed_rows_are_as_few_as_can_be() {
        let source = |start, end, what| nest(vec![Item { start, end, depth: 0, what }]);
        let sources = [
            source(0.0, 5.0, 'a'),
            source(2.0, 3.0, 'b'),
            source(5.0, 9.0, 'c'),
            source(4.0, 6.0, 'd'),
        ];
        let rows = pack(sources.into());
        let rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(|item| item.what).collect()).collect();
        assert_eq!(rows, ["ac", "bd"]);
    }
}
