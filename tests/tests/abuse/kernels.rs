//! The kernels that record by each strategy, and what they must have recorded.

use std::collections::BTreeMap;
use std::ops::Range;

use profiler_host::trace::{DiagnosticKind as Kind, Value, Warp};
use profiler_host::{Error, Keep, Session, Trace, launch};
use profiler_wire::header::Clock;
use test_kernels::every_strategy::{WHEN_STEP, leaves_in};
use test_kernels::{abuse, watched};

/// Blocks of a grid and threads of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Shape {
    pub(crate) fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block }
    }

    pub(crate) fn blocks(self) -> u32 {
        self.grid.iter().product()
    }

    pub(crate) fn threads_of_block(self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn threads(self) -> usize {
        self.blocks() as usize * self.threads_of_block() as usize
    }

    pub(crate) fn warps_of_block(self) -> u32 {
        self.threads_of_block().div_ceil(32)
    }

    pub(crate) fn warps(self) -> u32 {
        self.blocks() * self.warps_of_block()
    }

    /// Lanes of a warp of each block.
    pub(crate) fn lanes(self, warp: u32) -> u32 {
        (self.threads_of_block() - 32 * warp).min(32)
    }

    /// The index of a block of which the last is in z.
    fn block(self, index: u32) -> [u32; 3] {
        let [width, height, _] = self.grid;
        [index % width, index / width % height, index / width / height]
    }
}

/// What values the rounds of a kernel have, as the kernels take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    None,
    /// Of 16 bits, which are in the record of their region in device memory.
    Short,
    /// Of 32 bits, which are a unit more.
    Long,
}

/// What each recording lane is asked to record, and how much of it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) rounds: u32,
    /// Whether each region has its round as its value.
    pub(crate) values: Values,
    /// Whether lanes leave early.
    pub(crate) leaving: bool,
    /// Units that a lane keeps.
    pub(crate) capacity: u32,
    /// Which those are.
    pub(crate) keep: Keep,
}

impl Rounds {
    /// Regions without values, of which all fit.
    pub(crate) fn all(rounds: u32) -> Self {
        let (values, leaving) = (Values::None, false);
        Self { rounds, values, leaving, capacity: u32::MAX, keep: Keep::First }
    }

    /// Regions that a lane begins, all of which end.
    fn of_lane(self, lane: u32) -> u32 {
        match leaves_in(lane) {
            _ if !self.leaving => self.rounds,
            Some(last) => self.rounds.min(last + 1),
            None => 0,
        }
    }

    /// What a thread of this lane writes: nothing where it left.
    pub(crate) fn result(self, lane: u32) -> u32 {
        let leaves = leaves_in(lane).is_none_or(|last| last < self.rounds);
        if self.leaving && leaves { 0 } else { self.rounds }
    }

    /// Which of so many units are kept.
    fn kept(self, units: u32) -> Range<u32> {
        match self.keep {
            Keep::First => 0..units.min(self.capacity),
            _ => units.saturating_sub(self.capacity)..units,
        }
    }
}

/// What is left of one lane, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Left {
    /// Records, without values.
    recorded: u64,
    lost: u64,
    /// The regions of which a record is left, sorted: their values, and whether they are open.
    regions: Vec<(Option<u64>, bool)>,
    /// Values whose region is lost.
    orphaned: u64,
    values_lost: u64,
}

impl Left {
    fn open(&self) -> u64 {
        self.regions.iter().filter(|region| region.1).count() as u64
    }
}

/// Launches a kernel with its output, and what it is to do.
type Launch = fn(&mut Session<'_>, Shape, *mut u32, Rounds) -> Result<(), Error>;

/// A kernel that records `rounds` regions in each thread that its strategy takes.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    launch: Launch,
    /// Records of a region: in memory of the host begin and end are two.
    pub(crate) records: u32,
    who: Who,
}

/// Who records.
#[derive(Clone, Copy)]
enum Who {
    /// The lanes of which that holds, by their warp's index and their own.
    Lanes(fn(u32, u32) -> bool),
    /// One of those that are there: at least one, where hardware splits a warp.
    Elected,
}

macro_rules! kernels {
    ($module:ident, $records:literal; $($($name:ident)* => $who:expr;)*) => {
        [$($(Kernel {
            name: stringify!($name),
            launch: |session, Shape { grid, block }, output, Rounds { rounds, values, leaving, .. }| {
                let (values, leaving) = (values as u32, u32::from(leaving));
                // SAFETY: the callers of `Kernel::launch` give one number a thread, or null.
                unsafe {
                    launch!(session, $module::$name<<<grid, block>>>(output, rounds, values, leaving))
                }
            },
            records: $records,
            who: $who,
        },)*)*]
    };
}

