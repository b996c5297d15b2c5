//! Folded stacks: a line for each stack, with the time that was spent in it.

use std::io::{self, Write};

use crate::export::stacks::{Frame, Lanes, Moment, PER_NS, Scale};
use crate::export::tree::{Adder, Tree};
use crate::model::{SiteIndex, Trace, Warp};

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

pub(super) fn write(trace: &Trace, group: StackGroup, writer: &mut impl Write) -> io::Result<()> {
    let mut lines = Lines { trace, written: 0, ns: 0, stack: String::new() };
    let mut tree = Tree::default();
    let mut last: Option<&Warp> = None;
    for warp in &trace.warps {
        let Some(launch) = trace.launches.get(warp.launch) else { continue };
        if last.is_some_and(|last| group.is_done(last, warp)) {
            lines.write(&std::mem::take(&mut tree), writer)?;
        }
        last = Some(warp);
        add(trace, warp, launch.kernel, group, &mut tree);
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
    /// What was to be written so far, exactly and in whole nanoseconds. A value is what the sum of
    /// all grows by, so that frames, which are sums of successive lines, are right to a nanosecond.
    written: Moment,
    ns: Moment,
    stack: String,
}

impl Lines<'_> {
    fn write(&mut self, tree: &Tree, writer: &mut impl Write) -> io::Result<()> {
        tree.roots.iter().try_for_each(|&root| self.node(tree, root, writer))
    }

    fn node(&mut self, tree: &Tree, index: usize, writer: &mut impl Write) -> io::Result<()> {
        let node = &tree.nodes[index];
        let length = self.stack.len();
        if length > 0 {
            self.stack.push(';');
        }
        push_frame(&mut self.stack, &node.frame.label(self.trace));
        if node.own.time > 0 || node.children.is_empty() {
            self.written += node.own.time;
            let ns = (self.written + PER_NS / 2).div_euclid(PER_NS);
            let value = ns - std::mem::replace(&mut self.ns, ns);
            writeln!(writer, "{} {value}", self.stack)?;
        }
        // As deep as stacks, which are bounded.
        node.children.iter().try_for_each(|&child| self.node(tree, child, writer))?;
        self.stack.truncate(length);
        Ok(())
    }
}

/// Adds a name to a stack. What parts frames and lines is written as a sign that looks like it, so
/// that names stay apart and can be read.
fn push_frame(stack: &mut String, name: &str) {
    if name.is_empty() {
        stack.push_str("(no name)");
    }
    stack.extend(name.chars().map(|character| match character {
        ';' => '\u{ff1b}',
        '\u{7f}' => '\u{2421}',
        '\0'..' ' => char::from_u32(0x2400 + u32::from(character)).unwrap_or(' '),
        character if character.is_control() || character.is_whitespace() => ' ',
        character => character,
    }));
}
