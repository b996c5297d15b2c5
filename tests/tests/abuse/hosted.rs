//! Records in memory of the host: in buffers that are too small, of lanes that leave early, and without a
//! buffer at all.

use std::collections::BTreeMap;
use std::ops::Range;

use profiler_host::trace::{DiagnosticKind as Kind, Value, Warp};
use profiler_host::{Backend, Error, Keep, ProfilerBuilder, Session, Slots, Trace, launch};
use test_kernels::watched::abused as kernels;

use crate::kernels::{Shape, check_identity};
use crate::setting::{Setting, builder, output, overwrite_guards, session};

/// Units of a buffer: nothing, less than a region, an end without its value, odd numbers, and rings of no
/// power of two.
const CAPACITIES: [u32; 6] = [0, 1, 2, 3, 5, 8];
/// Regions of a lane for each unit of its buffer. Begin and end are two units, so that ten times too many
/// are written.
const ROUNDS_PER_UNIT: u32 = 5;

/// What a launch does.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    rounds: u32,
    /// Whether each region has its round as its value, which takes a third unit.
    values: bool,
    /// Whether lanes leave early.
    leaving: bool,
}

impl Rounds {
    /// Regions that a lane begins, all of which end.
    fn of_lane(self, lane: u32) -> u32 {
        match kernels::leaves_in(lane) {
            _ if !self.leaving => self.rounds,
            Some(last) => self.rounds.min(last + 1),
            None => 0,
        }
    }

    /// What a thread of this lane writes: nothing where it left.
    fn result(self, lane: u32) -> u32 {
        let leaves = match kernels::leaves_in(lane) {
            Some(last) => last < self.rounds,
            None => true,
        };
        if self.leaving && leaves { 0 } else { self.rounds }
    }
}

/// A buffer.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    /// Units that are kept.
    capacity: u32,
    keep: Keep,
}

impl Buffer {
    fn of(units: u32, keep: Keep) -> Self {
        let ring = if units == 0 { 0 } else { units.next_power_of_two() };
        Self { capacity: if keep == Keep::Last { ring } else { units }, keep }
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
    /// Begins and ends.
    recorded: u64,
    lost: u64,
    /// The regions whose begin or end is left, sorted: their values, and whether they are open.
    regions: Vec<(Option<u64>, bool)>,
    /// Values whose region is lost.
    orphaned: u64,
    values_lost: u64,
}

impl Left {
    /// Of a lane that went through its rounds.
    fn of_lane(lane: u32, rounds: Rounds, buffer: Buffer) -> Self {
        let units_of_a_round = if rounds.values { 3 } else { 2 };
        let kept = buffer.kept(rounds.of_lane(lane) * units_of_a_round);
        let mut left = Self::default();
        for round in 0..rounds.of_lane(lane) {
            let begin = round * units_of_a_round;
            let is_kept = |unit: u32| kept.contains(&(begin + unit));
            for unit in [0, 1] {
                left.recorded += u64::from(is_kept(unit));
                left.lost += u64::from(!is_kept(unit));
            }
            let has_value = rounds.values && is_kept(2);
            left.values_lost += u64::from(rounds.values && !has_value);
            // An end says when its region began.
            if is_kept(0) || is_kept(1) {
                left.regions.push((has_value.then_some(round.into()), !is_kept(1)));
            } else {
                left.orphaned += u64::from(has_value);
            }
        }
        left.regions.sort_unstable();
        left
    }

