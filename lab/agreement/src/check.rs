//! Holds what a case left after against the reference.

use std::collections::{BTreeMap, BTreeSet};

use profiler_host::Slots;
use profiler_trace::{Trace, Warp};
use profiler_wire::header::{Clock, Dim3};
use profiler_wire::site::Buffer;

use crate::case::{Case, Outcome};
use crate::edges;
use crate::expected::{Kept, LaneBuffer};
use crate::reference::{self, WarpRun};

macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}

mod lists;
mod totals;

use lists::{Extent, LaneCompare};
use totals::{Bounds, Totals};

/// What is known of the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// The emulator's virtual clock: all of them, exactly, and who is elected where.
    Virtual,
    /// The order of those of one lane alone. Who records where it is not left to an election is as
    /// certain as on the emulator: which regions, their nesting and values, and every count.
    ///
    /// Of elections the hardware decides which lanes come to one together. Lanes of a warp may meet at
    /// a place in the kernel wherever in the program they are, and need not meet though they are at the
    /// same one (CUDA C++ Programming Guide, "Independent Thread Scheduling"). So this is left open:
    ///
    /// * how many elections there are: at a place to which a lane comes `n` times, at least `n`, and at
    ///   most as many as all lanes come there together;
    /// * who wins one: a lane's records are those that it would emit if it won them all, in that order,
    ///   less some of those that are left to an election;
    /// * which of these a buffer that is too small keeps: some of them, in that order;
    /// * the depth of regions in such a program.
    Hardware,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Warps with a slot.
    pub warps: u64,
    /// Records that were decoded.
    pub recorded: u64,
    /// Records that were emitted and not kept.
    pub lost: u64,
    /// Lanes of which only the counts were compared, and that what they kept is some of what they may
    /// have emitted: they lost records, and which ones is up to the hardware.
    pub counted_lanes: u64,
}

/// A warp: launch, block and warp of the block.
type Key = (u32, u32, u32);

/// Compares a case's outcome with what the reference says.
///
/// # Errors
///
/// The first difference, in words.
pub fn check(case: &Case, outcome: &Outcome, times: Times) -> Result<Compared, String> {
    let trace = profiler_trace::decode(&outcome.capture);
    let present = warps(case, &trace)?;
    check_slots(case, &present)?;
    let is_linear = case.session.slots == Slots::Linear;
    let selected: Vec<(u32, u32)> = case.selected().collect();
    let in_slots: BTreeSet<Key> = if is_linear {
        let all = (0..case.launches)
            .flat_map(|launch| selected.iter().map(move |&(block, warp)| (launch, block, warp)));
        all.take(case.max_warps() as usize).collect()
    } else {
        present.keys().copied().collect()
    };
    ensure!(
        present.keys().eq(&in_slots),
        "the warps {in_slots:?} have slots, and the trace holds {:?}",
        present.keys()
    );
    let runs =
        reference::run(case, |launch, block, warp| in_slots.contains(&(launch, block, warp)));
    check_results(case, outcome, &runs)?;
    // Who is elected is up to the hardware.
    let open = times == Times::Hardware && case.elects();
    let mut compared = Compared::default();
    let mut totals = Totals::default();
    for launch in 0..case.launches {
        for &(block, warp) in &selected {
            let run = &runs[launch as usize][block as usize][warp as usize];
            totals.count(run, open);
            let seen = present.get(&(launch, block, warp)).copied();
            let context = format!("launch {launch}, block {block}, warp {warp}");
            let check = WarpCheck { case, times, open, block, run, totals: &mut totals };
            let counted =
                check.run(&trace, seen).map_err(|difference| format!("{context}: {difference}"))?;
            compared.counted_lanes += counted;
        }
    }
    compared.warps = present.len() as u64;
    (compared.recorded, compared.lost) = (trace.recorded(), trace.lost());
    totals.check_counts(&outcome.capture, &trace)?;
    edges::check(&trace)?;
    let no_slot = selected.len() as u64 * u64::from(case.launches) - present.len() as u64;
    totals.check_diagnostics(&trace, no_slot, times, open)?;
    Ok(compared)
}

