//! Paths: the regions that enclose each other, down from a kernel.

use std::collections::BTreeMap;

use crate::model::SiteIndex;

/// How many regions in each other have a path of their own. Of what is in so many, all of one name has
/// the path of these: otherwise tokens that are never ended, which all lie in each other, would have
/// paths whose lengths add up to the square of their number.
pub(crate) const PATH_LEVELS: usize = 64;

/// Stands in a path for what lies between the last of so many regions and a region in them.
pub(crate) const DEEPER: &str = "…";

/// A node of the tree of paths.
struct Node {
    parent: u32,
    site: SiteIndex,
    /// Its depth below the kernel, at most one more than [`PATH_LEVELS`].
    level: usize,
    /// Nodes below it, by their site. Most have few, which a tree holds side by side.
    below: BTreeMap<SiteIndex, u32>,
}

/// A tree of paths: each node is a site below the sites that enclose it, a kernel is a root. Nodes
/// are numbered in the order in which they were seen first.
#[derive(Default)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    roots: BTreeMap<SiteIndex, u32>,
}

/// Stands for the parent of a root.
const NONE: u32 = u32::MAX;

impl Paths {
    /// The root of a kernel.
    pub(crate) fn root(&mut self, kernel: SiteIndex) -> u32 {
        if let Some(node) = self.roots.get(&kernel) {
            return *node;
        }
        let node = self.push(NONE, kernel, 0);
        self.roots.insert(kernel, node);
        node
    }

    /// The node of a site directly below another node; below what is in [`PATH_LEVELS`] regions, that
    /// beside it.
    pub(crate) fn below(&mut self, parent: u32, site: SiteIndex) -> u32 {
        let Node { parent: above, level, .. } = self.nodes[parent as usize];
        let (parent, level) =
            if level > PATH_LEVELS { (above, level) } else { (parent, level + 1) };
        if let Some(node) = self.nodes[parent as usize].below.get(&site) {
            return *node;
        }
        let node = self.push(parent, site, level);
        self.nodes[parent as usize].below.insert(site, node);
        node
    }

    fn push(&mut self, parent: u32, site: SiteIndex, level: usize) -> u32 {
        self.nodes.push(Node { parent, site, level, below: BTreeMap::new() });
        (self.nodes.len() - 1) as u32
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The site of a node.
    pub(crate) fn site(&self, node: u32) -> SiteIndex {
        self.nodes[node as usize].site
    }

    /// A node and those that enclose it, the innermost first, without the kernel's.
    pub(crate) fn lineage(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let parent = |node: &u32| self.nodes[*node as usize].parent;
        std::iter::successors(Some(node), move |node| Some(parent(node)))
            .take_while(move |node| parent(node) != NONE)
    }

    /// The regions that enclose a node's, the outermost first, without the kernel.
    pub(crate) fn enclosing(&self, node: u32) -> Vec<SiteIndex> {
        let mut path: Vec<SiteIndex> = self.lineage(node).skip(1).map(|it| self.site(it)).collect();
        path.reverse();
        path
    }
}
