//! What encloses what: parents and paths.
//!
//! A region lies in the region of the same lane and track that encloses it most closely: of those
//! that contain it, which [`Region::depth`] counts, the one that ends first. A path follows that.

use std::collections::HashMap;

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

/// A lane and its track.
type Recorder = (u8, Option<u32>);

/// A region that had not ended when the last one began.
struct Running {
    end: u64,
    within: Within,
}

/// Goes through the regions (and marks) of a warp in order of their start.
pub(crate) struct Nesting {
    kernel: Within,
    /// For each lane and track the regions that run, the last to end first.
    running: Vec<(Recorder, Vec<Running>)>,
    index: HashMap<Recorder, usize>,
    /// Where the last region was found.
    last: usize,
}

impl Nesting {
    /// At the entry of a warp whose row and path are these.
    pub(crate) fn new(kernel: Within) -> Self {
        Self { kernel, running: Vec::new(), index: HashMap::new(), last: 0 }
    }

    /// The next region, whose row this is: what encloses it, and its own path.
    pub(crate) fn region(
        &mut self,
        region: &Region,
        event: u64,
        paths: &mut Paths,
    ) -> (Within, PathKey) {
        let kernel = self.kernel;
        let running = self.running(region.lane, region.track);
        let end = region.end.map_or(u64::MAX, |end| end.ticks);
        leave(running, region.start.ticks);
        // The decoder's depth also decides where two touch in one tick. The largest stands for all
        // beyond it.
        let enclosing = match region.depth {
            u16::MAX => running.partition_point(|other| other.end >= end),
            depth => usize::from(depth).min(running.len()),
        };
        let parent = enclosing.checked_sub(1).map_or(kernel, |parent| running[parent].within);
        let path = paths.child(parent.path, region.site);
        running.insert(enclosing, Running { end, within: Within { event, path } });
        (parent, path)
    }

    /// A mark at or after the start of the last region and before that of the next: what encloses
    /// it, and its own path.
    pub(crate) fn mark(&mut self, mark: &Mark, paths: &mut Paths) -> (Within, PathKey) {
        let kernel = self.kernel;
        let running = self.running(mark.lane, mark.track);
        leave(running, mark.time.ticks);
        let parent = running.last().map_or(kernel, |running| running.within);
        (parent, paths.child(parent.path, mark.site))
    }

    fn running(&mut self, lane: u8, track: Option<u32>) -> &mut Vec<Running> {
        let key = (lane, track);
        if self.running.get(self.last).is_none_or(|known| known.0 != key) {
            self.last = *self.index.entry(key).or_insert_with(|| {
                self.running.push((key, Vec::new()));
                self.running.len() - 1
            });
        }
        &mut self.running[self.last].1
    }
}

/// Forgets what ended before this moment.
fn leave(running: &mut Vec<Running>, ticks: u64) {
    while running.last().is_some_and(|last| last.end < ticks) {
        running.pop();
    }
}