/// The warps of the trace.
fn warps<'t>(case: &Case, trace: &'t Trace) -> Result<BTreeMap<Key, &'t Warp>, String> {
    let mut warps = BTreeMap::new();
    for warp in &trace.warps {
        let launch = &trace.launches[warp.launch];
        let (grid, block) = (launch.grid_dim, launch.block_dim);
        ensure!((grid, block) == (case.grid, case.block), "a launch of {grid:?}, {block:?}");
        let kernel = &trace.site(launch.kernel).name;
        ensure!(kernel == case.kernel.name, "a launch of {kernel}");
        ensure!(warp.strategy == case.kernel.strategy, "recorded by {:?}", warp.strategy);
        ensure!(warp.clock == case.kernel.clock, "recorded by {:?}", warp.clock);
        // Two launches at most.
        let key = (warp.launch as u32, linear(warp.block, case.grid), warp.warp);
        ensure!(case.is_selected(key.1, key.2), "{key:?} was not selected");
        ensure!(warps.insert(key, warp).is_none(), "{key:?} stands in the trace twice");
    }
    Ok(warps)
}

fn linear([x, y, z]: Dim3, [width, height, _]: Dim3) -> u32 {
    (z * height + y) * width + x
}

/// As many warps as the session promised have slots.
fn check_slots(case: &Case, present: &BTreeMap<Key, &Warp>) -> Result<(), String> {
    let wanted = case.selected().count() * case.launches as usize;
    let promised = wanted.min(case.max_warps() as usize);
    let found = present.len();
    ensure!(found >= promised && found <= wanted, "{found} warps have slots, not {promised}");
    Ok(())
}

/// The program did what it should: what is recorded is then of the right program.
fn check_results(case: &Case, outcome: &Outcome, runs: &[Vec<Vec<WarpRun>>]) -> Result<(), String> {
    let lanes = runs.last().into_iter().flatten().flatten().flat_map(|warp| &warp.lanes);
    let expected: Vec<u32> = lanes.map(|lane| lane.script.result).collect();
    let differs = expected.iter().zip(&outcome.results).position(|(left, right)| left != right);
    if let Some(thread) = differs {
        let (expected, result) = (expected[thread], outcome.results[thread]);
        return Err(format!("thread {thread} gave {result:#x}, not {expected:#x}"));
    }
    ensure!(
        expected.len() as u32 == case.threads() * case.blocks(),
        "{} threads of the reference",
        expected.len()
    );
    Ok(())
}

/// A warp that is being compared.
struct WarpCheck<'a> {
    case: &'a Case,
    times: Times,
    /// Whether it is open who is elected.
    open: bool,
    block: u32,
    run: &'a WarpRun,
    totals: &'a mut Totals,
}

impl WarpCheck<'_> {
    /// Compares with what was `seen`, if the warp has a slot. Gives how many lanes were only
    /// counted.
    fn run(mut self, trace: &Trace, seen: Option<&Warp>) -> Result<u64, String> {
        let Some(seen) = seen else {
            for lane in &self.run.lanes {
                let records = lane.units.iter().filter(|unit| !unit.is_attachment()).count();
                self.totals.unplaced += Bounds::exactly(records as u64);
                self.totals.lose_unplaced_values(lane, self.open);
            }
            return Ok(0);
        };
        let Self { case, block, run, .. } = self;
        check_plausible(case, seen)?;
        let counted = if self.open {
            self.run_open(trace, seen)?
        } else {
            self.run_known(trace, seen)?;
            0
        };
        if self.times == Times::Virtual {
            let entry = (case.ticks(block, run.entry), case.ticks(block, run.exit));
            let seen_entry = (seen.entry.ticks, seen.exit.map_or(0, |exit| exit.ticks));
            ensure!(seen_entry == entry, "entry and exit at {seen_entry:?}, not {entry:?}");
            ensure!(seen.sm == case.sm_of(block), "on SM {}", seen.sm);
            check_axis(case, trace, seen)?;
        }
        Ok(counted)
    }

    /// Where it is known who records what.
    fn run_known(&mut self, trace: &Trace, seen: &Warp) -> Result<(), String> {
        let (case, keep) = (self.case, self.case.session.keep);
        // On hardware the times are only for the order, which a coarse clock hides.
        let is_virtual = self.times == Times::Virtual;
        let ticks = |time| if is_virtual { case.ticks(self.block, time) } else { time };
        let (mut recorded, mut lost) = (0, 0);
        for (number, lane) in (0_u32..).zip(&self.run.lanes) {
            let capacity = case.capacity(number);
            let buffer = LaneBuffer { capacity: capacity.unwrap_or(0) as usize, keep };
            let kept = lane.kept(buffer, ticks);
            let missing = kept.emitted.records() - kept.survived.records();
            recorded += kept.survived.records();
            if capacity.is_some() {
                lost += missing;
                self.totals.lose(&kept, number == 0);
            } else {
                self.totals.unplaced += Bounds::exactly(missing);
                self.totals.lose_unplaced_values(lane, self.open);
            }
            self.lane(trace, seen, number, &kept, Extent::Whole)?;
        }
        let counts = (seen.recorded, seen.lost);
        ensure!(
            counts == (recorded, lost),
            "{} recorded and {} lost, not {recorded} and {lost}",
            counts.0,
            counts.1
        );
        Ok(())
    }

    /// Where it is open who is elected. Gives how many lanes were only counted.
    fn run_open(&mut self, trace: &Trace, seen: &Warp) -> Result<u64, String> {
        let mut counted = 0;
        for (number, lane) in (0_u32..).zip(&self.run.lanes) {
            let whole = lane.with_all_elected();
            let all = whole.kept(LaneBuffer::ENDLESS, |time| time);
            let Some(capacity) = self.case.capacity(number) else {
                self.totals.lose_unplaced_values(lane, self.open);
                self.lane(trace, seen, number, &Kept::default(), Extent::Part)?;
                continue;
            };
            let extent = if whole.units.len() <= capacity as usize {
                self.totals.lose(&all, number == 0);
                Extent::WithoutElected
            } else {
                counted += 1;
                self.totals.may_lose(&all);
                Extent::Part
            };
            self.lane(trace, seen, number, &all, extent)?;
        }
        Ok(counted)
    }

    fn lane(
        &self,
        trace: &Trace,
        seen: &Warp,
        number: u32,
        kept: &Kept,
        extent: Extent,
    ) -> Result<(), String> {
        let compare = LaneCompare { case: self.case, times: self.times, extent };
        let compared = compare.lane(trace, seen, number, kept);
        compared.map_err(|difference| format!("lane {number}: {difference}"))
    }
}

