//! Critical paths and waits of made-up programs, against what follows from the programs themselves.
//!
//! A program says how long each piece of work takes, what waits for what, and which blocks follow each
//! other on an SM. When everything happens follows from that by simulation. So does what the launch's
//! end waited for, by brute force: of all chains of constraints from the launch's start to its end,
//! with lengths from the program alone, it is one of the longest.

use std::cell::Cell;
use std::collections::BTreeMap;

use profiler_wire::SiteKind;
use profiler_wire::header::Clock;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use crate::decode;
use crate::model::{Trace, Value};
use crate::stats::critical_path::PathPart;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

const BLOCKS: usize = 3;
const WARPS_PER_BLOCK: usize = 2;
const WARPS: usize = BLOCKS * WARPS_PER_BLOCK;
/// From a warp's last operation to its exit, in nanoseconds.
const LEAVING: u64 = 1;
/// When the device's timer stood at the begin of everything.
const ORIGIN: u64 = 1_000_000;

/// What a warp does next; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// Time outside of any region, then a region; within that, for some time after some time, another.
    Work { outside: u64, length: u64, inner: Option<(u64, u64)> },
    /// Takes no time. Its number is its place in [`Program::operations`].
    Signal,
    /// Goes on some time after both have come: the warp, and the signal of that number.
    Wait { signal: usize, hand_off: u64 },
}

/// What the warps of a launch do. A block enters when the block before it on its SM has left.
#[derive(Clone, Debug)]
struct Program {
    sms: usize,
    /// From the last exit of a block to the next one's entry.
    between_blocks: u64,
    /// How much later each warp of a block enters than that.
    skew: [u64; WARPS_PER_BLOCK],
    /// When the first block of each SM enters.
    delay: [u64; BLOCKS],
    /// Warp and operation. A signal is given in a block that is not after that of its wait, and within
    /// a block stands before it, so that all of them happen.
    operations: Vec<(usize, Operation)>,
}

/// Numbers from which an operation is made.
type Raw = (usize, u8, u64, u64, Index);

fn program() -> impl Strategy<Value = Program> {
    let raw = (0..WARPS, 0_u8..6, 0_u64..6, 0_u64..40, any::<Index>());
    (
        1..=BLOCKS,
        0_u64..8,
        prop::array::uniform2(0_u64..4),
        prop::array::uniform3(0_u64..30),
        prop::collection::vec(raw, 1..30),
    )
        .prop_map(|(sms, between_blocks, skew, delay, raw)| Program {
            sms,
            between_blocks,
            skew,
            delay,
            operations: operations(&raw),
        })
}

fn operations(raw: &[Raw]) -> Vec<(usize, Operation)> {
    let mut operations: Vec<(usize, Operation)> = Vec::new();
    for &(warp, what, short, long, index) in raw {
        let may_release = |(other, operation): &(usize, Operation)| {
            matches!(operation, Operation::Signal)
                && other / WARPS_PER_BLOCK <= warp / WARPS_PER_BLOCK
        };
        let signals: Vec<usize> =
            (0..operations.len()).filter(|&number| may_release(&operations[number])).collect();
        // Early signals block nobody.
        let late = &signals[signals.len().saturating_sub(4)..];
        let inner = (long > 3 && short % 2 == 0).then_some((short / 2, long / 2));
        // Who signals has worked; who waits has not, so that it often comes first.
        if what < 4 || late.is_empty() {
            operations.push((warp, Operation::Work { outside: short, length: long, inner }));
        }
        match what {
            0 | 1 => {}
            4 | 5 if !late.is_empty() => {
                let signal = late[index.index(late.len())];
                operations.push((warp, Operation::Wait { signal, hand_off: short }));
            }
            _ => operations.push((warp, Operation::Signal)),
        }
    }
    operations
}

