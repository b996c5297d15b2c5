//! The first half of the reference: what one lane does when it runs a program, in plain Rust.
//!
//! A lane's way through a program depends on its number and on its warp's alone, so that it can be
//! found without knowing the time, or who is elected where.

use profiler_trace::Value;
use profiler_wire::header::Clock;
use profiler_wire::site::Buffer;
use profiler_wire::{SiteKind, Strategy};
use test_kernels_programs::{self as kernels, Operation, TASK, TOKENS, WARP_INDEX};

use crate::program::Node;

/// Where in the kernel's source something is recorded, in the order of that source: lanes that are asked who is
/// elected at one place may meet there, wherever in the program they are.
pub(crate) type Place = (Operation, u32);

/// Who records an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// This lane, or not.
    Fixed(bool),
    /// Whoever is elected.
    Elected,
}

/// A region, mark or reading of the clocks that a lane comes to, recorded by it or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instance {
    pub kind: SiteKind,
    pub name: &'static str,
    pub track: Option<u32>,
    pub value: Option<Value>,
    pub lead: Lead,
    /// Whether its value is in the region's own record.
    pub holds_value: bool,
    pub place: Place,
}

/// What a lane does next; the numbers are those of instances.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// The lanes that are here elect one.
    Elect(usize),
    Begin(usize),
    /// The begin of one whose begin is a record of its own, to be seen while it is open.
    Open(usize),
    /// A region's end is read.
    Read(usize),
    /// The record of the end that was read: of a region that one record holds, and of one whose begin has another;
    /// with a value or without.
    Finish(usize, Option<Value>),
    Close(usize, Option<Value>),
    /// A token goes out of scope whose region has not ended.
    Drop(usize),
    Mark(usize),
    Anchor(usize),
    Work(u32),
}

/// All that a lane does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub instances: Vec<Instance>,
    pub steps: Vec<Step>,
    /// What it writes.
    pub result: u32,
}

/// What a lane is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    pub strategy: Strategy,
    pub clock: Clock,
    pub buffer: Buffer,
    pub warp: u32,
    pub lane: u32,
    pub when: u32,
    pub fuel: u32,
}

/// Names of the tokens' regions, and their tracks.
const TOKEN_SITES: [(&str, Option<u32>); TOKENS] =
    [("token 0", None), ("token 1", Some(1)), ("token 2", None), ("token 3", None)];
/// Names of [`TASK`], and of what is none of it.
const TASKS: [&str; 4] = ["load", "compute", "store", "TASK[out of range]"];

impl Lane {
    /// What the lane does.
    pub(crate) fn run(self, program: &[Node]) -> Script {
        let script = Script::default();
        let mut machine = Machine { lane: self, script, tokens: [None; TOKENS], fuel: self.fuel };
        machine.run(program);
        machine.drop_tokens(machine.tokens.into_iter().flatten());
        machine.script
    }

