//! Paths: the regions that enclose each other, down from a kernel.

use crate::model::SiteIndex;

/// A node of the tree of paths.
struct Node {
    parent: u32,
    site: SiteIndex,
    /// Nodes below it, sorted by their site.
    below: Vec<(SiteIndex, u32)>,
}

/// A tree of paths: each node is a site below the sites that enclose it, a kernel is a root. Nodes
/// are numbered in the order in which they were seen first.
#[derive(Default)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    roots: Vec<(SiteIndex, u32)>,
}

/// Stands for the parent of a root.
const NONE: u32 = u32::MAX;

impl Paths {
    /// The root of a kernel.
    pub(crate) fn root(&mut self, kernel: SiteIndex) -> u32 {
        match self.roots.iter().find(|(site, _)| *site == kernel) {
            Some((_, node)) => *node,
            None => {
                let node = self.push(NONE, kernel);
                self.roots.push((kernel, node));
                node
            }
        }
    }

    /// The node of a site directly below another node.
    pub(crate) fn below(&mut self, parent: u32, site: SiteIndex) -> u32 {
        let below = &self.nodes[parent as usize].below;
        match below.binary_search_by_key(&site, |(site, _)| *site) {
            Ok(at) => below[at].1,
            Err(at) => {
                let node = self.push(parent, site);
                self.nodes[parent as usize].below.insert(at, (site, node));
                node
            }
        }
    }

    fn push(&mut self, parent: u32, site: SiteIndex) -> u32 {
        self.nodes.push(Node { parent, site, below: Vec::new() });
        (self.nodes.len() - 1) as u32
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The site of a node.
    pub(crate) fn site(&self, node: u32) -> SiteIndex {
        self.nodes[node as usize].site
    }

    /// The regions that enclose a node's, the outermost first, without the kernel.
    pub(crate) fn enclosing(&self, node: u32) -> Vec<SiteIndex> {
        let mut path = Vec::new();
        let mut at = self.nodes[node as usize].parent;
        while at != NONE {
            let Node { parent, site, .. } = self.nodes[at as usize];
            if parent != NONE {
                path.push(site);
            }
            at = parent;
        }
        path.reverse();
        path
    }
}
