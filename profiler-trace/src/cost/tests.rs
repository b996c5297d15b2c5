use profiler_wire::SiteKind;

use profiler_wire::{SiteEntry, Strategy};
use proptest::prelude::{any, prop_oneof};
use proptest::strategy::Strategy as _;

use super::*;
use crate::diagnostic::DiagnosticKind;
use crate::model::{Region, Time, Value};
use crate::record_cost::{FormCosts, StampCost, StampWaits};
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

/// Sites of the made-up warps: two regions and a mark.
const REGION: u32 = 2;
const OTHER: u32 = 3;
const MARK: u32 = 4;

/// Decodes one warp of 1 cycle per nanosecond, and subtracts the cost.
fn trace_of(cost: RecordCost, emulated: bool, record: impl Fn(&mut SyntheticWarp)) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 64);
    module.lane_capacity = Some(64);
    let kernel = module.site(SiteKind::Kernel, "k");
    for (kind, name) in [(SiteKind::Region, "r"), (SiteKind::Region, "s"), (SiteKind::Mark, "m")] {
        module.site(kind, name);
    }
    let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
    record(&mut warp);
    warp.leave(65_000, 128_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.emulated = emulated;
    capture.device.clock_mhz = Some(1000.0);
    capture.record_cost = Some(cost);
    let mut trace = crate::decode(&capture);
    trace.subtract_record_cost();
    trace
}

/// The same, where all records cost the same.
fn trace(inside: f64, total: f64, record: impl Fn(&mut SyntheticWarp)) -> Trace {
    trace_of(RecordCost::uniform(inside, total), false, record)
}

/// Subtracts another cost than nothing.
fn subtract(trace: &mut Trace, cost: RecordCost) {
    (trace.record_cost, trace.cost_subtracted) = (Some(cost), false);
    trace.subtract_record_cost();
}

fn length(region: &Region) -> u64 {
    region.end.map_or(0, |end| end.ticks - region.start.ticks)
}

fn lengths(trace: &Trace) -> Vec<u64> {
    trace.warps[0].regions.iter().map(length).collect()
}

#[test]
fn a_region_shorter_than_its_cost_becomes_zero_and_is_counted() {
    let trace = trace(10.0, 30.0, |warp| {
        warp.range(REGION, None, 2_000, 2_004).range(REGION, None, 2_010, 2_100);
    });
    assert_eq!(lengths(&trace), [0, 80]);
    assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 2);
    // Of the costs of the first region 10 have passed in all: the others are not cut later.
    assert_eq!(trace.warps[0].exit.map(|exit| exit.ticks), Some(65_000 - 10 - 30));
}

#[test]
fn half_a_tick_is_rounding() {
    for (inside, crossed) in [(100.5, 0), (100.75, 1)] {
        let trace = trace(inside, 110.0, |warp| {
            warp.range(REGION, None, 2_000, 2_100);
        });
        assert_eq!(lengths(&trace), [0]);
        assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), crossed);
    }
}

#[test]
fn nanoseconds_are_cut_by_the_warps_own_clock_if_it_is_known() {
    let recorded = trace(0.0, 0.0, |warp| {
        warp.range(REGION, None, 2_000, 2_100);
    });
    let end_ns = |trace: &Trace| trace.warps[0].regions[0].end.map_or(0.0, |end| end.ns);
    // Ticks and nanoseconds from entry to exit, and what a tick takes.
    for (ticks, ns, ns_per_tick) in
        [(64_000, 32_000.0, 0.5), (0, 5.0, 2.0), (-1, 5.0, 2.0), (64_000, 0.0, 2.0)]
    {
        let mut trace = recorded.clone();
        trace.clock_mhz = Some(500.0);
        let entry = trace.warps[0].entry;
        let exit = Time { ticks: entry.ticks.saturating_add_signed(ticks), ns: entry.ns + ns };
        trace.warps[0].exit = Some(exit);
        subtract(&mut trace, RecordCost::uniform(10.0, 30.0));
        let cut = end_ns(&recorded) - end_ns(&trace);
        assert!((cut - 10.0 * ns_per_tick).abs() < 1e-6, "{ticks} ticks, {ns} ns: {cut}");
    }
}

