//! The control flow graph of a kernel: blocks of statements, the edges between them, loops.
#![cfg(feature = "rewrite")]

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use petgraph::algo::dominators;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::syntax::{Function, Kind, Module, Statement, TokenKind};

/// An instruction: its guard (such as `@!%p1`, or empty), its opcode with all modifiers, its operands' words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    pub(crate) guard: &'a str,
    pub(crate) opcode: String,
    pub(crate) operands: Vec<&'a str>,
}

impl<'a> Instruction<'a> {
    /// `None` for a directive, a label, a brace.
    pub(crate) fn of(statement: &Statement<'a>) -> Option<Self> {
        if statement.kind != Kind::Plain || statement.text.starts_with('.') {
            return None;
        }
        let (guard, opcode) = statement.mnemonic()?;
        let rest = &statement.text[guard.len()..];
        let words = crate::syntax::Tokens::of(rest).filter(|token| token.kind == TokenKind::Word);
        // Modifiers may be words of their own, if white space divides them.
        let operands = words.map(|token| token.text).skip(1).filter(|word| !word.starts_with('.'));
        Some(Self {
            guard: guard.trim_end(),
            opcode: opcode.into_owned(),
            operands: operands.collect(),
        })
    }

    /// The opcode before its first dot.
    pub(crate) fn name(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Whether no thread that executes it goes on after it.
    pub(crate) fn is_exit(&self) -> bool {
        matches!(self.name(), "ret" | "exit" | "trap")
    }
}

/// How control comes from one block to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// By falling through.
    Next,
    /// By the `bra` that is this statement.
    Branch(usize),
    /// By the `brx.idx` that is this statement.
    Table(usize),
}

/// An edge to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    pub(crate) to: usize,
    pub(crate) way: Way,
}

/// Statements that are executed one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The numbers of its statements in the module, one at the least.
    pub(crate) statements: Range<usize>,
    pub(crate) edges: Vec<Edge>,
}

/// A natural loop.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    pub(crate) header: usize,
    pub(crate) blocks: BTreeSet<usize>,
}

/// A kernel's control flow.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) blocks: Vec<Block>,
    /// Outer loops come before the loops in them.
    pub(crate) loops: Vec<Loop>,
}

impl Graph {
    /// Builds the graph of a function.
    ///
    /// # Errors
    ///
    /// The name of a label that is branched to and is nowhere.
    pub(crate) fn of(module: &Module<'_>, function: &Function<'_>) -> Result<Self, String> {
        let blocks = blocks(module, function)?;
        let loops = loops(&blocks);
        Ok(Self { blocks, loops })
    }

    /// The innermost loop around a block.
    pub(crate) fn loop_of(&self, block: usize) -> Option<usize> {
        self.loops.iter().rposition(|it| it.blocks.contains(&block))
    }

    /// The innermost loop around the loop with this header.
    pub(crate) fn parent(&self, header: usize) -> Option<usize> {
        self.loops.iter().rposition(|it| it.header != header && it.blocks.contains(&header))
    }
}

/// Labels by the scope that they are declared in: braces hide names (PTX ISA, "Labels").
#[derive(Default)]
struct Labels<'a> {
    parents: Vec<usize>,
    /// The statement of a label.
    of: HashMap<(usize, &'a str), usize>,
}

impl Labels<'_> {
    fn find(&self, mut scope: usize, name: &str) -> Option<usize> {
        loop {
            if let Some(&statement) = self.of.get(&(scope, name)) {
                return Some(statement);
            }
            if scope == 0 {
                return None;
            }
            scope = self.parents[scope];
        }
    }
}

fn blocks(module: &Module<'_>, function: &Function<'_>) -> Result<Vec<Block>, String> {
    let body = function.body.clone();
    let mut labels = Labels { parents: vec![0], ..Labels::default() };
    let (mut scope, mut scopes) = (0, Vec::with_capacity(body.len()));
    for statement in &module.statements[body.clone()] {
        match statement.kind {
            Kind::Open => {
                labels.parents.push(scope);
                scope = labels.parents.len() - 1;
            }
            Kind::Close => scope = labels.parents[scope],
            Kind::Label => {
                let name = statement.text.trim_end_matches(':').trim_end();
                labels.of.insert((scope, name), body.start + scopes.len());
            }
            Kind::Plain => {}
        }
        scopes.push(scope);
    }
    // A block begins at the first statement, at each label, and after each jump.
    let mut starts = Vec::new();
    let mut begins = true;
    for (index, statement) in (body.start..).zip(&module.statements[body.clone()]) {
        if begins || statement.kind == Kind::Label {
            starts.push(index);
        }
        begins = Instruction::of(statement)
            .is_some_and(|it| it.is_exit() || matches!(it.name(), "bra" | "brx"));
    }
    let block_at = |statement: usize| starts.partition_point(|start| *start <= statement) - 1;
    let mut blocks = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(body.end);
        let last = end - 1;
        let find = |name: &str| {
            labels.find(scopes[last - body.start], name).ok_or_else(|| name.to_owned())
        };
        let mut edges = Vec::new();
        let instruction = Instruction::of(&module.statements[last]);
        let mut goes_on = true;
        if let Some(instruction) = instruction {
            match instruction.name() {
                "bra" => {
                    let target = instruction.operands.last().copied().unwrap_or_default();
                    edges.push(Edge { to: block_at(find(target)?), way: Way::Branch(last) });
                    goes_on = !instruction.guard.is_empty();
                }
                "brx" => {
                    let table = find(instruction.operands.last().copied().unwrap_or_default())?;
                    for name in targets(module, table) {
                        edges.push(Edge { to: block_at(find(name)?), way: Way::Table(last) });
                    }
                    goes_on = !instruction.guard.is_empty();
                }
                _ if instruction.is_exit() => goes_on = !instruction.guard.is_empty(),
                _ => {}
            }
        }
        if goes_on && end < body.end {
            edges.push(Edge { to: index + 1, way: Way::Next });
        }
        blocks.push(Block { statements: start..end, edges });
    }
    Ok(blocks)
}

