use profiler_wire::SiteKind;

use profiler_wire::{SiteEntry, Strategy};
use proptest::prelude::{any, prop_oneof};
use proptest::strategy::Strategy as _;

use super::*;
use crate::diagnostic::DiagnosticKind;
use crate::model::{Region, Time, Value};
use crate::record_cost::{FormCosts, HostCost, StampCost, StampWaits};
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

/// Decodes one warp of 1 cycle per nanosecond that `record`s on a region and a mark.
fn trace(inside: f64, total: f64, record: impl Fn(&mut SyntheticWarp, u32, u32)) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
    let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
    record(&mut warp, region, mark);
    warp.leave(65_000, 128_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.record_cost = Some(RecordCost::uniform(inside, total));
    let mut trace = crate::decode(&capture);
    trace.subtract_record_cost();
    trace
}

fn length(region: &Region) -> u64 {
    region.end.map_or(0, |end| end.ticks - region.start.ticks)
}

#[test]
fn a_region_shorter_than_its_cost_becomes_zero_and_is_counted() {
    let trace = trace(10.0, 30.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_004).range(region, None, 2_010, 2_100);
    });
    let lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
    assert_eq!(lengths, [0, 80]);
    assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 2);
    // Of the costs of the first region 10 have passed in all: the others are not cut later.
    assert_eq!(trace.warps[0].exit.map(|exit| exit.ticks), Some(65_000 - 10 - 30));
}

#[test]
fn half_a_tick_is_rounding() {
    for (inside, crossed) in [(100.5, 0), (100.75, 1)] {
        let trace = trace(inside, 110.0, |warp, region, _| {
            warp.range(region, None, 2_000, 2_100);
        });
        assert_eq!(length(&trace.warps[0].regions[0]), 0);
        assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), crossed);
    }
}

#[test]
fn nanoseconds_are_cut_by_the_warps_own_clock_if_it_is_known() {
    let recorded = trace(0.0, 0.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_100);
    });
    let end_ns = |trace: &Trace| trace.warps[0].regions[0].end.map_or(0.0, |end| end.ns);
    // Ticks and nanoseconds from entry to exit, and what a tick takes.
    for (ticks, ns, ns_per_tick) in
        [(64_000, 32_000.0, 0.5), (0, 5.0, 2.0), (-1, 5.0, 2.0), (64_000, 0.0, 2.0)]
    {
        let mut trace = recorded.clone();
        trace.clock_mhz = Some(500.0);
        (trace.record_cost, trace.cost_subtracted) = (Some(RecordCost::uniform(10.0, 30.0)), false);
        let entry = trace.warps[0].entry;
        let exit = Time { ticks: entry.ticks.saturating_add_signed(ticks), ns: entry.ns + ns };
        trace.warps[0].exit = Some(exit);
        trace.subtract_record_cost();
        let cut = end_ns(&recorded) - end_ns(&trace);
        assert!((cut - 10.0 * ns_per_tick).abs() < 1e-6, "{ticks} ticks, {ns} ns: {cut}");
    }
}

