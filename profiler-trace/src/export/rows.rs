//! Distribution of slices over rows.
//!
//! A row of a timeline holds slices that nest. Regions that a kernel lets cross are parted into as
//! many rows as it takes; nothing is dropped and nothing is nested where it does not belong.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

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
        self.start.total_cmp(&other.start).then_with(|| {
            (self.depth.cmp(&other.depth))
                .then((self.end > self.start).cmp(&(other.end > other.start)))
                .then(other.end.total_cmp(&self.end))
        })
    }

    /// The end and the depth, which decide whether another item lies in this one.
    pub(super) fn ending(&self) -> Ending {
        Ending { end: self.end, depth: self.depth }
    }
}

/// The end of an item and its depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    pub(super) end: f64,
    depth: i32,
}

impl Ending {
    /// Whether `later`, which does not come before this item in order, begins when this has ended.
    pub(super) fn is_before<What>(&self, later: &Item<What>) -> bool {
        self.end < later.start || (self.end == later.start && later.depth <= self.depth)
    }
}

/// A row: its items in order, each nested in all those before it that have not ended.
pub(super) type Row<What> = Vec<Item<What>>;

/// The open items of a row.
struct Open {
    /// The items that had not ended at the last item's start.
    stack: Vec<Ending>,
    /// When the last of the others ended, and the least depth of those that ended then: what comes
    /// next and begins then must be no deeper, or it would be taken to lie in them.
    ended: Ending,
}

impl Open {
    const NEVER: Ending = Ending { end: f64::NAN, depth: i32::MAX };

    fn new() -> Self {
        Self { stack: Vec::new(), ended: Self::NEVER }
    }

    /// Closes what has ended when an item begins.
    fn leave<What>(&mut self, item: &Item<What>) {
        while let Some(Ending { end, depth }) = self.stack.pop_if(|top| top.is_before(item)) {
            let least = if self.ended.end == end { self.ended.depth.min(depth) } else { depth };
            self.ended = Ending { end, depth: least };
        }
    }

    /// The innermost item; where none is open, there is no end.
    fn innermost(&self) -> Ending {
        self.stack.last().copied().unwrap_or(Ending { end: f64::INFINITY, depth: 0 })
    }

    /// Opens an item that fits.
    fn enter<What>(&mut self, item: &mut Item<What>) {
        let Ending { end, depth } = std::mem::replace(&mut self.ended, Self::NEVER);
        if end == item.start {
            item.depth = item.depth.min(depth);
        }
        self.stack.push(item.ending());
    }
}

/// Parts the items of one recorder into rows. The first row is the fullest that keeping the order
/// allows; what does not cross is all there.
pub(super) fn nest<What>(mut items: Vec<Item<What>>) -> Vec<Row<What>> {
    items.sort_by(Item::order);
    // Most items all nest, and are the row.
    let mut open = Open::new();
    let crossing = items.iter_mut().position(|item| {
        open.leave(item);
        let crosses = open.innermost().end < item.end;
        if !crosses {
            open.enter(item);
        }
        crosses
    });
    match crossing {
        None if items.is_empty() => Vec::new(),
        None => vec![items],
        Some(at) => {
            let crossing = items.split_off(at);
            part((items, open), crossing)
        }
    }
}

/// Parts items that cross into rows, of which the first was begun. An item that does not fit into the
/// first lies in the one that ends first of those that it may lie in.
fn part<What>((first, open): (Row<What>, Open), items: Vec<Item<What>>) -> Vec<Row<What>> {
    // The innermost item of each row that runs, the first to end first; of those that end at one time,
    // the deepest. 0 of either sign is one moment.
    let innermost = |open: &Open, row: usize| {
        let Ending { end, depth } = open.innermost();
        (moment(end + 0.0), Reverse(depth), row)
    };
    let mut ends = BTreeSet::from([innermost(&open, 0)]);
    let mut rows = vec![(first, open)];
    for mut item in items {
        while let Some(&(.., at)) = ends.first()
            && rows[at].1.innermost().is_before(&item)
        {
            ends.pop_first();
            rows[at].1.leave(&item);
            ends.insert(innermost(&rows[at].1, at));
        }
        let fitting = (moment(item.end + 0.0), Reverse(i32::MAX), 0)..;
        let at = match ends.range(fitting).next() {
            _ if item.end <= rows[0].1.innermost().end => 0,
            Some(&(.., at)) => at,
            None => rows.len(),
        };
        if at == rows.len() {
            rows.push((Vec::new(), Open::new()));
        }
        let (row, open) = &mut rows[at];
        ends.remove(&innermost(open, at));
        open.enter(&mut item);
        ends.insert(innermost(open, at));
        row.push(item);
    }
    rows.into_iter().map(|(row, _)| row).collect()
}

/// Rows of several recorders on common rows.
pub(super) struct Packed<What> {
    /// The items, where they were.
    sources: Vec<Row<What>>,
    /// The pieces of each common row, in order.
    rows: Vec<Vec<Piece>>,
}

/// An item and all that nests in it: the row that they are from, and where in it.
struct Piece {
    source: usize,
    items: Range<usize>,
}