/// Every strategy with both clocks.
pub(crate) const KERNELS: [Kernel; 14] = kernels! {
    abuse, 1;
    block_cycles block_globaltimer => Who::Lanes(|warp, lane| warp == 0 && lane == 0);
    warp_cycles warp_globaltimer => Who::Lanes(|_, lane| lane == 0);
    warp_1_cycles warp_1_globaltimer => Who::Lanes(|warp, lane| warp == 1 && lane == 0);
    warp_group_cycles warp_group_globaltimer => Who::Lanes(|warp, lane| warp % 4 == 0 && lane == 0);
    elected_cycles elected_globaltimer => Who::Elected;
    thread_cycles thread_globaltimer => Who::Lanes(|_, _| true);
    when_cycles when_globaltimer => Who::Lanes(|warp, lane| (32 * warp + lane).is_multiple_of(WHEN_STEP));
};

/// The same with `buffer = host`.
pub(crate) const HOSTED_KERNELS: [Kernel; 14] = kernels! {
    watched, 2;
    hosted_block_cycles hosted_block_globaltimer => Who::Lanes(|warp, lane| warp == 0 && lane == 0);
    hosted_warp_cycles hosted_warp_globaltimer => Who::Lanes(|_, lane| lane == 0);
    hosted_warp_1_cycles hosted_warp_1_globaltimer => Who::Lanes(|warp, lane| warp == 1 && lane == 0);
    hosted_warp_group_cycles hosted_warp_group_globaltimer => Who::Lanes(|warp, lane| warp % 4 == 0 && lane == 0);
    hosted_elected_cycles hosted_elected_globaltimer => Who::Elected;
    hosted_thread_cycles hosted_thread_globaltimer => Who::Lanes(|_, _| true);
    hosted_when_cycles hosted_when_globaltimer => Who::Lanes(|warp, lane| (32 * warp + lane).is_multiple_of(WHEN_STEP));
};

/// The kernel of this name.
pub(crate) fn kernel(name: &str) -> &'static Kernel {
    let mut all = KERNELS.iter().chain(&HOSTED_KERNELS);
    all.find(|kernel| kernel.name == name).expect("a kernel of the list")
}