    fn open(&self) -> u64 {
        self.regions.iter().filter(|region| region.1).count() as u64
    }
}

type Launch = fn(&mut Session<'_>, Shape, *mut u32, Rounds) -> Result<(), Error>;

/// A kernel, and who records in it.
struct Kernel {
    name: &'static str,
    launch: Launch,
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

macro_rules! kernel {
    ($name:ident, $who:expr) => {
        Kernel {
            name: stringify!($name),
            launch: |session, Shape { grid, block }, output, rounds| {
                let Rounds { rounds, values, leaving } = rounds;
                let (values, leaving) = (u32::from(values), u32::from(leaving));
                // SAFETY: the callers of `Kernel::record` give one number a thread.
                unsafe {
                    launch!(
                        session,
                        kernels::$name<<<grid, block>>>(output, rounds, values, leaving)
                    )
                }
            },
            who: $who,
        }
    };
}

macro_rules! kernels_of_both_clocks {
    ($($cycles:ident $globaltimer:ident $who:expr;)*) => {
        [$(kernel!($cycles, $who), kernel!($globaltimer, $who),)*]
    };
}

/// Every strategy with both clocks.
const KERNELS: [Kernel; 14] = kernels_of_both_clocks! {
    hosted_block_cycles hosted_block_globaltimer Who::Lanes(|warp, lane| warp == 0 && lane == 0);
    hosted_warp_cycles hosted_warp_globaltimer Who::Lanes(|_, lane| lane == 0);
    hosted_warp_1_cycles hosted_warp_1_globaltimer Who::Lanes(|warp, lane| warp == 1 && lane == 0);
    hosted_warp_group_cycles hosted_warp_group_globaltimer
        Who::Lanes(|warp, lane| warp % 4 == 0 && lane == 0);
    hosted_elected_cycles hosted_elected_globaltimer Who::Elected;
    hosted_thread_cycles hosted_thread_globaltimer Who::Lanes(|_, _| true);
    hosted_when_cycles hosted_when_globaltimer
        Who::Lanes(|warp, lane| (32 * warp + lane) % kernels::WHEN_STEP == 0);
};

/// Records one launch in a session of its own and checks what the kernel computed.
#[track_caller]
fn record(
    backend: &Backend,
    builder: ProfilerBuilder,
    kernel: &Kernel,
    shape: Shape,
    rounds: Rounds,
) -> Trace {
    let mut output = output(backend, shape);
    let pointer = output.as_mut_ptr();
    let mut session = session(backend, builder);
    let name = kernel.name;
    (kernel.launch)(&mut session, shape, pointer, rounds)
        .unwrap_or_else(|error| panic!("{name} in {shape:?}: {error}"));
    let trace = session.finish().unwrap_or_else(|error| panic!("{name}: {error}"));
    let computed = output.read().expect("the results");
    let threads = shape.threads_of_block();
    for (thread, &done) in (0..).zip(&computed) {
        let lane = thread % threads % 32;
        assert_eq!(done, rounds.result(lane), "{name}, {rounds:?}: thread {thread}");
    }
    trace
}

/// What is left of the lanes of a warp that record, by lane.
type Lanes = BTreeMap<u32, Left>;

/// Checks a warp of which it is known who records.
#[track_caller]
fn check_warp(warp: &Warp, lanes: &Lanes, what: &str) {
    let sum = |of_lane: fn(&Left) -> u64| lanes.values().map(of_lane).sum::<u64>();
    let expected = (sum(|left| left.recorded), sum(|left| left.lost));
    assert_eq!((warp.recorded, warp.lost), expected, "{what}");
    let mut seen = BTreeMap::<u32, Vec<_>>::new();
    for region in &warp.regions {
        let value = match region.value {
            None => None,
            Some(Value::Unsigned(round)) => Some(round),
            Some(other) => panic!("{what}: no round has the value {other:?}"),
        };
        seen.entry(region.lane.into()).or_default().push((value, region.end.is_none()));
    }
    // Within a step of the timer regions have no order.
    seen.values_mut().for_each(|regions| regions.sort_unstable());
    let expected = lanes.iter().filter(|(_, left)| !left.regions.is_empty());
    let expected = expected.map(|(&lane, left)| (lane, left.regions.clone())).collect();
    assert_eq!(seen, expected, "{what}");
}

/// Checks a warp in which lanes are elected: at least one for each round that a lane of it begins.
#[track_caller]
fn check_elected(setting: Setting, warp: &Warp, lanes: u32, rounds: Rounds, what: &str) {
    let most = (0..lanes).map(|lane| rounds.of_lane(lane)).max().unwrap_or(0);
    let (sum, expected) = (warp.recorded + warp.lost, u64::from(2 * most));
    // Begin and end are of one lane.
    let right = sum == expected || setting.is_gpu() && sum > expected && sum.is_multiple_of(2);
    assert!(right, "{what}: {sum} records, not {expected}");
    let may_record = |lane: u8| u32::from(lane) < lanes && rounds.of_lane(lane.into()) > 0;
    assert!(warp.regions.iter().all(|region| may_record(region.lane)), "{what}: {warp:?}");
}

/// Checks the only launch of a trace, of which all warps found slots.
#[track_caller]
fn check(
    setting: Setting,
    trace: &Trace,
    kernel: &Kernel,
    shape: Shape,
    rounds: Rounds,
    buffer: Buffer,
) {
    let what = format!("{}, {rounds:?}, {buffer:?}: {}", kernel.name, trace.diagnostics);
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
        let what = format!("block {:?}, warp {} of {what}", warp.block, warp.warp);
        assert!(warp.exit.is_some(), "{what}: it left");
        let count = shape.lanes(warp.warp);
        let records = match kernel.who {
            Who::Lanes(records) => records,
            Who::Elected => {
                check_elected(setting, warp, count, rounds, &what);
                continue;
            }
        };
        let lanes: Lanes = (0..count)
            .filter(|&lane| records(warp.warp, lane))
            .map(|lane| (lane, Left::of_lane(lane, rounds, buffer)))
            .collect();
        check_warp(warp, &lanes, &what);
        for (lane, left) in lanes {
            if lane == 0 { leaders.push(left) } else { others.push(left) }
        }
    }
    if matches!(kernel.who, Who::Elected) {
        return;
    }
    let sum = |lefts: &[Left], of_lane: fn(&Left) -> u64| lefts.iter().map(of_lane).sum::<u64>();
    let of_values = |of_lane: fn(&Left) -> u64| sum(&leaders, of_lane) + sum(&others, of_lane);
    for (kind, expected) in [
        (Kind::BufferTooSmall, sum(&leaders, |left| left.lost)),
        (Kind::LaneBufferTooSmall, sum(&others, |left| left.lost)),
        (Kind::OpenRegion, sum(&leaders, Left::open) + sum(&others, Left::open)),
        (Kind::OrphanedValue, of_values(|left| left.orphaned)),
        (Kind::ValuesLost, of_values(|left| left.values_lost)),
    ] {
        assert_eq!(trace.diagnostics.count(kind), expected, "{kind:?} of {what}");
    }
}

/// Ten times more records than fit, by every strategy and clock, the first and the last kept, in slots of
/// both kinds; with lanes that leave early, lane 0 among them, and a warp of 16 lanes. Then more warps than
/// slots.
pub(crate) fn in_memory_of_the_host(setting: Setting) {
    let backend = setting.hosted_backend();
    let shape = Shape::new([setting.either(2, 5), 1, 1], [144, 1, 1]);
    for (index, kernel) in KERNELS.iter().enumerate() {
        for (number, units) in CAPACITIES.into_iter().enumerate() {
            for (keep, slots, leaving) in [
                (Keep::First, Slots::Linear, false),
                (Keep::First, Slots::Claimed, true),
                (Keep::Last, Slots::Claimed, false),
                (Keep::Last, Slots::Linear, true),
            ] {
                // Half of all combinations: those with values and without by turns.
                let values = (index + index / 2 + number) % 2 == usize::from(leaving);
                let rounds = Rounds { rounds: ROUNDS_PER_UNIT * units.max(1), values, leaving };
                let builder = builder()
                    .records_per_warp(units)
                    .records_per_lane(units)
                    .keep(keep)
                    .slots(slots)
                    .max_warps(shape.warps());
                let trace = record(&backend, builder, kernel, shape, rounds);
                check(setting, &trace, kernel, shape, rounds, Buffer::of(units, keep));
            }
        }
    }
    too_few_slots(setting, &backend);
}

/// What warps without a slot record is counted, and what the others record is whole.
fn too_few_slots(setting: Setting, backend: &Backend) {
    let shape = Shape::new([setting.either(7, 700), 1, 1], [96, 1, 1]);
    let rounds = Rounds { rounds: 3, values: true, leaving: false };
    let kernel = KERNELS.iter().find(|kernel| kernel.name == "hosted_warp_cycles");
    let kernel = kernel.expect("a kernel of the list");
    let buffer = Buffer::of(16, Keep::First);
    for slots in [Slots::Linear, Slots::Claimed] {
        for max_warps in [1, 11] {
            let builder = builder().slots(slots).records_per_warp(16).max_warps(max_warps);
            let trace = record(backend, builder, kernel, shape, rounds);
            let found = trace.warps.len() as u32;
            match slots {
                Slots::Linear => assert_eq!(found, max_warps),
                // More than were asked for may find one.
                _ => assert!((max_warps..=shape.warps()).contains(&found), "{found}"),
            }
            let lanes = Lanes::from([(0, Left::of_lane(0, rounds, buffer))]);
            for warp in &trace.warps {
                check_warp(warp, &lanes, &format!("{slots:?}: {}", trace.diagnostics));
            }
            let unplaced = u64::from((shape.warps() - found) * 2 * rounds.rounds);
            assert_eq!(trace.lost_unplaced, unplaced, "{}", trace.diagnostics);
        }
    }
}

/// A kernel that writes one word before, within, between or after the arrays of a session: in memory of the
/// host, too, it is seen.
pub(crate) fn guards_in_memory_of_the_host(setting: Setting) {
    let backend = setting.hosted_backend();
    let shape = Shape::new([3, 2, 1], [50, 1, 1]);
    let mut output = output(&backend, shape);
    let pointer = output.as_mut_ptr();
    let rounds = Rounds { rounds: 3, values: false, leaving: false };
    overwrite_guards(
        &backend,
        |session| (KERNELS[0].launch)(session, shape, pointer, rounds).expect("the launch"),
        // SAFETY: a guard word of the session, which only the session's next reading looks at.
        |session, word| unsafe { launch!(session, kernels::hosted_write_to<<<1, 1>>>(word)) },
    );
}