#[test]
fn nothing_is_subtracted_twice_or_without_a_cost() {
    let mut once = trace(10.0, 30.0, |warp| {
        warp.range(REGION, None, 2_000, 2_100);
    });
    let before = once.clone();
    once.subtract_record_cost();
    assert_eq!(once, before);
    let mut unknown = Trace::default();
    unknown.subtract_record_cost();
    assert_eq!(unknown.diagnostics.count(DiagnosticKind::CostUnknown), 1);
    assert!(!unknown.cost_subtracted);
}

/// Most nanoseconds are no whole numbers, and differ by rounding from those that they are equal to.
#[test]
fn a_region_of_no_ticks_lasts_no_nanoseconds() {
    let mut trace = trace(0.0, 0.0, |warp| {
        for index in 0..20 {
            warp.range(REGION, None, 2_003 + 71 * index, 2_003 + 73 * index);
        }
    });
    let warp = &mut trace.warps[0];
    let ns_of = |time: &mut Time| time.ns = 0.1 + time.ticks as f64 * (1000.0 / 1_755.0);
    warp.exit.iter_mut().chain([&mut warp.entry]).for_each(ns_of);
    for region in &mut warp.regions {
        region.end.iter_mut().chain([&mut region.start]).for_each(ns_of);
    }
    subtract(&mut trace, RecordCost::uniform(23.4, 30.3));
    let ns = |region: &Region| region.end.map_or(0.0, |end| end.ns) - region.start.ns;
    let regions = &trace.warps[0].regions;
    let lasting = regions.iter().filter(|region| length(region) > 0);
    assert!((5..15).contains(&lasting.count()), "{regions:?}");
    for region in regions {
        assert_eq!(ns(region) > 0.0, length(region) > 0, "{region:?}");
    }
    trace.warps[0].regions.retain(|region| length(region) == 0);
    let stats = trace.stats();
    let row = stats.get("r").expect("it has regions");
    assert_eq!((row.ns.total, row.ns.max, row.share), (0.0, 0.0, 0.0));
}

mod lanes;
mod waits;

use waits::Holds;

/// A table in which no two figures are alike.
fn table() -> RecordCost {
    let stamp = |before: u32, after: u32| StampCost {
        before_ticks: before.into(),
        after_ticks: after.into(),
    };
    let forms = |before| FormCosts {
        region_begin: stamp(before, 2),
        region_end: stamp(0, 38),
        mark: stamp(before + 2, 37),
        value: stamp(0, 29),
        anchor: stamp(before + 4, 90),
        waits: StampWaits::default(),
    };
    RecordCost { one_lane: forms(0), elected: forms(65) }
}

/// What a made-up warp does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Work(u64),
    /// A region that is recorded as the kernel records or by an elected lane.
    Open(bool),
    /// Ends the innermost region, with a value in a record of its own or without.
    Close(bool),
    /// Ends it with a value in the region's record.
    CloseHolding,
    Mark(bool),
    Anchor,
}

/// A warp that spends time on recording as the table says, next to a clock that stands still
/// meanwhile.
struct Machine {
    warp: SyntheticWarp,
    /// How many lanes record, unless it is an elected one.
    lanes: u8,
    /// `[region, mark]`, as the kernel records and by an elected lane.
    sites: [[u32; 2]; 2],
    now: f64,
    real: f64,
    open: Vec<(bool, f64, u64)>,
    holds: Holds,
    /// `(start, end)` of the regions as they would be without records.
    regions: Vec<(u64, u64)>,
    marks: Vec<u64>,
}

impl Machine {
    fn costs(&self, elected: bool) -> FormCosts {
        if elected { table().elected } else { table().one_lane }
    }

    /// The lanes that store what is recorded so.
    fn storing(&self, elected: bool) -> std::ops::Range<u8> {
        if elected { 9..10 } else { 0..self.lanes }
    }