    fn lead(self, strategy: Strategy, condition: bool) -> Lead {
        let first = self.lane == 0;
        Lead::Fixed(match strategy {
            Strategy::Elected => return Lead::Elected,
            Strategy::Warp => first,
            Strategy::Block => first && self.warp == 0,
            Strategy::WarpIndex(index) => first && self.warp == u32::from(index),
            Strategy::WarpGroup => first && self.warp.is_multiple_of(4),
            Strategy::Thread => true,
            Strategy::When => condition,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Return,
}

struct Machine {
    lane: Lane,
    script: Script,
    /// The instance that each token has opened.
    tokens: [Option<usize>; TOKENS],
    fuel: u32,
}

impl Machine {
    fn run(&mut self, nodes: &[Node]) -> Flow {
        for node in nodes {
            if self.fuel == 0 {
                return Flow::Return;
            }
            self.fuel -= 1;
            self.script.result = kernels::trail(self.script.result, node.operation as u32);
            let flow = self.step(node);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn step(&mut self, node: &Node) -> Flow {
        use Operation as Op;
        let Node { operation, argument, .. } = *node;
        let in_lanes = argument >> self.lane.lane & 1 != 0;
        let token = argument as usize % TOKENS;
        let unsigned = Some(Value::Unsigned(argument.into()));
        match operation {
            Op::Call => return self.region(node, "call", None, None),
            Op::Region => return self.region(node, "region", None, None),
            Op::RegionValue => return self.region(node, "region with value", None, unsigned),
            Op::RegionLanes => {
                let value = Some(Value::Unsigned(in_lanes.into()));
                return self.region(node, "region of lanes", None, value);
            }
            Op::RegionWait => {
                let flow = self.region(node, "awaited", None, None);
                if flow == Flow::Next {
                    self.script.result ^= argument.wrapping_mul(3);
                }
                return flow;
            }
            Op::Statement => {
                return self.region(node, "statement", Some(kernels::track(argument)), None);
            }
            Op::StatementValue => {
                let value = Value::Signed(kernels::negative(argument).into());
                return self.region(node, "statement with value", None, Some(value));
            }
            Op::Named => {
                let name = TASKS[argument.min(TASK::LEN) as usize];
                return self.region(node, name, None, unsigned);
            }
            Op::NamedLanes => {
                let value = Some(Value::Unsigned(in_lanes.into()));
                return self.region(node, TASKS[usize::from(!in_lanes)], None, value);
            }
            Op::ByBlock => return self.region_by(node, "by block", Strategy::Block),
            Op::ByWarp => return self.region_by(node, "by warp", Strategy::Warp),
            Op::ByWarpIndex => {
                // A block has 32 warps.
                let by = Strategy::WarpIndex(WARP_INDEX as u8);
                return self.region_by(node, "by warp index", by);
            }
            Op::ByWarpGroup => return self.region_by(node, "by warp group", Strategy::WarpGroup),
            Op::ByElected => return self.region_by(node, "by elected", Strategy::Elected),
            Op::ByThread => return self.region_by(node, "by thread", Strategy::Thread),
            Op::ByWhen => {
                return self.region_of(node, "by when", None, None, (Strategy::When, in_lanes));
            }
            Op::Start => {
                let (name, track) = TOKEN_SITES[token];
                let opened = self.instance((operation, argument), name, track, None, None);
                self.script.instances[opened].holds_value =
                    self.has_buffer_for_value(track) && kernels::ends_with_short_value(token);
                self.begin(opened);
                let held = self.tokens[token].replace(opened);
                self.drop_tokens(held);
            }
            Op::End | Op::EndValue => {
                if let Some(opened) = self.tokens[token].take() {
                    let value = unsigned.filter(|_| operation == Op::EndValue);
                    self.script.instances[opened].value = value;
                    self.end(opened, value);
                }
            }
            Op::Mark => self.mark(operation, "mark", None, None),
            Op::MarkValue => self.mark(operation, "mark with value", unsigned, None),
            Op::MarkElected => {
                let value = Value::Float(kernels::fraction(argument).into());
                self.mark(operation, "mark of one", Some(value), Some(Lead::Elected));
            }
            Op::MarkThread => self.mark(operation, "mark of each", None, Some(Lead::Fixed(true))),
            Op::Signal | Op::Wait => self.mark(operation, "key", unsigned, None),
            Op::Anchor => {
                let instance = self.instance((operation, 0), "", None, None, None);
                if self.lane.clock == Clock::Cycles {
                    self.script.steps.push(Step::Anchor(instance));
                }
            }
            Op::Work => self.script.steps.push(Step::Work(argument)),
            Op::Lanes => return self.branch(node, in_lanes),
            Op::Warps => return self.branch(node, argument >> self.lane.warp & 1 != 0),
            Op::Repeat => {
                for _ in 0..argument {
                    match self.run(&node.body) {
                        Flow::Next => {}
                        Flow::Break => break,
                        Flow::Return => return Flow::Return,
                    }
                }
            }
            Op::Break if in_lanes => return Flow::Break,
            Op::Return if in_lanes => return Flow::Return,
            Op::Break | Op::Return => {}
        }
        Flow::Next
    }

    /// One more instance, by `lead` or by the kernel's strategy; where it is elected who records it,
    /// that is asked at `place`.
    fn instance(
        &mut self,
        place: Place,
        name: &'static str,
        track: Option<u32>,
        value: Option<Value>,
        lead: Option<Lead>,
    ) -> usize {
        let condition = self.lane.when >> self.lane.lane & 1 != 0;
        let lead = lead.unwrap_or_else(|| self.lane.lead(self.lane.strategy, condition));
        let number = self.script.instances.len();
        if lead == Lead::Elected {
            self.script.steps.push(Step::Elect(number));
        }
        let kind = match place.0 {
            Operation::Signal => SiteKind::Signal,
            Operation::Wait => SiteKind::Wait,
            Operation::Mark
            | Operation::MarkValue
            | Operation::MarkElected
            | Operation::MarkThread => SiteKind::Mark,
            _ => SiteKind::Region,
        };
        self.script.instances.push(Instance {
            kind,
            name,
            track,
            value,
            lead,
            holds_value: false,
            place,
        });
        number
    }

    fn mark(
        &mut self,
        operation: Operation,
        name: &'static str,
        value: Option<Value>,
        lead: Option<Lead>,
    ) {
        let instance = self.instance((operation, 0), name, None, value, lead);
        self.script.steps.push(Step::Mark(instance));
    }

    fn region(
        &mut self,
        node: &Node,
        name: &'static str,
        track: Option<u32>,
        value: Option<Value>,
    ) -> Flow {
        let condition = self.lane.when >> self.lane.lane & 1 != 0;
        self.region_of(node, name, track, value, (self.lane.strategy, condition))
    }

    fn region_by(&mut self, node: &Node, name: &'static str, strategy: Strategy) -> Flow {
        self.region_of(node, name, None, None, (strategy, false))
    }

    fn region_of(
        &mut self,
        node: &Node,
        name: &'static str,
        track: Option<u32>,
        value: Option<Value>,
        (strategy, condition): (Strategy, bool),
    ) -> Flow {
        let lead = self.lane.lead(strategy, condition);
        let region = self.instance((node.operation, 0), name, track, value, Some(lead));
        let is_short = matches!(
            node.operation,
            Operation::RegionLanes | Operation::StatementValue | Operation::NamedLanes
        );
        self.script.instances[region].holds_value = is_short && self.has_buffer_for_value(track);
        self.begin(region);
        let flow = self.run(&node.body);
        self.end(region, value);
        flow
    }

    /// Whether a region's record has room for a value: no track takes its place, and a begin is no record of
    /// its own.
    fn has_buffer_for_value(&self, track: Option<u32>) -> bool {
        self.lane.buffer == Buffer::Global && track.is_none()
    }

    fn begin(&mut self, region: usize) {
        self.script.steps.push(match self.lane.buffer {
            Buffer::Global => Step::Begin(region),
            Buffer::Host => Step::Open(region),
        });
    }

    fn end(&mut self, region: usize, value: Option<Value>) {
        self.script.steps.push(Step::Read(region));
        self.script.steps.push(match self.lane.buffer {
            Buffer::Global => Step::Finish(region, value),
            Buffer::Host => Step::Close(region, value),
        });
    }

    /// Lets go of what tokens held: where the begin is a record, nothing more is.
    fn drop_tokens(&mut self, held: impl IntoIterator<Item = usize>) {
        if self.lane.buffer == Buffer::Global {
            self.script.steps.extend(held.into_iter().map(Step::Drop));
        }
    }

    fn branch(&mut self, node: &Node, condition: bool) -> Flow {
        self.run(if condition { &node.body } else { &node.other })
    }
}
