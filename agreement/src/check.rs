//! Holds what a case left behind against the reference.

use std::collections::{BTreeMap, BTreeSet};

use profiler_host::{Capture, Slots};
use profiler_trace::{DiagnosticKind, Severity, Trace, Warp};
use profiler_wire::header::{self, Clock, Dim3, ExitHeader, unpack_counts};

use crate::case::{Case, Outcome};
use crate::edges;
use crate::expected::{Item, Kept, Kind, bits, survivors};
use crate::reference::{self, WarpRun};
use crate::script::{Lead, Place};

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
    /// * which units a room that is too small keeps of such a lane: it is only counted;
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
    /// Lanes of which only the counts were compared: they lost records, and which ones they emitted
    /// is up to the hardware.
    pub counted_lanes: u64,
}

macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}

/// A warp: launch, block and warp of the block.
type Key = (u32, u32, u32);

/// What records must be, over all warps.
#[derive(Debug, Default)]
struct Totals {
    /// Units, and the attachments among them, at least and at most.
    emitted: [[u64; 2]; 2],
    unplaced: u64,
    open: u64,
    unmatched: u64,
    orphaned: u64,
    /// Of lane 0, and of the other lanes.
    too_small: [u64; 2],
    values_lost: u64,
}

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
    let is_open = times == Times::Hardware && case.elects();
    let mut compared = Compared::default();
    let mut totals = Totals::default();
    for launch in 0..case.launches {
        for &(block, warp) in &selected {
            let run = &runs[launch as usize][block as usize][warp as usize];
            totals.count(run, is_open);
            let seen = present.get(&(launch, block, warp)).copied();
            let context = format!("launch {launch}, block {block}, warp {warp}");
            let check = WarpCheck { case, times, is_open, block, run, totals: &mut totals };
            let counted =
                check.run(&trace, seen).map_err(|difference| format!("{context}: {difference}"))?;
            compared.counted_lanes += counted;
        }
    }
    compared.warps = present.len() as u64;
    (compared.recorded, compared.lost) = (trace.recorded(), trace.lost());
    check_counts(&outcome.capture, &trace, &totals)?;
    edges::check(&trace)?;
    let no_slot = selected.len() as u64 * u64::from(case.launches) - present.len() as u64;
    check_diagnostics(&trace, &totals, no_slot, times, is_open)?;
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

/// What is known of the elections at a place.
struct Election {
    /// How often a lane comes there, at most.
    visits: u64,
    /// The fewest units, and the fewest attachments, that an elected lane emits.
    least: [u64; 2],
    /// Those of all lanes that come there.
    all: [u64; 2],
}

impl Election {
    const NONE: Self = Self { visits: 0, least: [u64::MAX; 2], all: [0; 2] };
}

impl Totals {
    /// Adds what a warp emits. Where elections `are_open`, a place at which lanes come `n` times has
    /// at least `n` of them, and at most all lanes are elected that come there.
    fn count(&mut self, run: &WarpRun, are_open: bool) {
        let mut open: BTreeMap<Place, Election> = BTreeMap::new();
        for lane in &run.lanes {
            if !are_open {
                let emitted = lane.kept(0..lane.units.len(), |time| time).emitted;
                self.add([emitted; 2]);
                continue;
            }
            let mut of_instances: BTreeMap<usize, [u64; 2]> = BTreeMap::new();
            for unit in lane.with_all_elected().units {
                let [units, attachments] = of_instances.entry(unit.instance).or_default();
                *units += 1;
                *attachments += u64::from(unit.is_attachment());
            }
            let mut visits: BTreeMap<Place, u64> = BTreeMap::new();
            for (instance, units) in of_instances {
                let instance = &lane.script.instances[instance];
                if let Lead::Fixed(_) = instance.lead {
                    self.add([units; 2]);
                    continue;
                }
                *visits.entry(instance.place).or_default() += 1;
                let election = open.entry(instance.place).or_insert(Election::NONE);
                let bounds = election.least.iter_mut().zip(&mut election.all);
                for ((least, all), units) in bounds.zip(units) {
                    *least = units.min(*least);
                    *all += units;
                }
            }
            for (place, visits) in visits {
                let election = open.entry(place).or_insert(Election::NONE);
                election.visits = election.visits.max(visits);
            }
        }
        for Election { visits, least, all } in open.into_values() {
            self.add([least.map(|units| visits * units), all]);
        }
    }

