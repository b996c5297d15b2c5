//! The nesting of regions: which regions enclose each.

use crate::model::{Region, SiteIndex};

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

    fn below(&mut self, parent: u32, site: SiteIndex) -> u32 {
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

/// One lane's regions on one track, as they come by in order of their start.
struct Open {
    lane: u8,
    track: Option<u32>,
    /// End and node of those that still run, the latest end first.
    running: Vec<(u64, u32)>,
}

/// Follows the regions of one warp, in their order, and tells the node of each, which lies below that
/// of the region that encloses it most closely: of the regions of the same lane and track that
/// contain it, which [`Region::depth`] counts, the one that ends first.
#[derive(Default)]
pub(crate) struct Nesting {
    open: Vec<Open>,
}

impl Nesting {
    /// Begins another warp.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }

    /// The node of the warp's next region.
    pub(crate) fn node(&mut self, paths: &mut Paths, root: u32, region: &Region) -> u32 {
        let same = |open: &Open| open.lane == region.lane && open.track == region.track;
        let at = self.open.iter().position(same).unwrap_or_else(|| {
            let (lane, track) = (region.lane, region.track);
            self.open.push(Open { lane, track, running: Vec::new() });
            self.open.len() - 1
        });
        let running = &mut self.open[at].running;
        while running.last().is_some_and(|(end, _)| *end < region.start.ticks) {
            running.pop();
        }
        let depth = usize::from(region.depth).min(running.len());
        let parent = depth.checked_sub(1).map_or(root, |above| running[above].1);
        let node = paths.below(parent, region.site);
        running.insert(depth, (region.end.map_or(u64::MAX, |end| end.ticks), node));
        node
    }
}
