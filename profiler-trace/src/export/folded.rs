//! Folded stacks: a line for each stack, with the time that was spent in it.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::display::push_frame;
use crate::export::stacks::{Frame, Lanes, Moment, PER_NS, Scale};
use crate::export::tree::{Adder, Tree};
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;

/// Whose stacks are told apart in folded stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StackGroup {
    /// Nobody's: `kernel;region;..`.
    #[default]
    Kernel,
    /// Launches: `kernel;launch 0;region;..`.
    Launch,
    /// SMs, over all launches: `kernel;SM 3;region;..`.
    Sm,
    /// Blocks: `kernel;launch 0;block 3;region;..`.
    Block,
    /// Warps: `kernel;launch 0;block 3;warp 1;region;..`.
    Warp,
}

impl StackGroup {
    /// The frames between the kernel's and those of regions.
    fn frames(self, trace: &Trace, warp: &Warp) -> Vec<Frame> {
        let grid = trace.launches.get(warp.launch).map_or([0; 3], |launch| launch.grid_dim);
        let launch = Frame::Launch(warp.launch);
        let block = Frame::Block { block: warp.block, grid };
        match self {
            Self::Kernel => Vec::new(),
            Self::Launch => vec![launch],
            Self::Sm => vec![Frame::Sm(warp.sm)],
            Self::Block => vec![launch, block],
            Self::Warp => vec![launch, block, Frame::Warp(warp.warp)],
        }
    }

    /// Whether nothing more is added to the stacks of a warp when another begins.
    fn is_done(self, warp: &Warp, next: &Warp) -> bool {
        let launch = warp.launch != next.launch;
        match self {
            Self::Kernel | Self::Sm => false,
            Self::Launch => launch,
            Self::Block | Self::Warp => launch || warp.block != next.block,
        }
    }
}

pub(super) fn write(
    source: &impl WarpSource,
    group: StackGroup,
    writer: &mut impl Write,
) -> io::Result<()> {
    let trace = source.outline();
    let mut lines = Lines { trace, written: HashMap::new(), stack: String::new() };
    let mut tree = Tree::default();
    let mut last: Option<&Warp> = None;
    Progress::expect("warps written", trace.warps.len());
    for (index, warp) in Progress::each(trace.warps.iter().enumerate()) {
        let Some(launch) = trace.launches.get(warp.launch) else { continue };
        if last.is_some_and(|last| group.is_done(last, warp)) {
            lines.write(&std::mem::take(&mut tree), writer)?;
        }
        last = Some(warp);
        add(trace, &source.warp(index), launch.kernel, group, &mut tree);
    }
    lines.write(&tree, writer)
}

fn add(trace: &Trace, warp: &Warp, kernel: SiteIndex, group: StackGroup, tree: &mut Tree) {
    let lanes = Lanes::new(trace, warp);
    for lane in lanes.numbers() {
        let mut roots = vec![lanes.root(lane, kernel)];
        roots.extend(group.frames(trace, warp));
        let has_lost = warp.lost > 0 && lane == 0;
        let mut adder = Adder::new(tree, Scale::Time, roots.len(), has_lost);
        lanes.watch(lane, Scale::Time, &roots, &mut adder);
    }
}

/// Writes lines whose values are whole nanoseconds.
struct Lines<'t> {
    trace: &'t Trace,
    /// The times that were written so far in each root.
    written: HashMap<Frame, Written>,
    stack: String,
}

/// A sum, exactly and in whole nanoseconds. A value is what it grows by, so that frames, which are
/// sums of successive values of their root, are right to a nanosecond.
#[derive(Clone, Copy, Default)]
struct Written {
    sum: Moment,
    ns: Moment,
}

impl Written {
    fn add(&mut self, time: Moment) -> Moment {
        self.sum += time;
        // Readers hold no more than 64 bits.
        let ns = (self.sum + PER_NS / 2).div_euclid(PER_NS).min(u64::MAX.into());
        ns - std::mem::replace(&mut self.ns, ns)
    }
}

impl Lines<'_> {
    fn write(&mut self, tree: &Tree, writer: &mut impl Write) -> io::Result<()> {
        for &root in &tree.roots {
            let frame = tree.nodes[root].frame;
            let mut written = self.written.get(&frame).copied().unwrap_or_default();
            self.node(tree, root, &mut written, writer)?;
            self.written.insert(frame, written);
        }
        Ok(())
    }

    fn node(
        &mut self,
        tree: &Tree,
        index: usize,
        written: &mut Written,
        writer: &mut impl Write,
    ) -> io::Result<()> {
        let node = &tree.nodes[index];
        let length = self.stack.len();
        if length > 0 {
            self.stack.push(';');
        }
        push_frame(&mut self.stack, &node.frame.label(self.trace));
        if node.own.time > 0 || node.children.is_empty() {
            writeln!(writer, "{} {}", self.stack, written.add(node.own.time))?;
        }
        // As deep as stacks, which are bounded.
        node.children.iter().try_for_each(|&child| self.node(tree, child, written, writer))?;
        self.stack.truncate(length);
        Ok(())
    }
}
