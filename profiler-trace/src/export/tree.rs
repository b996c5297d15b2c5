//! The stacks of a trace as a tree, each with the time that was spent in it and in no deeper one.

use std::collections::HashMap;

use crate::export::stacks::{Frame, Moment, Scale, Watch};

/// A stack: the frame here, in that of the parent.
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) frame: Frame,
    /// Indices of the nodes in it, in the order in which they were first seen.
    pub(super) children: Vec<usize>,
    /// The time in this stack and in no deeper one.
    pub(super) own: Own,
}

/// Time and ticks of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Own {
    pub(super) time: Moment,
    pub(super) ticks: Moment,
}

/// All stacks so far. It grows with their variety, not with their number.
#[derive(Default)]
pub(super) struct Tree {
    /// Parents before what is in them.
    pub(super) nodes: Vec<Node>,
    /// Those without a parent.
    pub(super) roots: Vec<usize>,
    index: HashMap<(Option<usize>, Frame), usize>,
}

impl Tree {
    /// The node of a frame in another, which is made if it is new.
    pub(super) fn child(&mut self, parent: Option<usize>, frame: Frame) -> usize {
        let Self { nodes, roots, index } = self;
        *index.entry((parent, frame)).or_insert_with(|| {
            let new = nodes.len();
            nodes.push(Node { parent, frame, children: Vec::new(), own: Own::default() });
            match parent {
                Some(parent) => nodes[parent].children.push(new),
                None => roots.push(new),
            }
            new
        })
    }
}

/// Adds the time of one lane to a tree.
pub(super) struct Adder<'a> {
    tree: &'a mut Tree,
    scale: Scale,
    at: Option<usize>,
    since: Moment,
    /// The frame that takes the time of the innermost root, if not that root.
    outside: Option<(usize, Frame)>,
}

impl<'a> Adder<'a> {
    /// For a lane whose stacks begin with `roots` frames. If it lost records, nobody knows whether
    /// the time outside regions is of none, and it is kept apart.
    pub(super) fn new(tree: &'a mut Tree, scale: Scale, roots: usize, has_lost: bool) -> Self {
        let outside = has_lost.then_some((roots, Frame::RecordsLost));
        Self { tree, scale, at: None, since: 0, outside }
    }

    fn advance(&mut self, to: Moment) {
        let since = std::mem::replace(&mut self.since, to);
        let Some(mut node) = self.at else { return };
        let own = to - since;
        if own > 0 {
            if let Some((depth, frame)) = self.outside
                && self.depth() == depth
            {
                node = self.tree.child(Some(node), frame);
            }
            let sum = &mut self.tree.nodes[node].own;
            match self.scale {
                Scale::Time => sum.time += own,
                Scale::Ticks => sum.ticks += own,
            }
        }
    }

    /// The number of open frames.
    fn depth(&self) -> usize {
        std::iter::successors(self.at, |&node| self.tree.nodes[node].parent).count()
    }
}

impl Watch for Adder<'_> {
    fn open(&mut self, at: Moment, frame: Frame) {
        self.advance(at);
        self.at = Some(self.tree.child(self.at, frame));
    }

    fn close(&mut self, at: Moment) {
        self.advance(at);
        self.at = self.at.and_then(|node| self.tree.nodes[node].parent);
    }
}