impl<What: Copy> Packed<What> {
    /// The items of each row.
    pub(super) fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = Item<What>>> {
        let of = |piece: &Piece| self.sources[piece.source][piece.items.clone()].iter().copied();
        self.rows.iter().map(move |pieces| pieces.iter().flat_map(of))
    }
}

/// Lays the rows of several recorders onto the fewest common rows on which no two of them overlap.
/// Nesting items stay together.
pub(super) fn pack<What>(mut sources: Vec<Row<What>>) -> Packed<What> {
    let mut trees: Vec<Item<Piece>> = Vec::new();
    for (source, row) in sources.iter_mut().enumerate() {
        let mut begin = 0;
        while let Some(root) = row.get(begin) {
            let Item { start, end, depth, .. } = *root;
            let is_within = |item: &&Item<What>| !root.ending().is_before(*item);
            let within = row[begin + 1..].iter().take_while(is_within).count();
            let items = begin..begin + 1 + within;
            // Where one tree ends just where the next begins, depths must not join them.
            row[begin].depth = i32::MIN;
            begin = items.end;
            trees.push(Item { start, end, depth, what: Piece { source, items } });
        }
    }
    trees.sort_by(Item::order);
    let mut rows: Vec<Vec<Piece>> = Vec::new();
    // The row that is free first, and since when.
    let mut free: BinaryHeap<Reverse<(i64, usize)>> = BinaryHeap::new();
    for Item { start, end, what: piece, .. } in trees {
        let row = match free.peek() {
            Some(&Reverse((since, row))) if since <= moment(start) => {
                free.pop();
                row
            }
            _ => {
                rows.push(Vec::new());
                rows.len() - 1
            }
        };
        free.push(Reverse((moment(end), row)));
        rows[row].push(piece);
    }
    Packed { sources, rows }
}

/// A time as a whole number of the same order, that of [`f64::total_cmp`].
fn moment(ns: f64) -> i64 {
    let bits = ns.to_bits().cast_signed();
    // The bits of negative numbers are in the reverse order.
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

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
            while open.last().is_some_and(|top| top.ending().is_before(item)) {
                open.pop();
            }
            for around in &open {
                assert!(around.start <= item.start && item.end <= around.end);
            }
            open.push(item);
        }
        row.iter().map(|item| item.what).collect()
    }

    fn packed<What: Copy>(sources: Vec<Row<What>>) -> Vec<Row<What>> {
        pack(sources).rows().map(Iterator::collect).collect()
    }

    proptest! {
        #[test]
        fn packed_rows_keep_sources_apart(
            sources in prop::collection::vec(
                prop::collection::vec((0u8..40, 0u8..20), 0..15), 0..5,
            )
        ) {
            let nested = sources.iter().enumerate();
            let nested = nested.flat_map(|(at, spans)| nest(items(spans.clone(), at * 100)));
            let rows = packed(nested.collect());
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

    /// Rows as they are defined: each item is in the first if it fits, and else in that of the others in
    /// which it fits most closely, all of them tried in turn. One that begins where others of its row ended is no deeper than they were.
    fn where_they_fit(mut items: Vec<Item<usize>>) -> Vec<Vec<usize>> {
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
                ended.extend(std::iter::from_fn(|| {
                    open.pop_if(|top| top.ending().is_before(&item))
                }));
            }
            let fits = |of: &Tried| of.open.last().is_none_or(|top| item.end <= top.end);
            let closeness = |&at: &usize| {
                let top = rows[at].open.last();
                let end = top.map_or(u64::MAX, |top| (top.end + 6.0) as u64);
                (at > 0, end, Reverse(top.map_or(0, |top| top.depth)), at)
            };
            let at = (0..rows.len()).filter(|&at| fits(&rows[at])).min_by_key(closeness);
            let at = at.unwrap_or(rows.len());
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
        fn each_item_is_in_the_row_that_it_fits(
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
            prop_assert_eq!(rows, where_they_fit(items));
        }
    }

    #[test]
    fn depth_decides_where_times_are_equal() {
        let item = |start, end, depth, what| Item { start, end, depth, what };
        // What ended at 5 does not hold what began at 5 and is no deeper; what is deeper it holds.
        let row =
            nest(vec![item(0.0, 5.0, 0, 'a'), item(5.0, 5.0, 0, 'b'), item(5.0, 9.0, 0, 'c')]);
        assert_eq!(row.len(), 1);
        let is_before = |left: usize, right: usize| row[0][left].ending().is_before(&row[0][right]);
        assert!(is_before(0, 1) && is_before(1, 2));
        let row = nest(vec![item(5.0, 5.0, 1, 'b'), item(0.0, 5.0, 0, 'a')]);
        assert_eq!(row[0][0].what, 'a');
        assert!(!row[0][0].ending().is_before(&row[0][1]));
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
        let rows = packed(sources.into_iter().flatten().collect());
        let rows: Vec<String> =
            rows.iter().map(|row| row.iter().map(|item| item.what).collect()).collect();
        assert_eq!(rows, ["ac", "bd"]);
    }
}
