//! Regions: what is worth recording of a kernel, and where each begins and ends.
#![cfg(feature = "rewrite")]

use std::collections::BTreeSet;

use crate::graph::{Edge, Graph, Instruction, Way};
use crate::source::{Location, Source};
use crate::syntax::{Function, Module};
use crate::{Chosen, LeftOut};

/// A place between two statements of a kernel. Statements have the numbers that they have in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Point {
    /// Where the kernel begins.
    Entry,
    /// Before a statement.
    Before(usize),
    /// On the way of those who take the branch that is this statement.
    Taken(usize),
    /// On the way of those who leave the kernel by this statement.
    Leave(usize),
    /// After a statement, for those who go on to the next.
    After(usize),
}

/// What a region is around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RegionKind {
    /// A whole loop.
    Loop,
    /// A barrier of the block or the cluster.
    Barrier,
    /// A wait for asynchronous copies.
    CopyWait,
    /// A wait for an mbarrier.
    MbarrierWait,
    /// A wait for asynchronous matrix instructions.
    MmaWait,
    /// A loop that reads memory until another thread has written it.
    Spin,
    /// Code that the user chose.
    Chosen,
}

impl RegionKind {
    /// As it is named in traces and lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Barrier => "barrier",
            Self::CopyWait => "copy wait",
            Self::MbarrierWait => "mbarrier wait",
            Self::MmaWait => "mma wait",
            Self::Spin => "spin",
            Self::Chosen => "chosen",
        }
    }
}

/// A region that can be recorded.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) kind: RegionKind,
    pub(crate) location: Option<Location>,
    pub(crate) begins: BTreeSet<Point>,
    pub(crate) ends: BTreeSet<Point>,
    /// How many statements it spans.
    pub(crate) size: usize,
    /// The loop that it is in, the innermost: it is recorded once an iteration.
    pub(crate) around: Option<usize>,
    /// The barrier that it is around, after which a clock read must be held up.
    pub(crate) barrier: Option<usize>,
    /// Its instructions.
    pub(crate) inside: BTreeSet<usize>,
    /// What the user called it, if the user chose it.
    pub(crate) chosen: Option<Chosen>,
}

impl Region {
    /// Whether the user's region leaves no place for this one: both have the same code, or neither has all of the
    /// other's.
    pub(crate) fn conflicts(&self, chosen: &Self) -> bool {
        let (a, b) = (&self.inside, &chosen.inside);
        a == b || !a.is_disjoint(b) && !a.is_subset(b) && !b.is_subset(a)
    }

    /// By which of two regions with a common point the larger is around the other.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.inside.len(), self.size)
    }

    /// Whether it begins or ends between a barrier and the next instruction.
    pub(crate) fn follows(&self, barrier: usize) -> bool {
        let after = Point::After(barrier);
        self.barrier == Some(barrier)
            || self.chosen.is_some() && (self.begins.contains(&after) || self.ends.contains(&after))
    }
}

/// All regions of a kernel that the rewriter can place, and those that it cannot, with the reason.
pub(crate) fn find(
    module: &Module<'_>,
    function: &Function<'_>,
    graph: &Graph,
    source: &Source,
) -> (Vec<Region>, Vec<LeftOut>) {
    let (mut regions, mut refused) = (Vec::new(), Vec::new());
    let locations = locations(module, function, source);
    let location = |statement: usize| locations[statement - function.body.start].clone();
    let instruction = |statement: usize| Instruction::of(&module.statements[statement]);
    let mut spins = BTreeSet::new();
    for (index, it) in graph.loops.iter().enumerate() {
        let statements =
            || it.blocks.iter().flat_map(|block| graph.blocks[*block].statements.clone());
        let is_innermost =
            !graph.loops[index + 1..].iter().any(|inner| it.blocks.contains(&inner.header));
        let opcodes: Vec<String> =
            statements().filter_map(instruction).map(|instruction| instruction.opcode).collect();
        let kind = if is_innermost { spin_kind(&opcodes) } else { None };
        if kind.is_some() {
            spins.extend(it.blocks.iter().copied());
        }
        let kind = kind.unwrap_or(RegionKind::Loop);
        let at = statements().filter(|it| instruction(*it).is_some()).find_map(location);
        let inside = |block| (it.blocks.contains(&block), it.blocks.contains(&block));
        let inside: Vec<_> = (0..graph.blocks.len()).map(inside).collect();
        match around(module, graph, &inside) {
            Ok((begins, ends, _)) => {
                let (size, around) = (statements().count(), graph.parent(it.header));
                regions.push(Region {
                    kind,
                    location: at,
                    begins,
                    ends,
                    size,
                    around,
                    barrier: None,
                    inside: statements().filter(|it| instruction(*it).is_some()).collect(),
                    chosen: None,
                });
            }
            Err(reason) => {
                let reason = reason.to_owned();
                refused.push(LeftOut { kind, location: at, reason, chosen: None });
            }
        }
    }
    for (block, it) in graph.blocks.iter().enumerate() {
        for statement in it.statements.clone() {
            let Some(instruction) = instruction(statement) else { continue };
            let Some(kind) = wait_kind(&instruction.opcode) else { continue };
            if spins.contains(&block) {
                continue;
            }
            if !instruction.guard.is_empty() {
                let reason = "some threads do not execute it".to_owned();
                refused.push(LeftOut { kind, location: location(statement), reason, chosen: None });
                continue;
            }
            regions.push(Region {
                kind,
                location: location(statement),
                begins: BTreeSet::from([Point::Before(statement)]),
                ends: BTreeSet::from([Point::After(statement)]),
                size: 1,
                around: graph.loop_of(block),
                barrier: (kind == RegionKind::Barrier).then_some(statement),
                inside: BTreeSet::from([statement]),
                chosen: None,
            });
        }
    }
    (regions, refused)
}

