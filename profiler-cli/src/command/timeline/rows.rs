//! Which warps stand in which row.

use clap::ValueEnum;
use profiler_trace::{Launch, Trace, Warp};

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RowKind {
    /// A warp
    Warp,
    /// A block, all its warps together
    Block,
    /// An SM, all warps that ran there together
    Sm,
}

/// The label of the line under the rows.
pub(super) const ACTIVE: &str = "active";

/// What is drawn in one line.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) label: String,
    /// Indices into [`Trace::warps`].
    pub(super) warps: Vec<usize>,
}

/// The warps of a launch that are wanted.
pub(super) fn select(
    trace: &Trace,
    launch: &Launch,
    is_wanted: impl Fn(&Warp) -> bool,
) -> Vec<usize> {
    let mut selected: Vec<usize> = launch.warps.clone().collect();
    selected.retain(|&index| trace.warps.get(index).is_some_and(&is_wanted));
    selected
}

/// Rows of the kind that was asked for, or else of the finest kind that fits; at most so many.
pub(super) fn arrange(
    trace: &Trace,
    launch: &Launch,
    selected: &[usize],
    kind: Option<RowKind>,
    most: usize,
) -> (RowKind, Vec<Row>) {
    let of = |kind| rows(trace, launch, selected, kind);
    let (kind, rows) = match kind {
        Some(kind) => (kind, of(kind)),
        None => [RowKind::Warp, RowKind::Block]
            .into_iter()
            .map(|kind| (kind, of(kind)))
            .find(|(_, rows)| rows.len() <= most)
            .unwrap_or_else(|| (RowKind::Sm, of(RowKind::Sm))),
    };
    (kind, join(rows, most))
}

fn rows(trace: &Trace, launch: &Launch, selected: &[usize], kind: RowKind) -> Vec<Row> {
    // What tells rows apart, in their order.
    let key = |warp: &Warp| {
        let [x, y, z] = warp.block;
        match kind {
            RowKind::Warp => [z, y, x, warp.warp],
            RowKind::Block => [z, y, x, 0],
            RowKind::Sm => [warp.sm, 0, 0, 0],
        }
    };
    let mut keyed: Vec<_> =
        selected.iter().map(|&index| (key(&trace.warps[index]), index)).collect();
    keyed.sort_unstable();
    keyed
        .chunk_by(|left, right| left.0 == right.0)
        .map(|chunk| {
            let warps: Vec<usize> = chunk.iter().map(|(_, index)| *index).collect();
            let label = label(&trace.warps[warps[0]], launch, kind);
            Row { label, warps }
        })
        .collect()
}

fn label(warp: &Warp, launch: &Launch, kind: RowKind) -> String {
    let [x, y, z] = warp.block;
    let block = match launch.grid_dim {
        [_, 1, 1] if y == 0 && z == 0 => format!("block {x}"),
        [_, _, 1] if z == 0 => format!("block {x},{y}"),
        _ => format!("block {x},{y},{z}"),
    };
    match kind {
        RowKind::Warp => format!("{block} warp {}", warp.warp),
        RowKind::Block => block,
        RowKind::Sm => format!("SM {}", warp.sm),
    }
}

/// Joins neighbours, as many to each row, until at most so many rows are left.
fn join(rows: Vec<Row>, most: usize) -> Vec<Row> {
    let to_each = rows.len().div_ceil(most).max(1);
    if to_each == 1 {
        return rows;
    }
    let mut joined: Vec<Row> = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        match joined.last_mut() {
            Some(last) if index % to_each != 0 => {
                last.warps.extend(row.warps);
                let begin = last.label.find(" to ").unwrap_or(last.label.len());
                last.label.truncate(begin);
                last.label += " to ";
                last.label += shorter(&row.label, &last.label);
            }
            _ => joined.push(row),
        }
    }
    joined
}

/// A label behind another one: without the words that both begin with.
fn shorter<'l>(label: &'l str, behind: &str) -> &'l str {
    let word = behind.split(' ').next().unwrap_or_default();
    label.strip_prefix(word).map_or(label, str::trim_start)
}