    fn add(&mut self, bounds: [[u64; 2]; 2]) {
        for (sum, counts) in self.emitted.iter_mut().zip(bounds) {
            for (sum, count) in sum.iter_mut().zip(counts) {
                *sum += count;
            }
        }
    }

    /// Adds what a lane with a room loses.
    fn lose(&mut self, kept: &Kept, is_leader: bool) {
        self.open += kept.open;
        self.unmatched += kept.unmatched;
        self.orphaned += kept.orphaned;
        self.too_small[usize::from(!is_leader)] += kept.records() - kept.recorded();
        self.values_lost += kept.emitted[1] - kept.survived[1];
    }
}

/// A warp that is being compared.
struct WarpCheck<'a> {
    case: &'a Case,
    times: Times,
    is_open: bool,
    block: u32,
    run: &'a WarpRun,
    totals: &'a mut Totals,
}

impl WarpCheck<'_> {
    /// Compares with what was `seen`, if the warp has a slot. Gives how many lanes were only
    /// counted.
    fn run(self, trace: &Trace, seen: Option<&Warp>) -> Result<u64, String> {
        let Self { case, times, is_open, block, run, totals } = self;
        let is_virtual = times == Times::Virtual;
        let (mut recorded, mut lost, mut counted) = (0, 0, 0);
        for (number, lane) in (0_u32..).zip(&run.lanes) {
            let capacity = seen.and_then(|_| case.capacity(number));
            let Some(capacity) = capacity.map(|capacity| capacity as usize) else {
                totals.unplaced += lane.kept(0..0, |time| time).records();
                continue;
            };
            let context = |difference| format!("lane {number}: {difference}");
            let kept = if is_open {
                let whole = lane.with_all_elected();
                let all = whole.kept(0..whole.units.len(), |time| time);
                if whole.units.len() > capacity {
                    counted += 1;
                    continue;
                }
                all
            } else {
                let kept = survivors(lane.units.len(), capacity, case.session.keep);
                // On hardware the times are only for the order, which a coarse clock hides.
                lane.kept(kept, |time| if is_virtual { case.ticks(block, time) } else { time })
            };
            recorded += kept.recorded();
            lost += kept.records() - kept.recorded();
            totals.lose(&kept, number == 0);
            let Some(seen) = seen else { continue };
            let compare = LaneCompare { case, times, is_open };
            compare.lane(trace, seen, number, &kept).map_err(context)?;
        }
        let Some(seen) = seen else { return Ok(counted) };
        check_plausible(case, seen)?;
        if !is_open {
            let counts = (seen.recorded, seen.lost);
            ensure!(
                counts == (recorded, lost),
                "{} recorded and {} lost, not {recorded} and {lost}",
                counts.0,
                counts.1
            );
        }
        if is_virtual {
            let entry = (case.ticks(block, run.entry), case.ticks(block, run.exit));
            let seen_entry = (seen.entry.ticks, seen.exit.map_or(0, |exit| exit.ticks));
            ensure!(seen_entry == entry, "entry and exit at {seen_entry:?}, not {entry:?}");
            ensure!(seen.sm == case.sm_of(block), "on SM {}", seen.sm);
            check_axis(case, trace, seen)?;
        }
        Ok(counted)
    }
}

/// How the lists of a lane are compared.
struct LaneCompare<'a> {
    case: &'a Case,
    times: Times,
    is_open: bool,
}

