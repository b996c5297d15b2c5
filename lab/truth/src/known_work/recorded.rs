//! Launches of kernels of known work, and the lengths of their regions.

use profiler_host::trace::Warp;
use profiler_host::{Backend, Profiler, Shape, Trace};
use truth_kernels::{LEVELS, WARPS_APART, WHEN_THREAD};

use super::beyond::{Length, Place};
use super::{Case, Subject};
use crate::Failure;

/// How many warps run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) blocks: u32,
    pub(super) warps_of_block: u32,
}

impl Grid {
    /// Blocks that find an SM each, of one warp for each of its schedulers.
    pub(super) const FEW: Self = Self::new(2, 4);

    pub(super) const fn new(blocks: u32, warps_of_block: u32) -> Self {
        let grid = Self { blocks, warps_of_block };
        assert!(grid.warps() <= WARPS_APART, "the repeats of two warps may be in step");
        grid
    }

    pub(super) const fn warps(self) -> u32 {
        self.blocks * self.warps_of_block
    }

    /// Threads of a block.
    const fn block(self) -> u32 {
        32 * self.warps_of_block
    }

    const fn threads(self) -> u32 {
        self.blocks * self.block()
    }
}

/// Launches all cases of a form in one session; gives the trace, and for each case what the threads
/// measured, `[repeat * threads + thread]`.
pub(super) fn launch(
    backend: &Backend,
    subject: Subject,
    form: u32,
    cases: &[Case],
) -> Result<(Trace, Vec<Vec<u64>>), Failure> {
    let Subject { kernel, grid, .. } = subject;
    let regions = |case: &Case| (case.repeats + 1) * case.depth;
    // A region takes at most a record, for the host two, and its value.
    let records_of_region = if subject.is_hosted() { 3 } else { 2 };
    let records = cases.iter().map(|case| records_of_region * regions(case)).max().unwrap_or(0) + 4;
    let profiler = Profiler::builder()
        .records_per_warp(records)
        .records_per_lane(if may_use_other_lanes(kernel.strategy) { records } else { 0 })
        .for_grid(grid.blocks, grid.block(), cases.len() as u32)
        .measure_record_cost()
        .build()?;
    let threads = grid.threads() as usize;
    let pairs = |case: &Case| (case.repeats as usize + 1) * threads;
    let mut truths = Vec::new();
    for case in cases {
        truths.push(backend.zeroed::<[u64; 2]>(pairs(case))?);
    }
    let mut session = backend.session(&profiler)?;
    for (case, truth) in cases.iter().zip(&mut truths) {
        let arguments = (truth.as_mut_ptr(), form, case.depth, case.cycles, case.repeats);
        // SAFETY: one pair a thread and repeat, and one more for the warm-up.
        unsafe {
            session.launch_kernel(
                kernel.name,
                Shape::new(grid.blocks, grid.block(), 0),
                kernel.function,
                arguments,
            )
        }?;
    }
    let trace = session.finish()?;
    let mut lengths = Vec::new();
    for truth in &truths {
        let pairs = truth.read()?;
        lengths.push(pairs.iter().map(|[begin, end]| end.wrapping_sub(*begin)).collect());
    }
    Ok((trace, lengths))
}

/// The lengths of all regions of a launch but those of the warm-up, level by level.
pub(super) fn lengths(
    trace: &Trace,
    launch: usize,
    case: &Case,
    truth: &[u64],
    Subject { kernel, grid, .. }: Subject,
) -> Result<Vec<Vec<Length>>, String> {
    let threads = grid.threads() as usize;
    let mut levels = vec![Vec::new(); case.depth as usize];
    let mut recorders = 0;
    for warp in &trace.warps[trace.launches[launch].warps.clone()] {
        for lane in 0..32_u8 {
            let thread_of_block = warp.warp * 32 + u32::from(lane);
            let thread = (warp.block[0] * grid.block() + thread_of_block) as usize;
            let truth: Vec<u64> = truth.chunks(threads).map(|repeat| repeat[thread]).collect();
            if !lengths_of_lane(trace, warp, lane, &truth, &mut levels)? {
                continue;
            }
            recorders += 1;
            if kernel.strategy == "when" && thread_of_block != WHEN_THREAD {
                return Err(format!("thread {thread_of_block} of a block recorded"));
            }
        }
    }
    let expected = recorders_of(kernel.strategy, grid);
    if recorders != expected {
        return Err(format!("{recorders} threads recorded, not {expected}"));
    }
    Ok(levels)
}

/// Those of one lane, for each repeat of which there is a true length; whether it recorded at all.
fn lengths_of_lane(
    trace: &Trace,
    warp: &Warp,
    lane: u8,
    truth: &[u64],
    levels: &mut [Vec<Length>],
) -> Result<bool, String> {
    let mut repeats = vec![0; levels.len()];
    for region in warp.regions.iter().filter(|region| region.lane == lane) {
        let name = &trace.site(region.site).name;
        let level = LEVELS.iter().take(levels.len()).position(|level| level == name);
        let level = level.ok_or_else(|| format!("a region \"{name}\" is in the trace"))?;
        if usize::from(region.depth) != level {
            return Err(format!("\"{name}\" is nested {} deep", region.depth));
        }
        let end = region.end.ok_or_else(|| format!("\"{name}\" has no end"))?;
        let repeat: usize = repeats[level];
        repeats[level] += 1;
        let truth = *truth.get(repeat).ok_or_else(|| format!("too many regions \"{name}\""))?;
        if repeat > 0 {
            let recorded = end.ticks.saturating_sub(region.start.ticks);
            let place = Place { block: warp.block[0], warp: warp.warp, repeat };
            levels[level].push(Length { recorded: recorded as f64, truth: truth as f64, place });
        }
    }
    let recorded = repeats.iter().any(|&count| count > 0);
    if recorded && repeats.iter().any(|&count| count != truth.len()) {
        return Err(format!(
            "lane {lane} of warp {} recorded {repeats:?} regions of the levels, not {} of each",
            warp.warp,
            truth.len()
        ));
    }
    Ok(recorded)
}

/// Whether lanes other than lane 0 may record. (Memory of the host for all buffers takes longer to get
/// than a launch.)
fn may_use_other_lanes(strategy: &str) -> bool {
    matches!(strategy, "elected" | "thread" | "when")
}

/// How many threads of a launch record.
pub(super) fn recorders_of(strategy: &str, grid: Grid) -> u32 {
    match strategy {
        "block" | "when" | "warp(1)" => grid.blocks,
        "warp_group" => grid.warps() / 4,
        "thread" => grid.threads(),
        _ => grid.warps(),
    }
}