/// A region: its name, begin and end in nanoseconds.
type Region = (&'static str, u64, u64);

/// When things happened, in nanoseconds.
struct Run {
    entries: Vec<u64>,
    exits: Vec<u64>,
    /// Begin and end of each operation.
    times: Vec<(u64, u64)>,
}

impl Program {
    /// The warps of the block that was on a warp's SM before its own.
    fn before(&self, warp: usize) -> Option<std::ops::Range<usize>> {
        let block = (warp / WARPS_PER_BLOCK).checked_sub(self.sms)?;
        Some(block * WARPS_PER_BLOCK..(block + 1) * WARPS_PER_BLOCK)
    }

    fn run(&self) -> Run {
        let mut run = Run {
            entries: Vec::new(),
            exits: Vec::new(),
            times: vec![(0, 0); self.operations.len()],
        };
        for block in 0..BLOCKS {
            let warps = block * WARPS_PER_BLOCK..(block + 1) * WARPS_PER_BLOCK;
            let free = match self.before(warps.start) {
                None => self.delay[block],
                Some(before) => {
                    let last = before.map(|warp| run.exits[warp]).max();
                    last.expect("a block has warps") + self.between_blocks
                }
            };
            let mut now = self.skew.map(|skew| free + skew);
            run.entries.extend(now);
            for (number, &(warp, operation)) in self.operations.iter().enumerate() {
                if !warps.contains(&warp) {
                    continue;
                }
                let now = &mut now[warp - warps.start];
                let begin = *now;
                *now = match operation {
                    Operation::Work { outside, length, .. } => begin + outside + length,
                    Operation::Signal => begin,
                    Operation::Wait { signal, hand_off } => {
                        begin.max(run.times[signal].1) + hand_off
                    }
                };
                run.times[number] = (begin, *now);
            }
            run.exits.extend(now.map(|now| now + LEAVING));
        }
        run
    }

    /// What a GPU would have recorded, and each warp's regions.
    fn record(&self, run: &Run) -> (Trace, Vec<Vec<Region>>) {
        let mut module = SyntheticModule::new(Keep::First, 128);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let [work, inner_work, waiting] =
            ["work", "inner", "wait"].map(|name| module.site(SiteKind::Region, name));
        let signal_site = module.site(SiteKind::Signal, "s");
        let wait_site = module.site(SiteKind::Wait, "s");
        let mut regions = vec![Vec::new(); WARPS];
        for (warp, regions) in regions.iter_mut().enumerate() {
            let block = warp / WARPS_PER_BLOCK;
            let [entry, exit] = [run.entries[warp], run.exits[warp]].map(|ns| ORIGIN + ns);
            let mut recorded = SyntheticWarp::new(kernel, 2 * entry, entry);
            let header = &mut recorded.header;
            header.record_clock = Clock::GlobalTimer;
            header.block = [block as u32, 0, 0];
            header.grid_dim = [BLOCKS as u32, 1, 1];
            header.block_dim = [32 * WARPS_PER_BLOCK as u32, 1, 1];
            header.warp = (warp % WARPS_PER_BLOCK) as u32;
            header.sm = (block % self.sms) as u32;
            for (number, &(of, operation)) in self.operations.iter().enumerate() {
                let (begin, end) = run.times[number];
                let mut region = |site: u32, name: &'static str, begin: u64, end: u64| {
                    recorded.range(site, None, ORIGIN + begin, ORIGIN + end);
                    regions.push((name, begin, end));
                };
                match operation {
                    _ if of != warp => {}
                    Operation::Work { outside, inner, .. } => {
                        let begin = begin + outside;
                        if let Some((after, length)) = inner {
                            let begin = begin + after;
                            region(inner_work, "inner", begin, begin + length);
                        }
                        region(work, "work", begin, end);
                    }
                    Operation::Signal => {
                        let key = Value::Unsigned(number as u64);
                        recorded.value(signal_site, ORIGIN + end, key);
                    }
                    Operation::Wait { signal, .. } => {
                        region(waiting, "wait", begin, end);
                        let key = Value::Unsigned(signal as u64);
                        recorded.value(wait_site, ORIGIN + end, key);
                    }
                }
            }
            recorded.leave(2 * exit, exit);
            module.warps.push(recorded);
        }
        (decode(&module.into_capture().expect("the sites are whole")), regions)
    }
}

