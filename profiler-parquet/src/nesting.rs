//! What encloses what: parents and paths.
//!
//! What encloses a record most closely is what [`profiler_trace::Nesting`] says; a path follows that.

use profiler_trace::{Mark, Region, SiteIndex};

/// Names of a path below which the names between are left out: a region deeper than this has the
/// path of its ancestor at this level, "…", and its own name. Otherwise the paths of a recursion
/// would take the square of its depth.
const PATH_LEVELS: u16 = 64;

/// Index of a path.
pub(crate) type PathKey = u32;

/// All paths that occur: a tree of sites.
#[derive(Default)]
pub(crate) struct Paths {
    roots: Vec<(Step, PathKey)>,
    nodes: Vec<Node>,
}

/// A site, and whether names between it and its parent in the tree are left out.
type Step = (SiteIndex, bool);

struct Node {
    parent: Option<PathKey>,
    step: Step,
    level: u16,
    /// Sorted by step.
    children: Vec<(Step, PathKey)>,
}

impl Paths {
    /// The path of a kernel.
    pub(crate) fn root(&mut self, kernel: SiteIndex) -> PathKey {
        self.intern(None, (kernel, false), 1)
    }

    /// The path of what lies directly in `parent`.
    pub(crate) fn child(&mut self, parent: PathKey, site: SiteIndex) -> PathKey {
        let node = &self.nodes[parent as usize];
        let level = node.level;
        if level < PATH_LEVELS {
            return self.intern(Some(parent), (site, false), level + 1);
        }
        let ancestor = if level == PATH_LEVELS { Some(parent) } else { node.parent };
        self.intern(ancestor, (site, true), PATH_LEVELS + 1)
    }

    fn intern(&mut self, parent: Option<PathKey>, step: Step, level: u16) -> PathKey {
        let next = self.nodes.len() as PathKey;
        let siblings = match parent {
            Some(parent) => &mut self.nodes[parent as usize].children,
            None => &mut self.roots,
        };
        match siblings.binary_search_by_key(&step, |sibling| sibling.0) {
            Ok(at) => siblings[at].1,
            Err(at) => {
                siblings.insert(at, (step, next));
                self.nodes.push(Node { parent, step, level, children: Vec::new() });
                next
            }
        }
    }

    /// All paths as text, by their keys.
    pub(crate) fn texts<'a>(&self, name: impl Fn(SiteIndex) -> &'a str) -> Vec<String> {
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let (site, is_cut) = node.step;
            let own = name(site);
            // Parents have smaller keys than their children.
            texts.push(match node.parent {
                None => own.to_owned(),
                Some(parent) => {
                    let between = if is_cut { "/…/" } else { "/" };
                    format!("{}{between}{own}", texts[parent as usize])
                }
            });
        }
        texts
    }
}

/// Where a region or mark lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Within {
    /// The row of what encloses it.
    pub(crate) event: u64,
    /// The path of what encloses it.
    pub(crate) path: PathKey,
}

/// Goes through the regions (and marks) of a warp in order of their start.
pub(crate) struct Nesting {
    kernel: Within,
    regions: profiler_trace::Nesting<Within>,
}

impl Nesting {
    /// At the entry of a warp whose row and path are these.
    pub(crate) fn new(kernel: Within) -> Self {
        Self { kernel, regions: profiler_trace::Nesting::new() }
    }

    /// The next region, whose row this is: what encloses it, and its own path.
    pub(crate) fn region(
        &mut self,
        region: &Region,
        event: u64,
        paths: &mut Paths,
    ) -> (Within, PathKey) {
        let mut parent = self.kernel;
        let own = self.regions.region(region, |enclosing| {
            parent = enclosing.unwrap_or(parent);
            Within { event, path: paths.child(parent.path, region.site) }
        });
        (parent, own.path)
    }

    /// A mark at or after the start of the last region and before that of the next: what encloses
    /// it, and its own path.
    pub(crate) fn mark(&mut self, mark: &Mark, paths: &mut Paths) -> (Within, PathKey) {
        let parent = self.regions.mark(mark).unwrap_or(self.kernel);
        (parent, paths.child(parent.path, mark.site))
    }
}
