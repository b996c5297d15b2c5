//! Records that hold up the stamps behind them.

use super::*;
use crate::record_cost::StampWait;

/// How the made-up warp's records hold up stamps, and all of its stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    pub(super) waits: StampWaits,
    /// Whether records go to memory of the host, so that begins are some.
    pub(super) hosted: bool,
    /// Of the longest wait, how many eighths a stamp waits at least: one figure after the other,
    /// again and again. None is all.
    eighths: Vec<u8>,
    /// When the last record was stored, what all stamps since cost, and whether a region has begun.
    stored: Option<(f64, f64, bool)>,
    /// Where the last stamp was a begin: when, and what it costs behind it.
    begun: Option<(f64, f64)>,
    stamps: Vec<Stamp>,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// What the clock would show without records.
    real: f64,
    /// How long it may have waited, where it may have.
    reach: Option<f64>,
    /// How long it may have waited for once, where it may have.
    rare: Option<f64>,
}

impl Holds {
    pub(super) fn new(waits: StampWaits, eighths: &[u8]) -> Self {
        Self { waits, eighths: eighths.to_vec(), ..Self::default() }
    }

    /// The same of records that go to memory of the host, or of the GPU.
    pub(super) fn in_host(self, hosted: bool) -> Self {
        Self { hosted, ..self }
    }

    /// When the clock is read that would be read at `now` if nothing held it up.
    pub(super) fn stamp(
        &mut self,
        now: f64,
        real: f64,
        cost: StampCost,
        is_begin: bool,
        ns_per_tick: f64,
    ) -> f64 {
        let [before, after] =
            [cost.before_ticks, cost.after_ticks].map(|ticks| ticks * ns_per_tick);
        let index = self.stamps.len() % self.eighths.len().max(1);
        let eighths = f64::from(self.eighths.get(index).copied().unwrap_or(8)) / 8.0;
        let held = |wait: StampWait| (wait.most_ticks * ns_per_tick * eighths).floor();
        let mut reaches = Vec::new();
        let mut read = now;
        if let Some((at, apart, begun)) = &mut self.stored {
            let wait = match (is_begin, *begun) {
                (true, _) => self.waits.begin,
                (false, true) => self.waits.end,
                (false, false) => self.waits.record,
            };
            *apart += before;
            read = read.max(*at + *apart + held(wait));
            reaches.push((*at + *apart, wait));
            *apart += after;
            *begun |= is_begin;
        }
        if let Some((at, behind)) = self.begun.take() {
            let wait = self.waits.nested;
            read = read.max(at + behind + before + held(wait));
            reaches.push((at + behind + before, wait));
        }
        let longest = |of: fn(StampWait) -> Option<f64>| {
            let within = reaches.iter().filter_map(|(free, wait)| {
                let wait = if self.hosted { wait.over_the_bus() } else { *wait };
                of(wait).filter(|most| read <= free + most)
            });
            within.reduce(f64::max)
        };
        let (reach, rare) = (longest(StampWait::reach_ticks), longest(StampWait::rare_ticks));
        if self.hosted || !is_begin {
            self.stored = Some((read, after, is_begin));
        } else {
            self.begun = Some((read, after));
        }
        self.stamps.push(Stamp { real, reach, rare });
        read
    }
}

pub(super) fn waits() -> StampWaits {
    let wait = |most: f64| StampWait { mean_ticks: most / 2.0, most_ticks: most };
    StampWaits { nested: wait(6.0), begin: wait(10.0), end: wait(25.0), record: wait(40.0) }
}

/// The stamps of a trace's only warp but its anchors, in order.
fn stamps(trace: &Trace) -> Vec<u64> {
    let warp = &trace.warps[0];
    let ends = warp.regions.iter().filter_map(|region| region.end);
    let starts = warp.regions.iter().map(|region| region.start);
    let times = starts.chain(ends).chain(warp.marks.iter().map(|mark| mark.time));
    let mut ticks: Vec<u64> = times.map(|time| time.ticks).collect();
    ticks.sort_unstable();
    ticks
}