/// The place in the source of each statement of a function.
pub(crate) fn locations(
    module: &Module<'_>,
    function: &Function<'_>,
    source: &Source,
) -> Vec<Option<Location>> {
    let mut current = None;
    let statements = &module.statements[function.body.clone()];
    let of = |statement: &crate::syntax::Statement<'_>| {
        current = source.location(module, statement).or(current.take());
        current.clone()
    };
    statements.iter().map(of).collect()
}

/// What an instruction waits for.
fn wait_kind(opcode: &str) -> Option<RegionKind> {
    let parts: Vec<&str> = opcode.split('.').collect();
    let has = |part: &str| parts.contains(&part);
    match parts[0] {
        "bar" | "barrier" if has("cluster") => has("wait").then_some(RegionKind::Barrier),
        "bar" | "barrier" if !has("warp") => {
            (has("sync") || has("red")).then_some(RegionKind::Barrier)
        }
        "cp" if has("async") => {
            (has("wait_group") || has("wait_all")).then_some(RegionKind::CopyWait)
        }
        "wgmma" => has("wait_group").then_some(RegionKind::MmaWait),
        "tcgen05" => has("wait").then_some(RegionKind::MmaWait),
        _ => None,
    }
}

/// What a loop waits for, if it does nothing but ask for that.
fn spin_kind(opcodes: &[String]) -> Option<RegionKind> {
    /// A loop with more instructions does something else besides.
    const SPIN_MAX: usize = 24;
    let is_in = |names: &[&str]| {
        opcodes.iter().any(|opcode| names.iter().any(|name| opcode.starts_with(name)))
    };
    if opcodes.len() > SPIN_MAX {
        return None;
    }
    if is_in(&["mbarrier.try_wait", "mbarrier.test_wait"]) {
        return Some(RegionKind::MbarrierWait);
    }
    let writes = is_in(&["st.", "red.", "cp.", "mma.", "wgmma.", "call", "ldmatrix", "bar"]);
    let reads = is_in(&[
        "ld.volatile",
        "ld.acquire",
        "ld.relaxed",
        "ld.mmio",
        "ld.global.acquire",
        "ld.global.relaxed",
        "atom.",
    ]);
    (reads && !writes).then_some(RegionKind::Spin)
}

/// The points where control comes into a region, and where it leaves it; and the innermost loop in which it does the
/// latter.
type Ends = (BTreeSet<Point>, BTreeSet<Point>, Option<usize>);

/// The points on all edges between blocks. `inside` says of each block whether its begin and its end are in the region.
pub(crate) fn around(
    module: &Module<'_>,
    graph: &Graph,
    inside: &[(bool, bool)],
) -> Result<Ends, &'static str> {
    let (mut begins, mut ends, mut inner) = Ends::default();
    if inside.first().is_some_and(|first| first.0) {
        begins.insert(Point::Entry);
    }
    for (from, block) in graph.blocks.iter().enumerate() {
        let last = block.statements.end - 1;
        for &Edge { to, way } in &block.edges {
            let (was, is) = (inside[from].1, inside[to].0);
            if was == is {
                continue;
            }
            let point = match way {
                Way::Next => Point::After(last),
                Way::Branch(statement) => Point::Taken(statement),
                Way::Table(_) => return Err("it is entered or left through a table of branches"),
            };
            if is {
                begins.insert(point);
                continue;
            }
            let both = |blocks: &BTreeSet<usize>| blocks.contains(&from) && blocks.contains(&to);
            inner = inner.max(graph.loops.iter().rposition(|it| both(&it.blocks)));
            ends.insert(point);
        }
        let leaves = Instruction::of(&module.statements[last])
            .is_some_and(|it| matches!(it.name(), "ret" | "exit"));
        if leaves && inside[from].1 {
            ends.insert(Point::Leave(last));
        }
    }
    Ok((begins, ends, inner))
}