    /// Reads the clock; gives the reading and the undisturbed one.
    fn stamp(&mut self, cost: StampCost, is_begin: bool) -> (f64, u64) {
        self.now += cost.before_ticks;
        self.now = self.holds.stamp(self.now, self.real, cost, is_begin);
        let read = (self.now, self.real as u64);
        self.now += cost.after_ticks;
        read
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Work(ticks) => {
                self.now += ticks as f64;
                self.real += ticks as f64;
            }
            Step::Open(elected) => {
                let (now, real) = self.stamp(self.costs(elected).region_begin, true);
                self.open.push((elected, now, real));
            }
            Step::Close(_) | Step::CloseHolding => {
                let Some((elected, start, real_start)) = self.open.pop() else { return };
                let lanes = self.storing(elected);
                let with_value = matches!(step, Step::Close(true));
                let costs = self.costs(elected);
                let mut end = costs.region_end;
                if with_value {
                    end.after_ticks += costs.value.total_ticks();
                }
                let (now, real) = self.stamp(end, false);
                let site = self.sites[usize::from(elected)][0];
                let (start, now) = (start as u64, now as u64);
                for lane in lanes {
                    let warp = self.warp.lane(lane);
                    if matches!(step, Step::CloseHolding) {
                        warp.range_signed(site, start, now, -7);
                    } else {
                        warp.range(site, None, start, now);
                    }
                    if with_value {
                        warp.attach(site, now, Value::Unsigned(7));
                    }
                }
                self.regions.push((real_start, real));
            }
            Step::Mark(elected) => {
                let (now, real) = self.stamp(self.costs(elected).mark, false);
                let site = self.sites[usize::from(elected)][1];
                for lane in self.storing(elected) {
                    self.warp.lane(lane).mark(site, None, now as u64);
                }
                self.marks.push(real);
            }
            Step::Anchor => {
                let (now, _) = self.stamp(self.costs(false).anchor, false);
                for lane in self.storing(false) {
                    self.warp.lane(lane).anchor(now as u64, now as u64 / 32 * 32);
                }
            }
        }
    }
}

/// Records the steps; the trace with costs subtracted, and what it should hold.
fn simulate(steps: &[Step]) -> (Trace, Machine) {
    simulate_holding(steps, 1, Holds::default())
}

/// The same, where records hold up stamps, and where so many lanes record at once.
fn simulate_holding(steps: &[Step], lanes: u8, holds: Holds) -> (Trace, Machine) {
    let waits = holds.waits;
    let mut module = SyntheticModule::new(Keep::First, 1 << 10);
    module.lane_capacity = Some(1 << 8);
    let kernel = module.site(SiteKind::Kernel, "k");
    let mut sites = [[0; 2]; 2];
    for (elected, sites) in sites.iter_mut().enumerate() {
        for (site, kind) in sites.iter_mut().zip([SiteKind::Region, SiteKind::Mark]) {
            let mut entry = SiteEntry::new(kind, "s", "k.rs", "k", elected as u32 + 1, 1);
            if elected == 1 {
                entry.strategy = Strategy::Elected.code();
            }
            *site = module.site_entry(&entry, &[]);
        }
    }
    // Half a nanosecond a cycle by the cycle counter.
    const ENTRY: f64 = 640_000.0;
    let mut warp = SyntheticWarp::new(kernel, 640_000, 640_000);
    if lanes > 1 {
        warp.header.strategy = u32::from(Strategy::Thread.code());
        warp.header.block_dim = [lanes.into(), 1, 1];
    }
    let mut machine = Machine {
        warp,
        lanes,
        sites,
        now: ENTRY,
        real: ENTRY,
        open: Vec::new(),
        holds,
        regions: Vec::new(),
        marks: Vec::new(),
    };
    for step in steps {
        machine.run(*step);
    }
    while !machine.open.is_empty() {
        machine.run(Step::Close(false));
    }
    let after = machine.now as u64 - 640_000 + 64_000;
    machine.warp.leave(640_000 + after, 640_000 + after / 2);
    module.warps.push(machine.warp.clone());
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(2000.0);
    let mut cost = table();
    for costs in [&mut cost.one_lane, &mut cost.elected] {
        costs.waits = waits;
    }
    capture.record_cost = Some(cost);
    let mut trace = crate::decode(&capture);
    trace.subtract_record_cost();
    (trace, machine)
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    prop_oneof![
        3 => (0_u64..500).prop_map(Step::Work),
        3 => any::<bool>().prop_map(Step::Open),
        3 => any::<bool>().prop_map(Step::Close),
        1 => proptest::prelude::Just(Step::CloseHolding),
        1 => any::<bool>().prop_map(Step::Mark),
    ]
}

