//! What a kernel's instructions take, roughly: enough to tell which regions are cheap.
#![cfg(feature = "rewrite")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{Graph, Instruction};
use crate::region::{Region, RegionKind};
use crate::syntax::Module;

/// Cycles that a record takes of a loop in which the warps of a block wait for each other and for matrix instructions:
/// far more than of a warp that waits for nobody, of which `lab/measurements/record-cost.md` has the means.
const RECORD_CYCLES: u64 = 40;
/// The same of a wait for copies or other threads: a warp that waits has time.
const WAIT_RECORD_CYCLES: u64 = 20;

/// Roughly the cycles that a warp spends on an instruction.
fn cycles(instruction: &Instruction<'_>) -> u64 {
    let opcode = instruction.opcode.as_str();
    match instruction.name() {
        "wgmma" if opcode.contains("mma_async") => 128,
        "wgmma" | "tcgen05" | "cp" if opcode.contains("wait") => 200,
        "wgmma" | "tcgen05" => 32,
        "mma" | "wmma" => 32,
        "ld" if opcode.contains("global") => 40,
        "ld" | "ldmatrix" | "st" | "stmatrix" => 16,
        "atom" | "red" | "cp" => 40,
        // What waits for other threads or for copies waits long, or it would not be there.
        "bar" | "barrier" => 60,
        "mbarrier" if opcode.contains("wait") => 400,
        "shfl" | "redux" | "vote" | "match" => 12,
        "sqrt" | "div" | "rcp" | "ex2" | "sin" | "cos" | "lg2" | "tanh" | "rsqrt" => 16,
        "call" => 40,
        _ => 4,
    }
}

/// Chooses regions, so that by the shortest way through every loop records take no more than `budget` (0.05 is
/// 5 %) of the time. What is around most is left out first, as the waits in it say more.
///
/// Gives which regions are in, and the largest share that they take of a loop.
pub(crate) fn choose(
    module: &Module<'_>,
    graph: &Graph,
    regions: &[Region],
    budget: f64,
) -> (Vec<bool>, f64) {
    let of_block: Vec<u64> = graph
        .blocks
        .iter()
        .map(|block| {
            let statements = &module.statements[block.statements.clone()];
            statements.iter().filter_map(Instruction::of).map(|it| cycles(&it)).sum()
        })
        .collect();
    let (mut chosen, mut share) = (vec![true; regions.len()], 0.0_f64);
    for (index, it) in graph.loops.iter().enumerate() {
        let turn = shortest(graph, it.header, &of_block) as f64;
        let mut inside: Vec<usize> =
            (0..regions.len()).filter(|region| regions[*region].around == Some(index)).collect();
        inside.sort_by_key(|index| rank(&regions[*index]));
        let mut taken = 0;
        for index in inside {
            taken += match regions[index].kind {
                RegionKind::MbarrierWait | RegionKind::CopyWait | RegionKind::Spin => {
                    WAIT_RECORD_CYCLES
                }
                _ => RECORD_CYCLES,
            };
            if taken as f64 > budget * turn {
                chosen[index] = false;
            } else {
                share = share.max(taken as f64 / turn);
            }
        }
    }
    (chosen, share)
}

/// What is wanted first: waits for other threads and for copies say most, small ones most exactly.
fn rank(region: &Region) -> (u8, usize) {
    let kind = match region.kind {
        RegionKind::MbarrierWait | RegionKind::CopyWait | RegionKind::Spin => 0,
        RegionKind::MmaWait => 1,
        RegionKind::Barrier => 2,
        RegionKind::Loop | RegionKind::Chosen => 3,
    };
    (kind, region.size)
}

/// Cycles of the shortest way from a loop's header back to it.
fn shortest(graph: &Graph, header: usize, of_block: &[u64]) -> u64 {
    let mut best = vec![u64::MAX; graph.blocks.len()];
    let mut open = BinaryHeap::from([Reverse((of_block[header], header))]);
    while let Some(Reverse((cycles, block))) = open.pop() {
        if cycles >= best[block] {
            continue;
        }
        best[block] = cycles;
        for edge in &graph.blocks[block].edges {
            if edge.to == header {
                return cycles;
            }
            open.push(Reverse((cycles + of_block[edge.to], edge.to)));
        }
    }
    // No way back: it is no loop.
    u64::MAX
}
