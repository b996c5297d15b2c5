//! Random programs on the emulator: every strategy, clock and buffer, capacity and selection, with times
//! to the tick.
//!
//! `PROPTEST_CASES` says how many; the default takes some seconds.

use profiler_agreement::{
    Case, ClockMode, HOSTED, KERNELS, Node, Operation, Options, Outcome, Plant, SHARING,
    SHARING_HOSTED, Times, cases, check, emulator, emulator_by,
};
use profiler_host::{Keep, Slots};
use profiler_trace::DiagnosticKind;
use profiler_wire::descriptor::LANE_STEP;
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{RecordKind, Stamp};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Bytes of a unit.
const UNIT: usize = UNIT_BYTES as usize;
/// Cases of a plain `cargo test`.
const CASES: u32 = 120;
/// Cases that once failed.
const REGRESSIONS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/emulator.proptest-regressions");

fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let is_given = std::env::var_os("PROPTEST_CASES").is_some();
    ProptestConfig {
        cases: if is_given { config.cases } else { CASES },
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        ..config
    }
}

/// What is recorded is what the reference says, and what is not is counted.
fn is_as_the_reference_says(case: &Case) -> Result<(), TestCaseError> {
    let outcome = case.run(&emulator(case)).expect("the launches");
    for times in [Times::Virtual, Times::Hardware] {
        if let Err(difference) = check(case, &outcome, times) {
            return Err(TestCaseError::fail(format!("{times:?}: {difference}")));
        }
    }
    Ok(())
}

/// Also where only the order of records is known, as on a GPU.
fn is_found(plant: Plant, case: &Case) -> Result<(), TestCaseError> {
    let mut outcome = case.run(&emulator(case)).expect("the launches");
    if plant.alter(case, &mut outcome) {
        prop_assert!(check(case, &outcome, Times::Hardware).is_err());
    }
    Ok(())
}