#[test]
fn regions_are_right_at_each_depth() {
    for elected in [false, true] {
        for (depth, close) in [
            (1, Step::Close(false)),
            (2, Step::Close(true)),
            (4, Step::Close(false)),
            (8, Step::Close(true)),
            (8, Step::CloseHolding),
        ] {
            let mut steps = vec![Step::Open(elected); depth];
            steps.push(Step::Work(1_000));
            steps.extend(vec![close; depth]);
            let (trace, _) = simulate(&steps);
            for region in &trace.warps[0].regions {
                assert_eq!(length(region), 1_000, "{elected}, depth {depth}");
                let ns = region.end.map_or(0.0, |end| end.ns) - region.start.ns;
                assert!((ns - 500.0).abs() < 0.01, "{ns}");
            }
            assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
        }
    }
}

#[test]
fn an_anchor_costs_the_region_around_it() {
    let open = Step::Open(false);
    let steps = [open, Step::Work(700), Step::Anchor, Step::Work(300), Step::Close(false)];
    let (trace, _) = simulate(&steps);
    assert_eq!(length(&trace.warps[0].regions[0]), 1_000);
    assert_eq!(trace.warps[0].anchors[0].time.ticks, 640_000 + 700);
    // The same where nothing else is recorded.
    let (trace, _) = simulate(&[Step::Anchor; 3]);
    let anchors = trace.warps[0].anchors.iter().map(|anchor| anchor.time.ticks);
    assert_eq!(anchors.collect::<Vec<u64>>(), [640_000; 3]);
}

#[test]
fn a_table_of_figures_that_are_none_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut cost = table();
        cost.elected.mark.after_ticks = bad;
        let mut of_waits = table();
        of_waits.one_lane.waits.end.most_ticks = bad;
        for cost in [cost, of_waits] {
            let mut trace = Trace { record_cost: Some(cost), ..Trace::default() };
            trace.subtract_record_cost();
            assert_eq!(trace.diagnostics.count(DiagnosticKind::CostUnknown), 1);
        }
    }
    for (_, costs) in RecordCost::uniform(9.0, 22.0).elections() {
        assert_eq!(costs.inside_ticks(), 9.0);
        assert_eq!(costs.total_ticks(), 22.0);
    }
    let table = table();
    for (strategy, costs) in [
        (Strategy::Warp, &table.one_lane),
        (Strategy::When, &table.one_lane),
        (Strategy::Elected, &table.elected),
        (Strategy::Thread, &table.one_lane),
    ] {
        assert_eq!(table.of(strategy), costs, "{strategy:?}");
    }
}

/// Whether regions still end after their begins, and times of different ticks are in order.
fn order_stays(before: &Trace, after: &Trace) -> Result<(), proptest::test_runner::TestCaseError> {
    let times = |region: &Region| [region.start, region.end.unwrap_or(region.start)];
    let regions = || before.warps[0].regions.iter().zip(&after.warps[0].regions);
    for (old, new) in regions() {
        let [start, end] = times(new);
        proptest::prop_assert!(end.ticks >= start.ticks && end.ns >= start.ns);
        for (other_old, other_new) in regions() {
            for (left, left_new) in times(old).into_iter().zip(times(new)) {
                for (right, right_new) in times(other_old).into_iter().zip(times(other_new)) {
                    if left.ticks < right.ticks {
                        proptest::prop_assert!(left_new.ticks <= right_new.ticks);
                        proptest::prop_assert!(left_new.ns <= right_new.ns);
                    }
                }
            }
        }
    }
    Ok(())
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]

    /// Whatever a warp records, the times become those of a warp that records nothing.
    #[test]
    fn the_table_explains_all_times(steps in proptest::collection::vec(step(), 0..60)) {
        let (trace, machine) = simulate(&steps);
        let warp = &trace.warps[0];
        let mut seen: Vec<(u64, u64)> = warp
            .regions
            .iter()
            .map(|region| (region.start.ticks, region.end.map_or(0, |end| end.ticks)))
            .collect();
        let mut expected = machine.regions.clone();
        seen.sort_unstable();
        expected.sort_unstable();
        proptest::prop_assert_eq!(seen, expected);
        let marks: Vec<u64> = warp.marks.iter().map(|mark| mark.time.ticks).collect();
        proptest::prop_assert_eq!(marks, machine.marks);
        proptest::prop_assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 0);
    }
}

mod hosted {
    //! Warps whose records went to memory of the host, or hold the timer: what these cost is not known.

    use super::*;