impl Kernel {
    /// Launches it in a session. `output` must be null or have a number for each thread, which the
    /// callers see to.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        session: &mut Session<'_>,
        shape: Shape,
        output: *mut u32,
        rounds: Rounds,
    ) {
        (self.launch)(session, shape, output, rounds)
            .unwrap_or_else(|error| panic!("{} in {shape:?}: {error}", self.name));
    }

    /// What is left of a lane that went through its rounds. Its units are those of the rounds one after the
    /// other: the records of a region, and its value where that has one.
    fn left(&self, lane: u32, rounds: Rounds) -> Left {
        let (has_unit, in_record) = match rounds.values {
            Values::None => (false, false),
            Values::Short => (self.records == 2, self.records == 1),
            Values::Long => (true, false),
        };
        let of_round = self.records + u32::from(has_unit);
        let kept = rounds.kept(rounds.of_lane(lane) * of_round);
        let mut left = Left::default();
        for round in 0..rounds.of_lane(lane) {
            let is_kept = |unit: u32| kept.contains(&(round * of_round + unit));
            let records = (0..self.records).filter(|unit| is_kept(*unit)).count() as u32;
            left.recorded += u64::from(records);
            left.lost += u64::from(self.records - records);
            let value_is_kept = has_unit && is_kept(self.records);
            left.values_lost += u64::from(has_unit && !value_is_kept);
            // An end says when its region began.
            if records > 0 {
                let value = (value_is_kept || in_record).then_some(round.into());
                left.regions.push((value, !is_kept(self.records - 1)));
            } else {
                left.orphaned += u64::from(value_is_kept);
            }
        }
        left.regions.sort_unstable();
        left
    }

    /// What is left of each lane of a warp that records; `None` where lanes are elected.
    fn lanes(&self, warp: &Warp, shape: Shape, rounds: Rounds) -> Option<BTreeMap<u32, Left>> {
        let Who::Lanes(records) = self.who else { return None };
        let lanes = (0..shape.lanes(warp.warp)).filter(|&lane| records(warp.warp, lane));
        Some(lanes.map(|lane| (lane, self.left(lane, rounds))).collect())
    }

    /// Checks one warp of a launch.
    #[track_caller]
    pub(crate) fn check_warp(&self, trace: &Trace, warp: &Warp, shape: Shape, rounds: Rounds) {
        let what = || {
            let (name, block, index) = (self.name, warp.block, warp.warp);
            format!("{name}, {rounds:?}, block {block:?}, warp {index}: {}", trace.diagnostics)
        };
        assert!(warp.exit.is_some(), "a warp that left is not known to have left: {}", what());
        let Some(lanes) = self.lanes(warp, shape, rounds) else {
            return self.check_elected(trace, warp, shape.lanes(warp.warp), rounds, what);
        };
        let sum = |of_lane: fn(&Left) -> u64| lanes.values().map(of_lane).sum::<u64>();
        let expected = (sum(|left| left.recorded), sum(|left| left.lost));
        assert_eq!((warp.recorded, warp.lost), expected, "{}", what());
        let mut seen = BTreeMap::<u32, Vec<_>>::new();
        for region in &warp.regions {
            let value = region.value.map(|value| match value {
                Value::Unsigned(round) => round,
                other => panic!("no round has the value {other:?}: {}", what()),
            });
            seen.entry(region.lane.into()).or_default().push((value, region.end.is_none()));
        }
        for regions in seen.values_mut() {
            // Within a step of the timer regions have no order.
            let rounds = regions.iter().filter_map(|region| region.0);
            assert!(
                warp.clock == Clock::GlobalTimer || rounds.is_sorted(),
                "{regions:?}, {}",
                what()
            );
            regions.sort_unstable();
        }
        let expected = lanes.into_iter().filter(|(_, left)| !left.regions.is_empty());
        let expected = expected.map(|(lane, left)| (lane, left.regions)).collect();
        assert_eq!(seen, expected, "{}", what());
    }

    /// Checks a warp in which lanes are elected: at least one for each round that a lane of it begins. How often lanes
    /// that part elect one, only the hardware knows.
    #[track_caller]
    fn check_elected(
        &self,
        trace: &Trace,
        warp: &Warp,
        lanes: u32,
        rounds: Rounds,
        what: impl Fn() -> String,
    ) {
        let most = (0..lanes).map(|lane| rounds.of_lane(lane)).max().unwrap_or(0);
        let (sum, expected) = (warp.recorded + warp.lost, u64::from(self.records * most));
        // Begin and end are of one lane.
        let is_more = sum > expected && sum.is_multiple_of(self.records.into());
        let right = sum == expected || !trace.device.emulated && is_more;
        assert!(right, "{sum} records, not {expected}: {}", what());
        let may_record = |lane: u8| u32::from(lane) < lanes && rounds.of_lane(lane.into()) > 0;
        assert!(warp.regions.iter().all(|region| may_record(region.lane)), "{}: {warp:?}", what());
    }

    /// Checks the only launch of a trace, of which all warps were selected and found slots.
    #[track_caller]
    pub(crate) fn check(&self, trace: &Trace, shape: Shape, rounds: Rounds) {
        let what = format!("{}, {rounds:?}: {}", self.name, trace.diagnostics);
        assert_eq!(trace.launches.len(), 1, "{what}");
        check_identity(trace, &trace.launches[0], shape, |_, _| true);
        assert_eq!(trace.lost_unplaced, 0, "{what}");
        // All that was written was there when the kernel had ended, and whole.
        for kind in [
            Kind::UnitInFlight,
            Kind::UnwrittenUnit,
            Kind::DamagedUnit,
            Kind::CountMismatch,
            Kind::WarpNeverLeft,
            Kind::LaneNeverLeft,
            Kind::TimeNotMonotonic,
        ] {
            assert_eq!(trace.diagnostics.count(kind), 0, "{what}");
        }
        let (mut leaders, mut others) = (Vec::new(), Vec::new());
        for warp in &trace.warps {
            self.check_warp(trace, warp, shape, rounds);
            let Some(lanes) = self.lanes(warp, shape, rounds) else { return };
            for (lane, left) in lanes {
                if lane == 0 { leaders.push(left) } else { others.push(left) }
            }
        }
        let sum =
            |lefts: &[Left], of_lane: fn(&Left) -> u64| lefts.iter().map(of_lane).sum::<u64>();
        let of_all = |of_lane: fn(&Left) -> u64| sum(&leaders, of_lane) + sum(&others, of_lane);
        for (kind, expected) in [
            (Kind::BufferTooSmall, sum(&leaders, |left| left.lost)),
            (Kind::LaneBufferTooSmall, sum(&others, |left| left.lost)),
            (Kind::OpenRegion, of_all(Left::open)),
            (Kind::OrphanedValue, of_all(|left| left.orphaned)),
            (Kind::ValuesLost, of_all(|left| left.values_lost)),
        ] {
            assert_eq!(trace.diagnostics.count(kind), expected, "{kind:?} of {what}");
        }
    }
}

/// Checks that a launch has exactly the warps of its grid that `selected` takes, by their block's
/// linear index and their own: each once, in a slot of its own.
#[track_caller]
pub(crate) fn check_identity(
    trace: &Trace,
    launch: &profiler_host::trace::Launch,
    shape: Shape,
    selected: impl Fn(u32, u32) -> bool,
) {
    let grid_and_block = [launch.grid_dim, launch.block_dim];
    assert_eq!(grid_and_block, [shape.grid, shape.block], "{}", trace.diagnostics);
    let warps = &trace.warps[launch.warps.clone()];
    let of_block = |block| (0..shape.warps_of_block()).map(move |warp| (block, warp));
    let expected = (0..shape.blocks())
        .flat_map(of_block)
        .filter(|&(block, warp)| selected(block, warp))
        .map(|(block, warp)| (shape.block(block), warp));
    let mut count = 0;
    for (index, expected) in expected.enumerate() {
        let warp = warps.get(index).unwrap_or_else(|| panic!("{shape:?}: {expected:?} is missing"));
        assert_eq!((warp.block, warp.warp), expected, "{shape:?}, the {index}th warp");
        count += 1;
    }
    assert_eq!(warps.len(), count, "{shape:?}: there are more warps than were selected");
    let mut slots: Vec<u32> = warps.iter().map(|warp| warp.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), count, "{shape:?}: two warps in one slot");
}