fn plants() -> impl Strategy<Value = Plant> {
    prop::sample::select(&[Plant::Record, Plant::Count][..])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn records_are_those_of_the_reference(case in cases(KERNELS)) {
        is_as_the_reference_says(&case)?;
    }

    #[test]
    fn records_in_memory_of_the_host_are_those_of_the_reference(case in cases(HOSTED)) {
        is_as_the_reference_says(&case)?;
    }

    #[test]
    fn records_of_all_lanes_are_those_of_the_reference(case in cases(SHARING)) {
        is_as_the_reference_says(&case)?;
    }

    #[test]
    fn records_of_all_lanes_in_memory_of_the_host_are_those_of_the_reference(
        case in cases(SHARING_HOSTED)
    ) {
        is_as_the_reference_says(&case)?;
    }

    /// Each lane by readings of its own: what lane 0 wrote last says nothing of when another one read its clock.
    #[test]
    fn records_of_lanes_that_read_the_clock_one_after_the_other_are_those_of_the_reference(
        case in cases(SHARING_HOSTED)
    ) {
        let outcome = case.run(&emulator_by(ClockMode::Serial, &case)).expect("the launches");
        check(&case, &outcome, Times::Hardware).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn what_is_planted_is_found(case in cases(KERNELS), plant in plants()) {
        is_found(plant, &case)?;
    }

    #[test]
    fn what_is_planted_in_memory_of_the_host_is_found(case in cases(HOSTED), plant in plants()) {
        is_found(plant, &case)?;
    }
}

fn leaf(operation: Operation, argument: u32) -> Node {
    Node { operation, argument, body: vec![], other: vec![] }
}

fn around(operation: Operation, body: Vec<Node>) -> Node {
    Node { operation, argument: 5, body, other: vec![] }
}

/// One way for lane 0, another for other lanes.
fn parted(body: Vec<Node>, other: Vec<Node>) -> Node {
    Node { operation: Operation::Lanes, argument: 1, body, other }
}

/// A case of one warp that loses nothing.
fn small() -> Case {
    let program = vec![
        leaf(Operation::Start, 0),
        leaf(Operation::Start, 1),
        around(Operation::RegionValue, vec![leaf(Operation::MarkValue, 7)]),
        around(Operation::Statement, vec![leaf(Operation::Signal, 1), leaf(Operation::Wait, 1)]),
        leaf(Operation::EndValue, 0),
        around(Operation::StatementValue, vec![]),
        leaf(Operation::Mark, 0),
    ];
    Case {
        program,
        kernel: KERNELS[1],
        grid: [1; 3],
        block: [32, 1, 1],
        launches: 1,
        when: 0,
        fuel: 100,
        sm_count: 1,
        session: Options {
            units_per_warp: 64,
            units_per_lane: 8,
            keep: Keep::First,
            slots: Slots::Linear,
            lane_rooms: false,
            block_first: 0,
            block_count: None,
            block_stride: 1,
            warp_mask: 1,
            slot_eighths: 8,
        },
    }
}

/// The same of four lanes that all record, by the cycle counter.
fn of_all_lanes(program: Vec<Node>) -> Case {
    let session = Options { lane_rooms: true, ..small().session };
    Case { program, kernel: SHARING[0], block: [4, 1, 1], session, ..small() }
}

/// Ten units: the comparison sees every bit, but for the time of the region that is never ended, when its
/// token was dropped.
#[test]
fn no_bit_of_a_record_can_change_unseen() {
    const NO_TIMES: [usize; 1] = [9];
    let case = small();
    let mut outcome = case.run(&emulator(&case)).expect("the launch");
    let compared = check(&case, &outcome, Times::Virtual).expect("nothing has changed");
    assert_eq!((compared.warps, compared.recorded, compared.lost), (1, 9, 0));
    every_bit_is_seen(&case, &mut outcome, 10, &NO_TIMES);
    outcome.results[31] ^= 1;
    let difference = check(&case, &outcome, Times::Hardware).expect_err("a thread went astray");
    assert!(difference.starts_with("thread 31 gave"), "{difference}");
}

/// Changes each bit of lane 0's first units, but for the times of some.
fn every_bit_is_seen(case: &Case, outcome: &mut Outcome, units: usize, no_times: &[usize]) {
    let is_shown = |bit: usize| {
        let is_time = matches!(bit % 128, 64..96 | 120..128);
        !(is_time && no_times.contains(&(bit / 128)))
    };
    for bit in (0..128 * units).filter(|bit| is_shown(*bit)) {
        outcome.capture.modules[0].records[bit / 8] ^= 1 << (bit % 8);
        let seen = check(case, outcome, Times::Virtual);
        assert!(seen.is_err(), "bit {} of unit {}", bit % 128, bit / 128);
        outcome.capture.modules[0].records[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Six units, and the count of the four that are of all lanes, without the value of one.
#[test]
fn no_bit_of_a_record_of_all_lanes_can_change_unseen() {
    let region = || around(Operation::Region, vec![]);
    let case = of_all_lanes(vec![
        around(Operation::RegionValue, vec![leaf(Operation::Mark, 0)]),
        around(Operation::ByWarp, vec![]),
        around(Operation::Region, vec![region()]),
    ]);
    let mut outcome = case.run(&emulator(&case)).expect("the launch");
    let compared = check(&case, &outcome, Times::Virtual).expect("nothing has changed");
    assert_eq!((compared.shared, compared.recorded, compared.lost), (4, 4 * 4 + 1, 0));
    every_bit_is_seen(&case, &mut outcome, 6, &[]);
    for bit in 0..32 {
        let byte = 8 * header::SHARED_START + bit / 8;
        outcome.capture.modules[0].headers[byte] ^= 1 << (bit % 8);
        for times in [Times::Virtual, Times::Hardware] {
            assert!(check(&case, &outcome, times).is_err(), "bit {bit} of the count");
        }
        outcome.capture.modules[0].headers[byte] ^= 1 << (bit % 8);
    }
}

/// All begin the outer and the inner region together. Lane 0 ends the inner one while the others wait for it
/// in a call, as it is in one from before; when it calls once more it meets them, and then they end the inner
/// region and it ends the outer one, which began at the same place.
#[test]
fn lanes_that_end_two_regions_of_one_place_share_none() {
    let call = |body| around(Operation::Call, body);
    let region = |body| around(Operation::Region, body);
    let leaf = || call(vec![]);
    let together = vec![region(vec![region(vec![])]), region(vec![])];
    let of_lane_0 = call(vec![region(vec![region(vec![]), leaf()])]);
    let of_others = region(vec![region(vec![leaf()])]);
    let parting = vec![parted(vec![of_lane_0], vec![of_others]), region(vec![])];
    for (program, shared) in [(together, 3), (parting, 0)] {
        let case = of_all_lanes(program);
        is_as_the_reference_says(&case).expect("it agrees");
        let outcome = case.run(&emulator(&case)).expect("the launch");
        let compared = check(&case, &outcome, Times::Hardware).expect("it agrees");
        assert_eq!((compared.shared, compared.lost), (shared, 0));
    }
}

/// All begin a region together, which lane 0 ends alone while the others wait for it in a call. Then all make a mark,
/// the others within that region: lane 0 has parted from them, so that none shares it.
#[test]
fn a_mark_of_lanes_of_which_one_has_parted_is_each_ones_own() {
    let call = |body| around(Operation::Call, body);
    let region = |body| around(Operation::Region, body);
    let mark = || leaf(Operation::Mark, 0);
    let together = vec![mark(), region(vec![mark()])];
    let of_lane_0 = vec![call(vec![region(vec![])]), mark()];
    let of_others = vec![region(vec![call(vec![]), mark()])];
    let parting = vec![mark(), parted(of_lane_0, of_others)];
    for (program, shared) in [(together, 3), (parting, 1)] {
        for &kernel in SHARING {
            let case = Case { kernel, ..of_all_lanes(program.clone()) };
            is_as_the_reference_says(&case).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
        }
        let case = of_all_lanes(program);
        let outcome = case.run(&emulator(&case)).expect("the launch");
        let compared = check(&case, &outcome, Times::Hardware).expect("it agrees");
        assert_eq!((compared.shared, compared.lost), (shared, 0));
        // Each lane has its marks once.
        let trace = profiler_trace::decode(&outcome.capture);
        let marks = |lane| trace.warps[0].marks.iter().filter(|mark| mark.lane == lane).count();
        assert_eq!([0, 1, 2, 3].map(marks), [2; 4]);
    }
}

/// Three turns of a region that each lane ends with a value of its own, of which lane 1 has room for two ends. By the
/// timer two turns begin in one step, and nothing tells which of them it has not ended: it is the first that may have
/// no end.
#[test]
fn of_begins_in_one_step_the_first_is_open() {
    let call = around(Operation::Call, vec![leaf(Operation::Mark, 0)]);
    let of_lanes = |lanes, body| Node {
        operation: Operation::RegionLanes,
        argument: lanes,
        body,
        other: vec![],
    };
    let turn = of_lanes(1, vec![leaf(Operation::Start, 0)]);
    let turns = Node { argument: 3, ..around(Operation::Repeat, vec![turn]) };
    let program = vec![of_lanes(u32::MAX, vec![leaf(Operation::Mark, 0), call]), turns];
    let case = of_all_lanes(program);
    let session = Options { units_per_warp: 16, units_per_lane: 5, ..case.session.clone() };
    for &kernel in SHARING_HOSTED {
        let session = session.clone();
        let case = Case { kernel, block: [2, 1, 1], session, ..case.clone() };
        is_as_the_reference_says(&case).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    }
}

/// Tokens that all lanes begin and lane 1 alone ends, by value, so that it shares no end. Where lane 0's room has no
/// place for all begins, what the ends are of is told by what lane 1 wrote in between, or said not to be known.
#[test]
fn what_a_lane_may_be_in_is_shown_or_said() {
    let start = || leaf(Operation::Start, 0);
    let ends = |body| parted(vec![], body);
    let mut untold = Vec::new();
    for between in [vec![], vec![leaf(Operation::MarkValue, 0)]] {
        let between = ends(between);
        let program = vec![start(), between, start(), ends(vec![leaf(Operation::End, 0)])];
        let session = Options { units_per_warp: 1, ..of_all_lanes(vec![]).session };
        let kernel = SHARING_HOSTED[0];
        let case = Case { kernel, block: [2, 1, 1], session, ..of_all_lanes(program) };
        is_as_the_reference_says(&case).expect("it agrees");
        let outcome = case.run(&emulator(&case)).expect("the launch");
        let trace = profiler_trace::decode(&outcome.capture);
        let said = trace.diagnostics.get(DiagnosticKind::SharedLost).expect("a begin is lost");
        let of_lane_1 = trace.warps[0].regions.iter().filter(|region| region.lane == 1);
        let open = of_lane_1.filter(|region| region.end.is_none()).count();
        untold.push((open, said.number));
    }
    assert_eq!(untold, [(0, 1), (1, 0)]);
}

/// Lanes that store each by itself what lane 0 stored for all, as where a GPU parts them.
fn part(case: &Case, outcome: &mut Outcome) {
    let module = &mut outcome.capture.modules[0];
    let mut exit = [0; header::WORDS];
    let words = module.headers.as_chunks::<8>().0;
    exit.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    let ExitHeader { units, attachments, .. } = ExitHeader::unpack(&exit).expect("it left");
    module.headers[8 * header::SHARED_START] = 0;
    let stored = case.capacity(0).map_or(0, |capacity| units.min(capacity)) as usize;
    for unit in &mut module.records.as_chunks_mut::<UNIT>().0[..stored] {
        let [data, word] = unit.as_chunks_mut::<8>().0 else { unreachable!("two words") };
        let mut stamp = Stamp::unpack(u64::from_le_bytes(*word)).expect("a whole unit");
        match stamp.kind {
            RecordKind::RangeShared => stamp.kind = RecordKind::Range,
            RecordKind::Mark => *data = [0; 8],
            _ => {}
        }
        *word = stamp.pack().to_le_bytes();
    }
    for lane in 1..case.threads() as usize {
        let Some(capacity) = case.capacity(lane as u32) else {
            module.lost.units += u64::from(units);
            module.lost.attachments += u64::from(attachments);
            continue;
        };
        for row in 0..units.min(capacity) as usize {
            let at = row * LANE_STEP as usize + lane * UNIT;
            module.lanes[at..at + UNIT].copy_from_slice(&module.records[row * UNIT..][..UNIT]);
        }
        let counts = header::pack_counts(units, attachments);
        module.lane_counts[8 * lane..][..8].copy_from_slice(&counts.to_le_bytes());
    }
}

/// Wherever there is room for what they share, and none for what they do not: the reference knows what
/// each lane records, and not who stores it.
#[test]
fn lanes_of_a_gpu_may_share_less() {
    let inner = around(Operation::Region, vec![]);
    let mark = leaf(Operation::MarkThread, 0);
    let program =
        vec![around(Operation::RegionValue, vec![mark]), around(Operation::Region, vec![inner])];
    let rooms = [(64, 8, true), (64, 3, true), (64, 1, true), (64, 0, true), (64, 0, false)];
    for (units_per_warp, units_per_lane, lane_rooms) in rooms {
        let session =
            Options { units_per_warp, units_per_lane, lane_rooms, ..of_all_lanes(vec![]).session };
        let case = Case { session, ..of_all_lanes(program.clone()) };
        let mut outcome = case.run(&emulator(&case)).expect("the launch");
        let together = check(&case, &outcome, Times::Hardware).expect("it agrees");
        part(&case, &mut outcome);
        let apart = check(&case, &outcome, Times::Hardware).expect("it agrees");
        assert_eq!((together.shared, apart.shared), (4, 0));
        let emitted = [together, apart].map(|compared| compared.recorded + compared.lost);
        assert_eq!(emitted, [16; 2], "{units_per_lane} units a lane");
        check(&case, &outcome, Times::Virtual).expect_err("the emulator's lanes are together");
        let module = &mut outcome.capture.modules[0];
        if lane_rooms {
            module.lane_counts[8] -= 1;
            check(&case, &outcome, Times::Hardware).expect_err("a record of lane 1 is missing");
            outcome.capture.modules[0].lane_counts[8] += 1;
        }
        if units_per_lane > 1 {
            // The value of lane 1's first region is not what it records.
            let module = &mut outcome.capture.modules[0];
            module.lanes[2 * LANE_STEP as usize + UNIT] ^= 1;
            check(&case, &outcome, Times::Hardware).expect_err("no lane records this value");
        }
    }
}

/// The busiest lane's units: of lane 0, or of the others.
fn most_units(outcome: &Outcome, others: bool) -> u32 {
    let module = &outcome.capture.modules[0];
    if others {
        let counts = module.lane_counts.as_chunks::<8>().0.iter();
        let units = counts.map(|bytes| header::unpack_counts(u64::from_le_bytes(*bytes)).0);
        return units.max().unwrap_or(0);
    }
    let exits = module.headers.as_chunks::<{ header::BYTES }>().0.iter().filter_map(|bytes| {
        let mut words = [0; header::WORDS];
        let whole = bytes.as_chunks::<8>().0;
        words.iter_mut().zip(whole).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
        ExitHeader::unpack(&words)
    });
    exits.map(|exit| exit.units).max().unwrap_or(0)
}

/// One program of all kinds of records by every kernel, in rooms of each size from none to one more than is
/// needed, that keep what came first or last.
#[test]
fn every_capacity_is_as_the_reference_says() {
    let lanes = vec![parted(
        vec![around(Operation::RegionValue, vec![leaf(Operation::Mark, 0)])],
        vec![around(Operation::Region, vec![])],
    )];
    let mut compared = 0;
    for &kernel in KERNELS.iter().chain(HOSTED) {
        let program = [small().program, lanes.clone()].concat();
        let enough = Options { units_per_lane: 64, lane_rooms: true, ..small().session };
        let session = Options { warp_mask: u32::MAX, ..enough };
        let case = Case { program, kernel, when: 0b1101, block: [35, 1, 1], session, ..small() };
        let outcome = case.run(&emulator(&case)).expect("the launch");
        check(&case, &outcome, Times::Virtual).expect("nothing is lost");
        let [of_lane_0, of_others] = [false, true].map(|others| most_units(&outcome, others));
        assert!((10..64).contains(&of_lane_0), "{kernel:?}: {of_lane_0}");
        for keep in [Keep::First, Keep::Last] {
            for units in 0..=of_lane_0.max(of_others) + 1 {
                let session = Options {
                    units_per_warp: units,
                    units_per_lane: units,
                    keep,
                    ..case.session.clone()
                };
                is_as_the_reference_says(&Case { session, ..case.clone() })
                    .unwrap_or_else(|error| panic!("{kernel:?}, {keep:?}, {units}: {error}"));
                compared += 1;
            }
        }
    }
    assert!(compared > 28 * 2 * 11, "{compared}");
}

#[test]
fn what_a_gpu_may_not_do_is_seen_without_times() {
    let case = small();
    let changed = |change: fn(&mut Outcome)| {
        let mut outcome = case.run(&emulator(&case)).expect("the launch");
        check(&case, &outcome, Times::Hardware).expect("nothing has changed");
        change(&mut outcome);
        check(&case, &outcome, Times::Hardware).expect_err("something has changed")
    };
    // A unit that another has taken the place of, a value, and a count.
    changed(|outcome| outcome.capture.modules[0].records.copy_within(16..32, 0));
    changed(|outcome| outcome.capture.modules[0].records[32] ^= 1);
    changed(|outcome| outcome.capture.modules[0].headers[80] += 1);
    changed(|outcome| outcome.capture.modules[0].lost.units += 1);
}