    /// Subtracts the cost from a warp with one region of 100 ticks: how long it is then, and of which warp the
    /// cost is not known.
    fn subtracted(buffer: Buffer, clock: Clock, emulated: bool) -> (u64, Option<u32>) {
        let mut trace = trace(0.0, 0.0, |warp| {
            warp.range(REGION, None, 2_000, 2_100);
        });
        let kernel = trace.launches[0].kernel;
        trace.sites[kernel.0 as usize].buffer = buffer;
        (trace.warps[0].slot, trace.warps[0].clock, trace.device.emulated) = (7, clock, emulated);
        subtract(&mut trace, RecordCost::uniform(10.0, 30.0));
        let said = trace.diagnostics.get(DiagnosticKind::CostUnknown).and_then(|said| said.place);
        (length(&trace.warps[0].regions[0]), said.and_then(|place| place.slot))
    }

    #[test]
    fn nothing_is_subtracted_where_the_cost_is_not_known() {
        for (buffer, clock, emulated, expected) in [
            (Buffer::Global, Clock::Cycles, false, (90, None)),
            (Buffer::Host, Clock::Cycles, false, (100, Some(7))),
            // The emulator has no bus.
            (Buffer::Host, Clock::Cycles, true, (90, None)),
            (Buffer::Global, Clock::GlobalTimer, false, (100, Some(7))),
            (Buffer::Global, Clock::GlobalTimer, true, (100, Some(7))),
        ] {
            assert_eq!(subtracted(buffer, clock, emulated), expected, "{buffer:?}, {clock:?}");
        }
    }
}

mod crowded {
    //! Warps that record beside others on their SM.

    use super::*;

    /// Slots of crowded warps: how many, and the first. Warps are an SM, when they enter and leave in microseconds,
    /// and whether they record.
    fn crowded(warps: &[(u32, u64, u64, bool)], emulated: bool) -> (u64, Option<u32>) {
        let mut module = SyntheticModule::new(Keep::First, 64);
        let kernel = module.site(SiteKind::Kernel, "k");
        let mark = module.site(SiteKind::Mark, "m");
        for (block, &(sm, enters, leaves, records)) in (0..).zip(warps) {
            let mut warp = SyntheticWarp::new(kernel, 1_000 * enters, 64_000 + 1_000 * enters);
            (warp.header.sm, warp.header.block) = (sm, [block, 0, 0]);
            if records {
                warp.mark(mark, None, 1_000 * enters + 10);
            }
            module.warps.push(warp.leave(1_000 * leaves, 64_000 + 1_000 * leaves).clone());
        }
        let mut capture = module.into_capture().expect("the sites are whole");
        capture.device.emulated = emulated;
        capture.record_cost = Some(RecordCost::uniform(10.0, 30.0));
        let mut trace = crate::decode(&capture);
        trace.subtract_record_cost();
        let decoder = || crate::Decoder::new(&capture).subtract_record_cost();
        assert_eq!(decoder().trace(), trace);
        assert_eq!(decoder().diagnostics(), trace.diagnostics);
        // Also of a trace that shows none of the others.
        let alone = decoder().only(|warp| warp.slot == 0).outline();
        let found = |trace: &Trace| trace.diagnostics.get(DiagnosticKind::CostIsRough).copied();
        assert_eq!(found(&alone), found(&trace));
        let found = found(&trace);
        let slot = found.and_then(|found| found.place).and_then(|place| place.slot);
        (found.map_or(0, |found| found.count), slot)
    }

    #[test]
    fn more_than_four_recording_warps_of_an_sm_are_said() {
        let warps = |count: usize| vec![(3, 10, 20, true); count];
        assert_eq!(crowded(&warps(4), false), (0, None));
        assert_eq!(crowded(&warps(6), false), (2, Some(4)));
        assert_eq!(crowded(&warps(6), true), (0, None));
    }

    #[test]
    fn warps_of_other_sms_and_times_and_those_that_record_nothing_do_not_crowd() {
        let fifth = |fifth| [vec![(3, 10, 20, true); 4], vec![fifth]].concat();
        assert_eq!(crowded(&fifth((3, 19, 30, true)), false), (1, Some(4)));
        for other in [(4, 10, 20, true), (3, 20, 30, true), (3, 10, 20, false)] {
            assert_eq!(crowded(&fifth(other), false), (0, None), "{other:?}");
        }
    }
}