/// What a stretch of a path is, by warps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    BeforeEntry,
    Run(usize),
    HandOff { from: usize, to: usize },
    NextBlock(usize),
}

/// Begin and end from the launch's start, in nanoseconds, and what it is.
type Step = (u64, u64, Part);

/// All chains of constraints from the launch's start, each from its end backwards.
struct Chains<'p> {
    program: &'p Program,
    /// From the launch's start to the entries of the first blocks.
    entries: Vec<u64>,
    /// The chain so far: lengths and what they are of.
    chain: Vec<(u64, Part)>,
    /// The longest chains, and how long they are.
    longest: Vec<Vec<(u64, Part)>>,
    length: u64,
}

impl<'p> Chains<'p> {
    fn longest(program: &'p Program, run: &Run) -> (u64, Vec<Vec<Step>>) {
        let start = run.entries.iter().min().expect("there are warps");
        let entries = run.entries.iter().map(|entry| entry - start).collect();
        let mut chains =
            Self { program, entries, chain: Vec::new(), longest: Vec::new(), length: 0 };
        for warp in 0..WARPS {
            chains.through(LEAVING, Part::Run(warp), |chains| {
                chains.before_operation(warp, program.operations.len());
            });
        }
        (chains.length, chains.longest.iter().map(|chain| steps(chain)).collect())
    }

    /// Takes one more constraint into the chain and goes on before it.
    fn through(&mut self, length: u64, part: Part, before: impl FnOnce(&mut Self)) {
        self.chain.push((length, part));
        before(self);
        self.chain.pop();
    }

    /// All chains to the end of a warp's last operation before some number.
    fn before_operation(&mut self, warp: usize, number: usize) {
        let operations = &self.program.operations[..number];
        let Some(number) = operations.iter().rposition(|(of, _)| *of == warp) else {
            return self.before_entry(warp);
        };
        let own = Part::Run(warp);
        match operations[number].1 {
            Operation::Signal => self.before_operation(warp, number),
            Operation::Work { outside, length, .. } => {
                self.through(outside + length, own, |chains| chains.before_operation(warp, number));
            }
            Operation::Wait { signal, hand_off } => {
                self.through(hand_off, own, |chains| chains.before_operation(warp, number));
                let from = self.program.operations[signal].0;
                let part = Part::HandOff { from, to: warp };
                self.through(hand_off, part, |chains| chains.before_operation(from, signal));
            }
        }
    }

    fn before_entry(&mut self, warp: usize) {
        let program = self.program;
        let Some(before) = program.before(warp) else {
            let delay = self.entries[warp];
            return self.through(delay, Part::BeforeEntry, Self::at_start);
        };
        let length = program.between_blocks + program.skew[warp % WARPS_PER_BLOCK];
        for other in before {
            self.through(length, Part::NextBlock(other), |chains| {
                chains.through(LEAVING, Part::Run(other), |chains| {
                    chains.before_operation(other, program.operations.len());
                });
            });
        }
    }

    fn at_start(&mut self) {
        let length = self.chain.iter().map(|(length, _)| length).sum();
        if length > self.length {
            (self.length, self.longest) = (length, Vec::new());
        }
        if length == self.length {
            self.longest.push(self.chain.iter().rev().copied().collect());
        }
    }
}