/// The labels in the `.branchtargets` directive after its own label.
fn targets<'a>(module: &Module<'a>, label: usize) -> Vec<&'a str> {
    let list = module.statements.get(label + 1).filter(|it| it.text.starts_with(".branchtargets"));
    let words = list.into_iter().flat_map(Statement::tokens);
    words.filter(|token| token.kind == TokenKind::Word).map(|token| token.text).skip(1).collect()
}

fn loops(blocks: &[Block]) -> Vec<Loop> {
    let mut graph = DiGraph::<(), ()>::with_capacity(blocks.len(), 2 * blocks.len());
    for _ in blocks {
        graph.add_node(());
    }
    let mut before = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        for edge in &block.edges {
            graph.add_edge(NodeIndex::new(from), NodeIndex::new(edge.to), ());
            before[edge.to].push(from);
        }
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    let tree = dominators::simple_fast(&graph, NodeIndex::new(0));
    let dominates = |header: usize, block: usize| {
        let mut of_block = tree.dominators(NodeIndex::new(block)).into_iter().flatten();
        of_block.any(|it| it.index() == header)
    };
    let mut loops: Vec<Loop> = Vec::new();
    for (from, block) in blocks.iter().enumerate() {
        for edge in block.edges.iter().filter(|edge| dominates(edge.to, from)) {
            let mut inside = BTreeSet::from([edge.to]);
            let mut open = vec![from];
            while let Some(block) = open.pop() {
                if inside.insert(block) {
                    open.extend(&before[block]);
                }
            }
            match loops.iter_mut().find(|it| it.header == edge.to) {
                Some(same) => same.blocks.extend(inside),
                None => loops.push(Loop { header: edge.to, blocks: inside }),
            }
        }
    }
    loops.sort_by_key(|it| std::cmp::Reverse(it.blocks.len()));
    loops
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Edges as `from>to`, loops as `header[blocks]`.
    fn shape(body: &str) -> String {
        let text = format!(".entry k() {{ {body} }}");
        let module = Module::parse(&text);
        let graph = match Graph::of(&module, &module.functions[0]) {
            Ok(graph) => graph,
            Err(label) => return format!("no {label}"),
        };
        let edges = graph.blocks.iter().enumerate().flat_map(|(from, block)| {
            block.edges.iter().map(move |edge| format!("{from}>{}", edge.to))
        });
        let loops = graph.loops.iter().map(|it| format!("{}{:?}", it.header, it.blocks));
        edges.chain(loops).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn branches_tables_and_exits_make_edges() {
        assert_eq!(shape("ret;"), "");
        assert_eq!(shape("@%p1 bra A; ret; A: @%p2 exit; trap;"), "0>2 0>1 2>3");
        assert_eq!(shape("bra .uni A; mov.u32 %r1, 0; A: ret;"), "0>2 1>2");
        assert_eq!(shape("T: .branchtargets A, B; brx.idx %r1, T; A: ret; B: ret;"), "0>1 0>2");
        assert_eq!(shape("bra A;"), "no A");
        assert_eq!(shape("call (%r1), f, (%r2); ret;"), "");
    }

    #[test]
    fn labels_are_found_from_the_innermost_scope() {
        // The second loop branches to its own label.
        let wait = "{ L: try; @!%p1 bra L; }";
        assert_eq!(shape(&format!("{wait} {wait} ret;")), "0>1 1>1 1>2 2>3 3>3 3>4 1{1} 3{3}");
    }

    #[test]
    fn loops_nest_and_share_headers() {
        let body = "A: mov; B: @%p1 bra B; @%p2 bra A; @%p3 bra A; ret;";
        assert_eq!(shape(body), "0>1 1>1 1>2 2>0 2>3 3>0 3>4 0{0, 1, 2, 3} 1{1}");
    }
}