#[test]
fn what_stands_back_to_back_takes_no_time_whatever_was_waited() {
    for eighths in [&[][..], &[0], &[8, 3], &[1, 7, 5]] {
        for (elected, with_value) in [(false, false), (true, true)] {
            let mut steps = vec![Step::Open(elected); 8];
            steps.push(Step::Work(1_000));
            steps.extend(vec![Step::Close(with_value); 8]);
            // Beside each other, around each other.
            let pair = [Step::Open(elected), Step::Close(with_value)];
            steps.extend(pair.repeat(8));
            let holds = Holds::new(waits(), eighths);
            let (trace, machine) = simulate_holding(&steps, Clock::Cycles, 1, holds);
            let mut lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
            lengths.sort_unstable();
            assert_eq!(lengths, [[0; 8], [1_000; 8]].concat(), "{elected}");
            assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
            let waited = machine.now - 640_000.0 - 1_000.0;
            assert!(waited > 100.0, "the machine records for nothing: {waited}");
        }
    }
}

#[test]
fn the_reach_of_a_record_is_the_longest_wait() {
    // From the end of one region to the mark behind it: 38 behind the end, 2 ahead of the mark.
    let limit = waits().record.reach_ticks().expect("there is a wait") as u64;
    for (work, seen) in [(limit, 0), (limit + 1, limit + 1)] {
        let steps = [
            Step::Open(false),
            Step::Work(500),
            Step::Close(false),
            Step::Work(work),
            Step::Mark(false),
        ];
        let holds = Holds::new(waits(), &[0]);
        let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
        let warp = &trace.warps[0];
        let end = warp.regions[0].end.map_or(0, |end| end.ticks);
        assert_eq!(warp.marks[0].time.ticks - end, seen);
        assert_eq!(length(&warp.regions[0]), 500, "nothing was stored ahead of it");
    }
}

#[test]
fn the_reach_is_a_third_and_two_ticks_longer_than_the_longest_wait() {
    let reach = |most: f64| StampWait { mean_ticks: 0.0, most_ticks: most }.reach_ticks();
    assert_eq!((reach(30.0), reach(0.75)), (Some(42.0), Some(3.0)));
    assert_eq!((reach(0.5).is_some(), reach(0.4375)), (true, None));
}

/// How long regions around others last of 1000 cycles, behind which so much more is worked at the turns that
/// are named, of so many. All else stands back to back, and waits for half as long as it may.
fn around(turns: usize, longer: &[usize], more: u64) -> Vec<u64> {
    let turn = |turn| {
        let more = if longer.contains(&turn) { more } else { 0 };
        [
            Step::Open(false),
            Step::Open(false),
            Step::Work(1_000),
            Step::Close(false),
            Step::Work(more),
            Step::Close(false),
            Step::Work(1_000),
        ]
    };
    let steps: Vec<Step> = (0..turns).flat_map(turn).collect();
    let holds = Holds::new(waits(), &[4]);
    let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, holds);
    let around = trace.warps[0].regions.iter().filter(|region| region.depth == 0);
    around.map(length).collect()
}

#[test]
fn what_mostly_stands_back_to_back_and_once_took_longer_had_to_wait() {
    let wait = waits().record;
    let rare = wait.rare_ticks().expect("there is a wait") as u64;
    assert!(wait.reach_ticks().is_some_and(|reach| reach < 60.0) && rare == 82, "{rare}");
    for longer in [60, rare] {
        assert_eq!(around(8, &[3], longer), [1_000; 8]);
        assert_eq!(around(16, &[0, 1, 7, 15], longer), [1_000; 16]);
        // Of seven none tells, and five in 16 are too many.
        assert_eq!(around(7, &[3], longer)[3], 1_000 + longer);
        let many = around(16, &[0, 1, 7, 9, 15], longer);
        assert_eq!([many[0], many[2], many[7]], [1_000 + longer, 1_000, 1_000 + longer]);
    }
    // No wait is longer than that.
    assert_eq!(around(8, &[3], rare + 1)[3], 1_000 + rare + 1);
}

