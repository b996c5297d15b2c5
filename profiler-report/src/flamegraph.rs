//! A flame graph of the regions, by their own time.

use std::io::{self, Write};

use inferno::flamegraph::{self, Options};
use profiler_trace::Trace;

use crate::collect::Tree;
use crate::rows::Rows;

/// Sums of whole nanoseconds up to here fit what inferno adds them in.
const LONGEST_NS: f64 = 1e18;

/// What a flame graph shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlamegraphOptions {
    /// Its title; by default the names of the kernels.
    pub title: Option<String>,
}

/// Writes an SVG in which each frame is a region within those that it lies in, the kernel at the
/// bottom, as wide as its time in nanoseconds over all warps, lanes and launches. The writer need not
/// be buffered.
///
/// A region lies in another if the same lane recorded both on the same track and the other began no
/// later and ended no earlier. A frame's own time is what no region in it covers; that of a kernel is
/// what no region of the warp covers. Regions without an end, and kernels that a warp never left,
/// have no time of their own. Where several lanes or tracks of a warp record at once, each counts, so
/// that a kernel's frame may be wider than the kernel was long.
///
/// # Errors
///
/// Those of the writer; and [`io::ErrorKind::InvalidInput`] where the trace holds no time at all, or
/// more than 30 years of it.
pub fn write_flamegraph(
    trace: &Trace,
    mut writer: impl Write,
    options: &FlamegraphOptions,
) -> io::Result<()> {
    let rows = Rows::new(trace);
    let mut tree = Tree::default();
    for warp in &trace.warps {
        if let Some(launch) = trace.launches.get(warp.launch) {
            tree.add((launch, warp), &rows, |_, _, _| {}, |_, _| {});
        }
    }
    let mut lines: Vec<String> = (0..tree.nodes.len())
        .map(|node| (stack(&tree, node, &rows), tree.nodes[node].own_ns.round()))
        .filter(|&(_, own_ns)| own_ns > 0.0)
        .map(|(stack, own_ns)| format!("{stack} {}", own_ns as u64))
        .collect();
    if lines.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the trace holds no kernel and no region that ended, so that there is nothing to draw; \
             record at least one launch to its end",
        ));
    }
    let whole: f64 = tree.nodes.iter().map(|node| node.own_ns).sum();
    if whole > LONGEST_NS {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the times of the trace add up to more than 30 years; they are damaged: see its \
             diagnostics, and record again",
        ));
    }
    lines.sort_unstable();
    let mut drawing = Options::default();
    drawing.title = options.title.clone().unwrap_or_else(|| crate::page::kernels(&rows));
    drawing.subtitle = Some(rows.stats.notes.join(" · "));
    drawing.name_type = "Region:".to_owned();
    drawing.count_name = "ns".to_owned();
    // Colours by name: the same trace makes the same bytes.
    drawing.deterministic = true;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut drawing, lines.iter().map(String::as_str), &mut svg)?;
    writer.write_all(&svg)?;
    writer.flush()
}

/// The names from the kernel to the node. What parts frames and lines in the folded form is
/// replaced.
fn stack(tree: &Tree, node: usize, rows: &Rows) -> String {
    let mut frames = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at {
        let node = &tree.nodes[node];
        let name = &rows.list()[node.row].name;
        let visible = |character: char| match character {
            ';' => ':',
            // What stands behind the last space of a line is taken for a number; this one looks alike.
            ' ' => '\u{a0}',
            _ if character.is_control() => ' ',
            _ => character,
        };
        let name: String = name.chars().map(visible).collect();
        frames.push(if name.trim().is_empty() { "(no name)".to_owned() } else { name });
        at = node.parent;
    }
    frames.reverse();
    frames.join(";")
}