impl LaneCompare<'_> {
    fn lane(&self, trace: &Trace, seen: &Warp, lane: u32, kept: &Kept) -> Result<(), String> {
        let of_lane = |other: u8| u32::from(other) == lane;
        let regions = seen.regions.iter().filter(|region| of_lane(region.lane));
        let regions = regions.map(|region| Item {
            kind: Kind::Region,
            name: trace.site(region.site).name.clone(),
            track: region.track,
            value: region.value.map(bits),
            depth: region.depth,
            start: region.start.ticks,
            end: region.end.map(|end| end.ticks),
        });
        let marks = seen.marks.iter().filter(|mark| of_lane(mark.lane)).map(|mark| Item {
            kind: Kind::of_mark(trace.site(mark.site).kind),
            name: trace.site(mark.site).name.clone(),
            track: mark.track,
            value: mark.value.map(bits),
            depth: 0,
            start: mark.time.ticks,
            end: Some(mark.time.ticks),
        });
        let anchors = seen.anchors.iter().filter(|anchor| of_lane(anchor.lane)).map(|anchor| {
            let (name, ticks) = (String::new(), anchor.time.ticks);
            let (kind, end) = (Kind::Anchor, Some(ticks));
            Item { kind, name, track: None, value: None, depth: 0, start: ticks, end }
        });
        let [of_regions, of_marks] = &kept.elected;
        self.list("regions", regions, &kept.regions, of_regions)?;
        self.list("marks", marks, &kept.marks, of_marks)?;
        // An anchor may be left to an election, which it does not say.
        let of_anchors = vec![self.is_open; kept.anchors.len()];
        self.list("readings of the clocks", anchors, &kept.anchors, &of_anchors)
    }

    /// What was `seen` must be what was expected; of that, what is `optional` may be missing where
    /// elections are open.
    fn list(
        &self,
        what: &str,
        seen: impl Iterator<Item = Item>,
        expected: &[Item],
        optional: &[bool],
    ) -> Result<(), String> {
        let seen: Vec<Item> = seen.collect();
        let comparable = |item: &Item| {
            let mut item = item.clone();
            if self.times == Times::Hardware {
                (item.start, item.end) = (0, None);
                if self.is_open || self.case.kernel.clock == Clock::GlobalTimer {
                    item.depth = 0;
                }
            }
            item
        };
        let optional = optional.iter().map(|optional| *optional && self.is_open);
        let mut left: Vec<Item> = seen.iter().map(comparable).collect();
        let mut wanted: Vec<(Item, bool)> = expected.iter().map(comparable).zip(optional).collect();
        // Items hold their times, or else stand in the order of time: but in one step of the timer
        // nothing is before anything.
        if self.times == Times::Virtual || self.case.kernel.clock == Clock::GlobalTimer {
            left.sort();
            wanted.sort();
        }
        let mut left = left.into_iter().peekable();
        let all_there = wanted
            .into_iter()
            .all(|(item, is_optional)| left.next_if_eq(&item).is_some() || is_optional);
        ensure!(all_there && left.next().is_none(), "{what}\n  {seen:?}\nand not\n  {expected:?}");
        Ok(())
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
    let lanes = case.threads();
    ensure!(seen.regions.iter().all(|region| u32::from(region.lane) < lanes), "no such lane");
    Ok(())
}

/// On the axis of nanoseconds everything lies where the emulator had it, as nearly as the trace
/// promises.
fn check_axis(case: &Case, trace: &Trace, seen: &Warp) -> Result<(), String> {
    let true_ns = |ticks: u64| match case.kernel.clock {
        Clock::GlobalTimer => ticks.wrapping_sub(trace.origin_ns).cast_signed() as f64,
        Clock::Cycles => reference::ns_behind(trace.origin_ns, seen.sm, ticks),
    };
    let of_regions = seen.regions.iter().flat_map(|region| [Some(region.start), region.end]);
    let of_marks = seen.marks.iter().map(|mark| Some(mark.time));
    for time in of_regions.chain(of_marks).chain([Some(seen.entry), seen.exit]).flatten() {
        let off = (time.ns - true_ns(time.ticks)).abs();
        let is_near = off <= trace.alignment_ns;
        ensure!(is_near, "{time:?} lies off by {off} ns, not {}", trace.alignment_ns);
    }
    Ok(())
}