/// What holds of times on any device.
fn check_plausible(case: &Case, seen: &Warp) -> Result<(), String> {
    let entry = seen.entry.ticks;
    let exit = seen.exit.ok_or("it never left")?.ticks;
    ensure!(entry <= exit, "left at {exit}, before it entered at {entry}");
    let starts = seen.regions.iter().map(|region| {
        let end = region.end.unwrap_or(region.start).ticks;
        (region.lane, region.start.ticks, end)
    });
    let marks = seen.marks.iter().map(|mark| (mark.lane, mark.time.ticks, mark.time.ticks));
    for (lane, start, end) in starts.chain(marks) {
        ensure!(entry <= start && start <= end, "lane {lane} recorded {start}..{end} at {entry}");
        ensure!(lane != 0 || end <= exit, "lane 0 recorded until {end} and left at {exit}");
    }
    let order = |left: &profiler_trace::Region, right: &profiler_trace::Region| {
        let end = |region: &profiler_trace::Region| region.end.map_or(u64::MAX, |end| end.ticks);
        (left.start.ticks, std::cmp::Reverse(end(left)))
            <= (right.start.ticks, std::cmp::Reverse(end(right)))
    };
    ensure!(seen.regions.is_sorted_by(order), "regions stand in no order: {:?}", seen.regions);
    ensure!(
        seen.marks.is_sorted_by_key(|mark| mark.time.ticks),
        "marks stand in no order: {:?}",
        seen.marks
    );
    let lanes = case.lanes(seen.warp);
    ensure!(seen.regions.iter().all(|region| u32::from(region.lane) < lanes), "no such lane");
    if case.kernel.buffer == Buffer::Global {
        let held = (seen.regions.len() + seen.marks.len()) as u64;
        ensure!(held == seen.recorded, "{held} regions and marks of {} recorded", seen.recorded);
    }
    Ok(())
}

/// On the axis of nanoseconds everything lies where the emulator had it: readings of the timer exactly,
/// others as nearly as the trace promises.
fn check_axis(case: &Case, trace: &Trace, seen: &Warp) -> Result<(), String> {
    let true_ns = |ticks: u64| match case.kernel.clock {
        Clock::GlobalTimer => ticks.wrapping_sub(trace.origin_ns).cast_signed() as f64,
        Clock::Cycles => reference::ns_after(trace.origin_ns, seen.sm, ticks),
    };
    let most = match case.kernel.clock {
        Clock::GlobalTimer => 0.0,
        Clock::Cycles => trace.alignment_ns,
    };
    let of_regions = seen.regions.iter().flat_map(|region| [Some(region.start), region.end]);
    let of_marks = seen.marks.iter().map(|mark| Some(mark.time));
    for time in of_regions.chain(of_marks).chain([Some(seen.entry), seen.exit]).flatten() {
        let off = (time.ns - true_ns(time.ticks)).abs();
        let is_near = off <= most;
        ensure!(is_near, "{time:?} lies off by {off} ns, not {most}");
    }
    Ok(())
}