#[test]
fn nothing_is_subtracted_twice_or_without_a_cost() {
    let mut once = trace(10.0, 30.0, |warp, region, _| {
        warp.range(region, None, 2_000, 2_100);
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
    let mut trace = trace(0.0, 0.0, |warp, region, _| {
        for index in 0..20 {
            warp.range(region, None, 2_003 + 71 * index, 2_003 + 73 * index);
        }
    });
    let warp = &mut trace.warps[0];
    let ns_of = |time: &mut Time| time.ns = 0.1 + time.ticks as f64 * (1000.0 / 1_755.0);
    warp.exit.iter_mut().chain([&mut warp.entry]).for_each(ns_of);
    for region in &mut warp.regions {
        region.end.iter_mut().chain([&mut region.start]).for_each(ns_of);
    }
    (trace.record_cost, trace.cost_subtracted) = (Some(RecordCost::uniform(23.4, 30.3)), false);
    trace.subtract_record_cost();
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

mod crowded;
mod hosted;
mod lanes;
mod timer;
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
    let host = |before: u32| FormCosts {
        region_begin: stamp(before + 1, 19),
        region_end: stamp(2, 23),
        mark: stamp(before + 3, 26),
        value: stamp(0, 17),
        anchor: stamp(6, 81),
        waits: StampWaits::default(),
    };
    let host = HostCost { one_lane: host(0), elected: host(70) };
    RecordCost { one_lane: forms(0), elected: forms(65), host: Some(host) }
}

/// What a made-up warp does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Work(u64),
    /// A region that is recorded as the kernel records or by an elected lane.
    Open(bool),
    /// Ends the innermost region, with a value in a record of its own or without.
    Close(bool),
    /// Ends it with a value in the region's record. Records in host memory have no room for one, so that it is
    /// a record of its own after all.
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
    ns_per_tick: f64,
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
        let RecordCost { one_lane, elected: by_elected, host, .. } = table();
        let (one_lane, by_elected) = match host.filter(|_| self.holds.hosted) {
            Some(host) => (host.one_lane, host.elected),
            None => (one_lane, by_elected),
        };
        if elected { by_elected } else { one_lane }
    }

    /// The lanes that store what is recorded so.
    fn storing(&self, elected: bool) -> std::ops::Range<u8> {
        if elected { 9..10 } else { 0..self.lanes }
    }

    /// Reads the clock; gives the reading and the undisturbed one.
    fn stamp(&mut self, cost: StampCost, is_begin: bool) -> (f64, u64) {
        self.now += cost.before_ticks * self.ns_per_tick;
        self.now = self.holds.stamp(self.now, self.real, cost, is_begin, self.ns_per_tick);
        let read = (self.now, self.real as u64);
        self.now += cost.after_ticks * self.ns_per_tick;
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
                if self.holds.hosted {
                    let (site, lanes) =
                        (self.sites[usize::from(elected)][0], self.storing(elected));
                    for lane in lanes {
                        self.warp.lane(lane).begin(site, None, now as u64);
                    }
                }
                self.open.push((elected, now, real));
            }
            Step::Close(_) | Step::CloseHolding => {
                let Some((elected, start, real_start)) = self.open.pop() else { return };
                let lanes = self.storing(elected);
                let is_holding = matches!(step, Step::CloseHolding);
                let in_record = is_holding && !self.holds.hosted;
                let with_value = matches!(step, Step::Close(true)) || is_holding && !in_record;
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
                    if in_record {
                        warp.range_signed(site, start, now, -7);
                    } else if self.holds.hosted {
                        warp.watched(site, None, start, now);
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
fn simulate(steps: &[Step], clock: Clock) -> (Trace, Machine) {
    simulate_holding(steps, clock, 1, Holds::default())
}

/// The same, where records hold up stamps, and where so many lanes record at once.
fn simulate_holding(steps: &[Step], clock: Clock, lanes: u8, holds: Holds) -> (Trace, Machine) {
    let waits = holds.waits;
    let mut module = SyntheticModule::new(Keep::First, 1 << 10);
    module.lane_capacity = Some(1 << 8);
    let mut kernel = SiteEntry::new(SiteKind::Kernel, "k", "k.rs", "k", 1, 1);
    kernel.buffer = if holds.hosted { Buffer::Host } else { Buffer::Global };
    let kernel = module.site_entry(&kernel, &[]);
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
    warp.header.record_clock = clock;
    if lanes > 1 {
        warp.header.strategy = u32::from(Strategy::Thread.code());
        warp.header.block_dim = [lanes.into(), 1, 1];
    }
    let ns_per_tick = if clock == Clock::GlobalTimer { 0.5 } else { 1.0 };
    let mut machine = Machine {
        warp,
        lanes,
        sites,
        ns_per_tick,
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
    let (cycles, ns) = match clock {
        Clock::Cycles => (after, after / 2),
        Clock::GlobalTimer => (2 * after, after),
    };
    machine.warp.leave(640_000 + cycles, 640_000 + ns);
    module.warps.push(machine.warp.clone());
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(2000.0);
    let mut cost = table();
    for costs in [&mut cost.one_lane, &mut cost.elected] {
        costs.waits = waits;
    }
    if let Some(HostCost { one_lane, elected }) = &mut cost.host {
        (one_lane.waits, elected.waits) = (waits, waits);
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
    for (elected, hosted) in [(false, false), (true, false), (false, true), (true, true)] {
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
            let holds = Holds::default().in_host(hosted);
            let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
            for region in &trace.warps[0].regions {
                assert_eq!(length(region), 1_000, "{elected}, {hosted}, depth {depth}");
                let ns = region.end.map_or(0.0, |end| end.ns) - region.start.ns;
                assert!((ns - 500.0).abs() < 0.01, "{ns}");
            }
            let kinds = trace.diagnostics.list.iter().map(|said| said.kind);
            let of_bus = hosted.then_some(DiagnosticKind::CostOfIdleBus);
            assert!(kinds.eq(of_bus), "{}", trace.diagnostics);
        }
    }
}

#[test]
fn an_anchor_costs_the_region_around_it() {
    let open = Step::Open(false);
    let steps = [open, Step::Work(700), Step::Anchor, Step::Work(300), Step::Close(false)];
    let (trace, _) = simulate(&steps, Clock::Cycles);
    assert_eq!(length(&trace.warps[0].regions[0]), 1_000);
    assert_eq!(trace.warps[0].anchors[0].time.ticks, 640_000 + 700);
    // The same where nothing else is recorded.
    let (trace, _) = simulate(&[Step::Anchor; 3], Clock::Cycles);
    let anchors = trace.warps[0].anchors.iter().map(|anchor| anchor.time.ticks);
    assert_eq!(anchors.collect::<Vec<u64>>(), [640_000; 3]);
}

#[test]
fn the_cost_in_cycles_is_taken_from_the_timer_as_nanoseconds() {
    let steps: Vec<Step> = std::iter::repeat_n(Step::Open(false), 4)
        .chain([Step::Work(9_000)])
        .chain(std::iter::repeat_n(Step::Close(true), 4))
        .collect();
    let (trace, _) = simulate(&steps, Clock::GlobalTimer);
    for region in &trace.warps[0].regions {
        assert!(length(region).abs_diff(9_000) <= 1, "{}", length(region));
    }
    // Without a frequency, or with one that is none, the cost in nanoseconds is not known.
    for mhz in [None, Some(0.0), Some(-2000.0), Some(f64::INFINITY), Some(f64::NAN)] {
        let mut unknown = trace.clone();
        (unknown.cost_subtracted, unknown.clock_mhz) = (false, mhz);
        unknown.subtract_record_cost();
        assert_eq!(unknown.diagnostics.count(DiagnosticKind::CostUnknown), 1, "{mhz:?}");
        assert_eq!(unknown.warps, trace.warps);
    }
}

#[test]
fn a_table_of_figures_that_are_none_is_refused() {
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let mut cost = table();
        cost.elected.mark.after_ticks = bad;
        let mut of_waits = table();
        of_waits.one_lane.waits.end.most_ticks = bad;
        let mut of_host = table();
        of_host.host = of_host.host.map(|mut host| {
            host.elected.value.after_ticks = bad;
            host
        });
        for cost in [cost, of_waits, of_host] {
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
    fn the_table_explains_all_times(
        steps in proptest::collection::vec(step(), 0..60),
        hosted in any::<bool>(),
    ) {
        let holds = Holds::default().in_host(hosted);
        let (trace, machine) = simulate_holding(&steps, Clock::Cycles, 1, holds);
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
