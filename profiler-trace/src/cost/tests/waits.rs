//! Records that hold up the stamps after them.

use super::*;
use crate::record_cost::StampWait;

/// How the made-up warp's records hold up stamps, and all of its stamps.
#[derive(Clone, Debug, Default)]
pub(super) struct Holds {
    pub(super) waits: StampWaits,
    /// Of the longest wait, how many eighths a stamp waits at least: one figure after the other,
    /// again and again. None is all.
    eighths: Vec<u8>,
    /// When the last record was stored, what all stamps since cost, and whether a region has begun.
    stored: Option<(f64, f64, bool)>,
    /// Where the last stamp was a begin: when, and what it costs after it.
    begun: Option<(f64, f64)>,
    stamps: Vec<Stamp>,
}

#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// What the clock would show without records.
    real: f64,
    /// How long it may have waited, where it may have.
    reach: Option<f64>,
}

impl Holds {
    pub(super) fn new(waits: StampWaits, eighths: &[u8]) -> Self {
        Self { waits, eighths: eighths.to_vec(), ..Self::default() }
    }

    /// When the clock is read that would be read at `now` if nothing held it up.
    pub(super) fn stamp(&mut self, now: f64, real: f64, cost: StampCost, is_begin: bool) -> f64 {
        let StampCost { before_ticks: before, after_ticks: after } = cost;
        let index = self.stamps.len() % self.eighths.len().max(1);
        let eighths = f64::from(self.eighths.get(index).copied().unwrap_or(8)) / 8.0;
        let held = |wait: StampWait| (wait.most_ticks * eighths).floor();
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
        if let Some((at, after)) = self.begun.take() {
            let wait = self.waits.nested;
            read = read.max(at + after + before + held(wait));
            reaches.push((at + after + before, wait));
        }
        let within = reaches
            .iter()
            .filter_map(|(free, wait)| wait.reach_ticks().filter(|most| read <= free + most));
        let reach = within.reduce(f64::max);
        if !is_begin {
            self.stored = Some((read, after, false));
        } else {
            self.begun = Some((read, after));
        }
        self.stamps.push(Stamp { real, reach });
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

/// Within a record's reach what passed may be what was waited, and beyond it is exact.
#[test]
fn the_reach_of_a_record_is_the_longest_wait() {
    let region = |work| [Step::Open(false), Step::Work(work), Step::Close(false)];
    let after_a_record = |work| [&region(500)[..], &[Step::Work(work), Step::Mark(false)]].concat();
    let after_a_region = |work| [region(1_000), region(work)].concat();
    let StampWaits { end, record, .. } = waits();
    type Steps<'s> = &'s dyn Fn(u64) -> Vec<Step>;
    let cases: [(Steps<'_>, StampWait); 2] = [(&after_a_record, record), (&after_a_region, end)];
    for (steps, wait) in cases {
        let limit = wait.reach_ticks().expect("there is a wait") as u64;
        for (work, seen) in [(limit, 0), (limit + 1, limit + 1)] {
            let (trace, _) = simulate_holding(&steps(work), 1, Holds::new(waits(), &[0]));
            let [.., before, last] = stamps(&trace)[..] else { panic!("two stamps") };
            assert_eq!(last - before, seen, "{wait:?}");
        }
    }
}

/// Two ticks, and a third beyond the longest wait that the calibration kernel saw.
#[test]
fn a_stamp_may_wait_longer_than_in_the_calibration() {
    let reach =
        |most_ticks: f64| StampWait { mean_ticks: 0.0, most_ticks }.reach_ticks().map(f64::round);
    assert_eq!([48.0, 0.5, 0.4375].map(reach), [Some(66.0), Some(3.0), None]);
}

#[test]
fn of_stamps_at_one_time_what_ends_is_the_first_and_what_begins_the_last() {
    // The second region begins after the records of the first one and of the mark, which hold up
    // its end no longer.
    let mut trace = trace(0.0, 0.0, |warp| {
        warp.range(REGION, None, 2_000, 3_000).mark(MARK, None, 3_000);
        warp.range(REGION, None, 3_000, 3_030);
    });
    let mut cost = RecordCost::uniform(0.0, 0.0);
    cost.one_lane.waits.record = StampWait { mean_ticks: 15.0, most_ticks: 30.0 };
    subtract(&mut trace, cost);
    assert_eq!(lengths(&trace), [1_000, 30]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(96))]

    /// Between two stamps of any program: exact beyond the reach of a record, and within it never
    /// longer than the work, nor shorter by more than the longest wait.
    #[test]
    fn errors_are_bounded_by_the_longest_wait(
        steps in proptest::collection::vec(step(), 0..60),
        eighths in proptest::collection::vec(0_u8..=8, 1..20),
    ) {
        let (trace, machine) = simulate_holding(&steps, 1, Holds::new(waits(), &eighths));
        let seen = stamps(&trace);
        proptest::prop_assert_eq!(seen.len(), machine.holds.stamps.len());
        for (read, stamps) in seen.windows(2).zip(machine.holds.stamps.windows(2)) {
            let work = stamps[1].real - stamps[0].real;
            let error = (read[1] - read[0]) as f64 - work;
            match stamps[1].reach {
                Some(reach) => {
                    proptest::prop_assert!(error <= 0.0 && error >= -reach, "{error}, {stamps:?}");
                }
                None => proptest::prop_assert_eq!(error, 0.0, "{:?}", stamps),
            }
        }
        proptest::prop_assert_eq!(trace.diagnostics.count(DiagnosticKind::CostExceedsDuration), 0);
    }
}
