//! Random programs on the emulator: every strategy, clock and buffer, capacity and selection, with times
//! to the tick.
//!
//! `PROPTEST_CASES` says how many; the default takes some seconds.

use profiler_agreement::{
    Case, HOSTED, KERNELS, Node, Operation, Options, Outcome, Plant, Times, cases, check, emulator,
};
use profiler_host::{Keep, Slots};
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

    #[test]
    fn what_is_planted_is_found(case in cases(KERNELS), plant in plants()) {
        is_found(plant, &case)?;
    }

    #[test]
    fn what_is_planted_in_memory_of_the_host_is_found(case in cases(HOSTED), plant in plants()) {
        is_found(plant, &case)?;
    }
}

/// A case of one warp that loses nothing.
fn small() -> Case {
    let leaf = |operation, argument| Node { operation, argument, body: vec![], other: vec![] };
    let around = |operation, body| Node { operation, argument: 5, body, other: vec![] };
    let program = vec![
        leaf(Operation::Start, 0),
        leaf(Operation::Start, 1),
        around(Operation::RegionValue, vec![leaf(Operation::MarkValue, 7)]),
        around(Operation::Statement, vec![leaf(Operation::Signal, 1), leaf(Operation::Wait, 1)]),
        leaf(Operation::EndValue, 0),
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

/// Ten units: the comparison sees every bit, but for the times of two values, which are those of their
/// regions' ends, and of the region that is never ended, when its token was dropped.
#[test]
fn no_bit_of_a_record_can_change_unseen() {
    const UNITS: usize = 10;
    const NO_TIMES: [usize; 3] = [2, 7, 9];
    let is_shown = |bit: usize| {
        let is_time = matches!(bit % 128, 64..96 | 120..128);
        !(is_time && NO_TIMES.contains(&(bit / 128)))
    };
    let case = small();
    let mut outcome = case.run(&emulator(&case)).expect("the launch");
    let compared = check(&case, &outcome, Times::Virtual).expect("nothing has changed");
    assert_eq!((compared.warps, compared.recorded, compared.lost), (1, 8, 0));
    for bit in (0..128 * UNITS).filter(|bit| is_shown(*bit)) {
        outcome.capture.modules[0].records[bit / 8] ^= 1 << (bit % 8);
        let seen = check(&case, &outcome, Times::Virtual);
        assert!(seen.is_err(), "bit {} of unit {}", bit % 128, bit / 128);
        outcome.capture.modules[0].records[bit / 8] ^= 1 << (bit % 8);
    }
    outcome.results[31] ^= 1;
    let difference = check(&case, &outcome, Times::Hardware).expect_err("a thread went astray");
    assert!(difference.starts_with("thread 31 gave"), "{difference}");
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