/// What headers, lanes and the counters of what found no room say was emitted, together with what the
/// trace says was recorded and lost.
fn check_counts(capture: &Capture, trace: &Trace, totals: &Totals) -> Result<(), String> {
    let mut emitted = [0, 0];
    let mut add = |units: u64, attachments: u64| {
        emitted[0] += units;
        emitted[1] += attachments;
    };
    for module in &capture.modules {
        for bytes in module.headers.as_chunks::<{ header::BYTES }>().0 {
            let words = std::array::from_fn(|index| word(&bytes[8 * index..]));
            if let Some(exit) = ExitHeader::unpack(&words) {
                add(exit.units.into(), exit.attachments.into());
            }
        }
        for bytes in module.lane_counts.as_chunks::<8>().0 {
            let (units, attachments) = unpack_counts(word(bytes));
            add(units.into(), attachments.into());
        }
        add(module.lost.units, module.lost.attachments);
    }
    let [least, most] = totals.emitted;
    let within = (0..2).all(|index| (least[index]..=most[index]).contains(&emitted[index]));
    ensure!(within, "{emitted:?} units and attachments were emitted, not {least:?} to {most:?}");
    let records = trace.recorded() + trace.lost();
    ensure!(
        records == emitted[0] - emitted[1],
        "{records} records are accounted for, of {}",
        emitted[0] - emitted[1]
    );
    Ok(())
}

fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The trace says what is missing, with the right counts, and nothing else.
fn check_diagnostics(
    trace: &Trace,
    totals: &Totals,
    no_slot: u64,
    times: Times,
    is_open: bool,
) -> Result<(), String> {
    use DiagnosticKind as Of;
    let waits = trace.warps.iter().flat_map(|warp| &warp.marks);
    let waits =
        waits.filter(|mark| trace.site(mark.site).kind == profiler_wire::SiteKind::Wait).count();
    let found = |kind| {
        let of_kind = trace.diagnostics.list.iter().filter(|diagnostic| diagnostic.kind == kind);
        of_kind.map(|diagnostic| diagnostic.count).sum::<u64>()
    };
    let of_losses = [
        (Of::RoomTooSmall, totals.too_small[0]),
        (Of::LaneRoomTooSmall, totals.too_small[1]),
        (Of::ValuesLost, totals.values_lost),
        (Of::OpenRegion, totals.open),
        (Of::UnmatchedEnd, totals.unmatched),
        (Of::OrphanedValue, totals.orphaned),
        (if no_slot == 0 { Of::LanesWithoutRoom } else { Of::RecordsWithoutRoom }, totals.unplaced),
    ];
    let in_any_case =
        [(Of::NoSlot, no_slot), (Of::WaitWithoutSignal, (waits - trace.edges.len()) as u64)];
    // Where elections are open, so is what is lost of what they recorded.
    let exact = if is_open { &in_any_case[..] } else { &[&of_losses[..], &in_any_case].concat() };
    for &(kind, count) in exact {
        let found = found(kind);
        ensure!(found == count, "{} counts {found}, not {count}", kind.name());
    }
    for diagnostic in &trace.diagnostics.list {
        let kind = diagnostic.kind;
        let is_counted = of_losses.iter().chain(&in_any_case).any(|&(other, _)| other == kind);
        // A launch of some microseconds may not tell the frequency of the clock, which is of no
        // concern to the order.
        let of_clock =
            times == Times::Hardware && matches!(kind, Of::ClockUncertain | Of::ClockContradiction);
        let is_fine = is_counted || of_clock || diagnostic.severity() == Severity::Info;
        ensure!(is_fine, "{diagnostic}");
    }
    Ok(())
}