#[test]
fn of_stamps_at_one_time_what_ends_is_the_first_and_what_begins_the_last() {
    // The second region begins behind the records of the first one and of the mark, which hold up
    // its end no longer.
    let mut trace = trace(0.0, 0.0, |warp, region, mark| {
        warp.range(region, None, 2_000, 3_000).mark(mark, None, 3_000);
        warp.range(region, None, 3_000, 3_030);
    });
    let mut cost = RecordCost::uniform(0.0, 0.0);
    cost.one_lane.waits.record = StampWait { mean_ticks: 15.0, most_ticks: 30.0 };
    (trace.record_cost, trace.cost_subtracted) = (Some(cost), false);
    trace.subtract_record_cost();
    let lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
    assert_eq!(lengths, [1_000, 30]);
}

#[test]
fn a_region_behind_a_record_is_exact_where_it_ends_beyond_its_reach() {
    // An end that waited only for its region's begin would be 25 later.
    for work in [40, 60, 200] {
        let region = [Step::Open(false), Step::Work(work), Step::Close(false)];
        let holds = Holds::new(waits(), &[]);
        let (trace, _) = simulate_holding(&region.repeat(3), Clock::Cycles, 1, holds);
        for region in &trace.warps[0].regions {
            assert_eq!(length(region), work);
        }
    }
    // Within it the work may be what the end waited.
    let limit = waits().end.reach_ticks().expect("there is a wait") as u64;
    for (work, seen) in [(limit, 0), (limit + 1, limit + 1)] {
        let region = |work| [Step::Open(false), Step::Work(work), Step::Close(false)];
        let steps = [region(1_000), region(work)].concat();
        let (trace, _) = simulate_holding(&steps, Clock::Cycles, 1, Holds::new(waits(), &[0]));
        let lengths: Vec<u64> = trace.warps[0].regions.iter().map(length).collect();
        assert_eq!(lengths, [1_000, seen]);
    }
}

#[test]
fn steps_of_the_timer_hide_no_more_than_a_step() {
    const STEP: u64 = 32;
    // Eight regions, each in the one before; a nanosecond is two cycles. The begins take 1 ns each,
    // the ends behind each other 3 ns for themselves and 17 ns with what they wait.
    let (cost, depth, work) = (RecordCost::uniform(2.0, 8.0), 8, 9_000);
    let mut sum_of_errors = 0.0;
    for phase in 0..STEP {
        let mut module = SyntheticModule::new(Keep::First, 64);
        let kernel = module.site(SiteKind::Kernel, "k");
        let region = module.site(SiteKind::Region, "r");
        let mut warp = SyntheticWarp::new(kernel, 640_000, 640_000);
        warp.header.record_clock = Clock::GlobalTimer;
        let read = |ns: u64| (650_000 + phase + ns) / STEP * STEP;
        for level in (0..depth).rev() {
            let ends = depth + work + 17 * (depth - 1 - level);
            warp.range(region, None, read(level), read(ends));
        }
        warp.leave(840_000, 740_000);
        module.warps.push(warp);
        let mut capture = module.into_capture().expect("the sites are whole");
        capture.device.clock_mhz = Some(2000.0);
        capture.record_cost = Some(cost);
        if let Some(RecordCost { one_lane: costs, .. }) = &mut capture.record_cost {
            costs.waits = waits();
        }
        let mut trace = crate::decode(&capture);
        trace.timer_step_ns = STEP as f64;
        trace.subtract_record_cost();
        for region in &trace.warps[0].regions {
            let error = length(region) as f64 - work as f64;
            assert!(error.abs() <= STEP as f64, "{error} at {phase}");
            sum_of_errors += error;
        }
        assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
    }
    let mean = sum_of_errors / (STEP * depth) as f64;
    assert!(mean.abs() < 8.0, "{mean}");
}