/// A chain with its times, in which nothing has no length and what is the same is one.
fn steps(chain: &[(u64, Part)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut now = 0;
    for &(length, part) in chain.iter().filter(|(length, _)| *length > 0) {
        match steps.last_mut() {
            Some(last) if last.2 == part => last.1 += length,
            _ => steps.push((now, now + length, part)),
        }
        now += length;
    }
    steps
}

/// Nanoseconds, of which there are whole ones only.
fn whole(ns: f64) -> u64 {
    assert!(ns >= 0.0 && ns.fract() == 0.0, "{ns}");
    ns as u64
}

/// How many hand-offs and following blocks are on the path.
fn check(program: &Program) -> (usize, usize) {
    let run = program.run();
    let (trace, regions) = program.record(&run);
    assert_eq!((trace.launches.len(), trace.warps.len(), trace.lost()), (1, WARPS, 0));
    check_waits(program, &run, &trace);

    let path = trace.critical_path(0).expect("a launch");
    let launch_start = trace.launches[0].start_ns;
    let of_path: Vec<Step> = (path.steps.iter())
        .map(|step| {
            let part = match step.part {
                PathPart::BeforeEntry => Part::BeforeEntry,
                PathPart::Run(warp) => Part::Run(warp),
                PathPart::NextBlock(warp) => Part::NextBlock(warp),
                PathPart::HandOff(edge) => {
                    let edge = trace.edges[edge];
                    Part::HandOff { from: edge.from.warp, to: edge.to.warp }
                }
            };
            (whole(step.start_ns - launch_start), whole(step.end_ns - launch_start), part)
        })
        .collect();
    let (length, longest) = Chains::longest(program, &run);
    assert_eq!(whole(path.span_ns), length);
    assert!(longest.contains(&of_path), "{program:#?}\n{of_path:?}\nis none of {longest:#?}");

    // Nanosecond by nanosecond: of the regions that a nanosecond lies in, the one that began last.
    let start = *run.entries.iter().min().expect("there are warps");
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    let mut other = [0; 3];
    for &(begin, end, part) in &of_path {
        match part {
            Part::BeforeEntry => other[0] += end - begin,
            Part::HandOff { .. } => other[1] += end - begin,
            Part::NextBlock(_) => other[2] += end - begin,
            Part::Run(warp) => {
                for now in start + begin..start + end {
                    let within = regions[warp].iter().filter(|of| of.1 <= now && now < of.2);
                    let innermost = within.max_by_key(|of| (of.1, std::cmp::Reverse(of.2)));
                    *expected.entry(innermost.map_or("(no region)", |of| of.0)).or_default() += 1;
                }
            }
        }
    }
    let shares: BTreeMap<&str, u64> =
        path.regions.iter().map(|share| (share.name.as_str(), whole(share.ns))).collect();
    assert_eq!(shares, expected, "{program:#?}");
    assert_eq!([path.before_entry_ns, path.hand_off_ns, path.next_block_ns].map(whole), other);
    let count = |is: fn(&Part) -> bool| of_path.iter().filter(|step| is(&step.2)).count();
    (
        count(|part| matches!(part, Part::HandOff { .. })),
        count(|part| matches!(part, Part::NextBlock(_))),
    )
}

/// Every wait has its signal, and was blocked for as long as that came later than the waiter.
fn check_waits(program: &Program, run: &Run, trace: &Trace) {
    let of_warp = |warp: usize| {
        let operations = program.operations.iter().enumerate();
        operations.filter_map(move |(number, (of, operation))| match operation {
            Operation::Wait { signal, hand_off } if *of == warp => {
                let (ready, given) = (run.times[number].0, run.times[*signal].1);
                Some((warp, program.operations[*signal].0, given.saturating_sub(ready), *hand_off))
            }
            _ => None,
        })
    };
    let mut expected: Vec<_> = (0..WARPS).flat_map(of_warp).collect();
    let mut waits: Vec<_> = (trace.released_waits(0).iter())
        .map(|wait| {
            let (blocked, hand_off) = (whole(wait.blocked_ns()), whole(wait.hand_off_ns()));
            (wait.to.warp, wait.from.warp, blocked, hand_off)
        })
        .collect();
    // Waits of a warp that end in one nanosecond are in no order.
    expected.sort_unstable();
    waits.sort_unstable();
    assert_eq!(waits, expected, "{program:#?}");
}

#[test]
fn the_path_is_a_longest_chain_of_the_program() {
    let (hand_offs, blocks) = (Cell::new(0), Cell::new(0));
    let cases = 2000;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&program(), |program| {
        let (signals, next) = check(&program);
        hand_offs.set(hand_offs.get() + signals);
        blocks.set(blocks.get() + next);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // Otherwise it was tested little.
    let enough = cases as usize / 10;
    assert!(hand_offs.get() > enough && blocks.get() > enough, "{hand_offs:?} {blocks:?}");
}
