//! Random programs on the emulator: every strategy, clock and buffer, capacity and selection, with times
//! to the tick.
//!
//! `PROPTEST_CASES` says how many; the default takes some seconds.

use profiler_agreement::{
    Case, ClockMode, HOSTED, KERNELS, Node, Operation, Options, Outcome, Plant, Times, cases,
    check, emulator, emulator_by,
};
use profiler_host::{Keep, Slots};
use profiler_wire::header::{self, ExitHeader};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

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

    /// Each lane by readings of its own.
    #[test]
    fn records_of_lanes_that_read_the_clock_one_after_the_other_are_those_of_the_reference(
        case in cases(HOSTED)
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
            lane_buffers: false,
            block_first: 0,
            block_count: None,
            block_stride: 1,
            warp_mask: 1,
            slot_eighths: 8,
        },
    }
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

/// One program of all kinds of records by every kernel, in buffers of each size from none to one more than is
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
        let enough = Options { units_per_lane: 64, lane_buffers: true, ..small().session };
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