/// Decodes a module where nothing costs but that begins wait for a record, which reaches 42 ns: a nanosecond
/// is two cycles.
fn where_begins_wait(module: SyntheticModule) -> Trace {
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(2000.0);
    let mut cost = RecordCost::uniform(0.0, 0.0);
    cost.one_lane.waits.begin = StampWait { mean_ticks: 15.0, most_ticks: 60.0 };
    capture.record_cost = Some(cost);
    crate::decode(&capture)
}

#[test]
fn of_all_that_waits_for_a_record_no_more_is_cut_than_its_reach() {
    // By a timer that tells no better, both regions may have begun within the reach.
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
    let mut warp = SyntheticWarp::new(kernel, 64_000, 64_000);
    warp.header.record_clock = Clock::GlobalTimer;
    warp.mark(mark, None, 65_000).range(region, None, 65_064, 68_000);
    warp.range(region, None, 65_032, 69_000).leave(74_000, 74_000);
    module.warps.push(warp);
    let mut trace = where_begins_wait(module);
    trace.timer_step_ns = 32.0;
    trace.subtract_record_cost();
    let starts = trace.warps[0].regions.iter().map(|region| region.start.ticks);
    assert_eq!(starts.collect::<Vec<u64>>(), [65_000, 65_064 - 42]);
}

#[test]
fn how_well_sms_agree_does_not_bear_on_what_one_of_them_waited() {
    // 75 ns apart, of which the timer's readings may hide 32: beyond the 42 of the reach.
    let mut module = SyntheticModule::new(Keep::First, 64);
    let by_timer = module.site(SiteKind::Kernel, "by the timer");
    let by_cycles = module.site(SiteKind::Kernel, "by cycles");
    let (region, mark) = (module.site(SiteKind::Region, "r"), module.site(SiteKind::Mark, "m"));
    let mut warp = SyntheticWarp::new(by_timer, 64_000, 64_000);
    warp.header.record_clock = Clock::GlobalTimer;
    warp.mark(mark, None, 65_000).range(region, None, 65_075, 68_000).leave(84_000, 74_016);
    module.warps.push(warp);
    // Its SM's clock was read 56 ns late and soon after 16 ns early.
    let mut wandering = SyntheticWarp::new(by_cycles, 0, 64_000);
    wandering.header.sm = 1;
    wandering.anchor(2_000, 65_056).anchor(4_000, 65_984).leave(20_000, 74_016);
    module.warps.push(wandering);
    let mut trace = where_begins_wait(module);
    assert_eq!(trace.timer_step_ns, 32.0);
    assert!(trace.alignment_ns > 33.0, "{}", trace.alignment_ns);
    trace.subtract_record_cost();
    assert_eq!(trace.warps[0].regions[0].start.ticks, 65_075);
}

proptest::proptest! {
    /// Between two stamps of any program: exact beyond the reach of a record, and within it never
    /// longer than the work, nor shorter by more than the longest wait. Where two places may have come
    /// one behind the other eight times, the reach is that of rare waits.
    #[test]
    fn errors_are_bounded_by_the_longest_wait(
        steps in proptest::collection::vec(step(), 0..60),
        eighths in proptest::collection::vec(0_u8..=8, 1..20),
        hosted in any::<bool>(),
    ) {
        let holds = Holds::new(waits(), &eighths).in_host(hosted);
        let (trace, machine) = simulate_holding(&steps, Clock::Cycles, 1, holds);
        let seen = stamps(&trace);
        proptest::prop_assert_eq!(seen.len(), machine.holds.stamps.len());
        for (read, stamps) in seen.windows(2).zip(machine.holds.stamps.windows(2)) {
            let work = stamps[1].real - stamps[0].real;
            let error = (read[1] - read[0]) as f64 - work;
            let reach = if seen.len() > 8 { stamps[1].rare } else { stamps[1].reach };
            match reach {
                Some(reach) => {
                    proptest::prop_assert!(error <= 0.0 && error >= -reach, "{error}, {stamps:?}");
                }
                None => proptest::prop_assert_eq!(error, 0.0, "{:?}", stamps),
            }
        }
        proptest::prop_assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 0);
    }
}
