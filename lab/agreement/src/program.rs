//! Programs as trees, and how random ones are made.

use proptest::prelude::*;
use test_kernels_programs::{Instruction, Operation, TOKENS};

/// An instruction with what it encloses.
#[derive(Clone, PartialEq, Eq)]
pub struct Node {
    /// What it does.
    pub operation: Operation,
    /// Its argument.
    pub argument: u32,
    /// Its body.
    pub body: Vec<Node>,
    /// Its other body, of a branch.
    pub other: Vec<Node>,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {:#x}", self.operation, self.argument)?;
        if !self.body.is_empty() || !self.other.is_empty() {
            write!(f, " {:?}", self.body)?;
        }
        if !self.other.is_empty() {
            write!(f, " else {:?}", self.other)?;
        }
        Ok(())
    }
}

/// Whether a program has a place at which a lane is elected, whoever its kernel lets record.
pub(crate) fn elects(program: &[Node]) -> bool {
    has(program, &[Operation::ByElected, Operation::MarkElected])
}

fn has(program: &[Node], operations: &[Operation]) -> bool {
    program.iter().any(|node| {
        operations.contains(&node.operation)
            || has(&node.body, operations)
            || has(&node.other, operations)
    })
}

/// The program as kernels read it.
pub(crate) fn encode(program: &[Node]) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    for node in program {
        let (body, other) = (encode(&node.body), encode(&node.other));
        // Programs have some dozens of instructions.
        let lengths = [body.len() as u32, other.len() as u32];
        instructions.push([node.operation as u32, lengths[0], lengths[1], node.argument]);
        instructions.extend(body);
        instructions.extend(other);
    }
    instructions
}

/// Sets of lanes that programs part their warps by.
fn lanes() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![
        Just(u32::MAX),
        Just(0),
        Just(1),
        Just(u32::MAX - 1),
        Just(0xffff),
        Just(0x5555_5555),
        any::<u32>(),
    ]
}

fn leaf() -> impl Strategy<Value = Node> + Clone {
    let node = |operation| {
        move |argument| Node { operation, argument, body: Vec::new(), other: Vec::new() }
    };
    let of = |operations: &'static [Operation], arguments: BoxedStrategy<u32>| {
        (prop::sample::select(operations), arguments)
            .prop_map(move |(operation, argument)| node(operation)(argument))
    };
    use Operation as Op;
    prop_oneof![
        4 => of(&[Op::Start, Op::End, Op::EndValue], (0..TOKENS as u32).boxed()),
        4 => of(
            &[Op::Mark, Op::MarkValue, Op::MarkElected, Op::MarkThread, Op::Anchor],
            any::<u32>().boxed(),
        ),
        2 => of(&[Op::Signal, Op::Wait], (0..3_u32).boxed()),
        1 => of(&[Op::Work], (0..9_u32).boxed()),
        1 => of(&[Op::Break, Op::Return], lanes().boxed()),
    ]
}

/// Random programs, of some dozens of instructions at most.
pub fn programs() -> impl Strategy<Value = Vec<Node>> + Clone {
    use Operation as Op;
    let node = leaf().prop_recursive(4, 24, 4, |inner| {
        let bodies = prop::collection::vec(inner, 0..4);
        let around = |operations: &'static [Op], arguments: BoxedStrategy<u32>| {
            (prop::sample::select(operations), arguments, bodies.clone()).prop_map(
                |(operation, argument, body)| Node { operation, argument, body, other: Vec::new() },
            )
        };
        let branch = |operation, arguments: BoxedStrategy<u32>| {
            (arguments, bodies.clone(), bodies.clone())
                .prop_map(move |(argument, body, other)| Node { operation, argument, body, other })
        };
        const PLAIN: &[Op] = &[
            Op::Call,
            Op::Region,
            Op::RegionValue,
            Op::RegionWait,
            Op::Statement,
            Op::StatementValue,
        ];
        const BY: &[Op] = &[
            Op::ByBlock,
            Op::ByWarp,
            Op::ByWarpIndex,
            Op::ByWarpGroup,
            Op::ByElected,
            Op::ByThread,
        ];
        prop_oneof![
            6 => around(PLAIN, any::<u32>().boxed()),
            2 => around(&[Op::RegionLanes, Op::NamedLanes], lanes().boxed()),
            1 => around(&[Op::Named], (0..5_u32).boxed()),
            3 => around(BY, any::<u32>().boxed()),
            1 => around(&[Op::ByWhen], lanes().boxed()),
            2 => around(&[Op::Repeat], (0..4_u32).boxed()),
            2 => branch(Op::Lanes, lanes().boxed()),
            1 => branch(Op::Warps, (0..16_u32).boxed()),
        ]
    });
    prop::collection::vec(node, 0..8)
}
