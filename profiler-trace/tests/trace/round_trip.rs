//! Random programs, recorded into buffers of any capacity, decode to what a plain model says.

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{DiagnosticKind, Trace, Value, decode};
use profiler_wire::SiteKind;
use proptest::prelude::*;

/// One step of a program; `gap` ticks pass before it.
#[derive(Clone, Debug)]
enum Step {
    Open(u32),
    /// Closes the innermost open region, with or without a value.
    Close(Option<u64>),
    TokenBegin(u32, Option<u32>),
    /// Ends the region of this site and track that was begun last, if there is one.
    TokenEnd(u32, Option<u32>, Option<u64>),
    Mark(u32),
    Value(u64),
}

/// A unit as the program meant it, with whole times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Range { site: u32, start: u64, end: u64 },
    Begin { site: u32, track: Option<u32>, at: u64 },
    End { site: u32, track: Option<u32>, start: u64, end: u64 },
    Attachment { site: u32, value: u64 },
    Mark { site: u32, at: u64, value: Option<u64> },
}

/// `(site, track, start, end, value)`.
type Region = (u32, Option<u32>, u64, Option<u64>, Option<u64>);
/// `(site, time, value)`.
type Mark = (u32, u64, Option<u64>);

const KERNEL: u32 = 1;
const REGIONS: std::ops::RangeInclusive<u32> = 2..=4;
const MARK: u32 = 5;

fn module(keep: Keep, capacity: u32) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, capacity);
    assert_eq!(module.site(SiteKind::Kernel, "kernel"), KERNEL);
    for (site, name) in REGIONS.zip(["a", "b", "c"]) {
        assert_eq!(module.site(SiteKind::Region, name), site);
    }
    assert_eq!(module.site(SiteKind::Mark, "mark"), MARK);
    module
}

fn step() -> impl Strategy<Value = Step> {
    let track = prop::option::weighted(0.3, 0_u32..2);
    let value = prop::option::weighted(0.3, any::<u64>());
    prop_oneof![
        3 => REGIONS.prop_map(Step::Open),
        3 => value.clone().prop_map(Step::Close),
        2 => (REGIONS, track.clone()).prop_map(|(site, track)| Step::TokenBegin(site, track)),
        2 => (REGIONS, track, value).prop_map(|(site, track, value)| Step::TokenEnd(site, track, value)),
        1 => Just(Step::Mark(MARK)),
        1 => any::<u64>().prop_map(Step::Value),
    ]
}

/// A program with the ticks before each step, some of them long, none too long.
fn program() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let gap = prop_oneof![6 => 0_u64..100, 1 => 0_u64..1 << 33];
    prop::collection::vec((gap, step()), 0..60)
}

/// Runs a program from a time on; what it emits, and when it ends.
fn run(program: &[(u64, Step)], entry: u64, warp: &mut SyntheticWarp) -> (Vec<Unit>, u64) {
    let mut units = Vec::new();
    let mut open = Vec::new();
    let mut tokens = Vec::new();
    let mut now = entry;
    for (gap, step) in program {
        now += gap;
        let attached = match *step {
            Step::Open(site) => {
                open.push((site, now));
                None
            }
            Step::Close(value) => open.pop().and_then(|(site, start)| {
                warp.range(site, None, start, now);
                units.push(Unit::Range { site, start, end: now });
                value.map(|value| (site, value))
            }),
            Step::TokenBegin(site, track) => {
                warp.begin(site, track, now);
                tokens.push((site, track, now));
                units.push(Unit::Begin { site, track, at: now });
                None
            }
            Step::TokenEnd(site, track, value) => {
                let is_it = |token: &(u32, Option<u32>, u64)| (token.0, token.1) == (site, track);
                tokens.iter().rposition(is_it).and_then(|last| {
                    let (.., start) = tokens.remove(last);
                    warp.end(site, track, now);
                    units.push(Unit::End { site, track, start, end: now });
                    value.map(|value| (site, value))
                })
            }
            Step::Mark(site) => {
                warp.mark(site, None, now);
                units.push(Unit::Mark { site, at: now, value: None });
                None
            }
            Step::Value(value) => {
                warp.value(MARK, now, Value::Unsigned(value));
                units.push(Unit::Mark { site: MARK, at: now, value: Some(value) });
                None
            }
        };
        if let Some((site, value)) = attached {
            warp.attach(site, now, Value::Unsigned(value));
            units.push(Unit::Attachment { site, value });
        }
    }
    (units, now)
}

/// What decoding the surviving units must give, worked out the plain way.
fn expected(units: &[Unit]) -> (Vec<Region>, Vec<Mark>) {
    let mut regions: Vec<Region> = Vec::new();
    let mut marks = Vec::new();
    for (index, unit) in units.iter().enumerate() {
        let value = match (unit, units.get(index + 1)) {
            (
                Unit::Range { site, .. } | Unit::End { site, .. },
                Some(Unit::Attachment { site: of, value }),
            ) if site == of => Some(*value),
            _ => None,
        };
        match *unit {
            Unit::Range { site, start, end } => regions.push((site, None, start, Some(end), value)),
            Unit::Begin { site, track, at } => regions.push((site, track, at, None, None)),
            Unit::End { site, track, start, end } => {
                let begun = regions
                    .iter_mut()
                    .rev()
                    .find(|region| region.0 == site && region.1 == track && region.3.is_none());
                match begun {
                    Some(region) => (region.3, region.4) = (Some(end), value),
                    // Its end says when it began.
                    None => regions.push((site, track, start, Some(end), value)),
                }
            }
            Unit::Mark { site, at, value } => marks.push((site, at, value)),
            Unit::Attachment { .. } => {}
        }
    }
    regions.sort();
    (regions, marks)
}

fn unsigned(value: Option<Value>) -> Option<u64> {
    value.map(|value| match value {
        Value::Unsigned(value) => value,
        other => panic!("{other:?} is not what was recorded"),
    })
}

/// What was decoded of a lane, in the model's terms.
fn decoded(trace: &Trace, lane: u8) -> (Vec<Region>, Vec<Mark>) {
    let warp = &trace.warps[0];
    let id = |site| trace.site(site).id;
    let mut regions: Vec<Region> = warp
        .regions
        .iter()
        .filter(|region| region.lane == lane)
        .map(|region| {
            let end = region.end.map(|end| end.ticks);
            (id(region.site), region.track, region.start.ticks, end, unsigned(region.value))
        })
        .collect();
    regions.sort();
    let marks = warp
        .marks
        .iter()
        .filter(|mark| mark.lane == lane)
        .map(|mark| (id(mark.site), mark.time.ticks, unsigned(mark.value)))
        .collect();
    (regions, marks)
}

/// The units that survive in a buffer.
fn survivors(units: &[Unit], keep: Keep, capacity: usize) -> &[Unit] {
    let kept = units.len().min(capacity);
    match keep {
        Keep::First => &units[..kept],
        Keep::Last => &units[units.len() - kept..],
    }
}

fn records(units: &[Unit]) -> u64 {
    units.iter().filter(|unit| !matches!(unit, Unit::Attachment { .. })).count() as u64
}

fn buffer() -> impl Strategy<Value = (Keep, u32)> {
    prop_oneof![
        (0_u32..40).prop_map(|capacity| (Keep::First, capacity)),
        (0_u32..7).prop_map(|power| (Keep::Last, 1 << power)),
    ]
}

proptest! {
    #[test]
    fn regions_marks_and_losses_are_exact(
        leader in program(),
        other in program(),
        (keep, capacity) in buffer(),
        entry in 0_u64..1 << 45,
        lane in 1_u8..32,
    ) {
        let mut module = module(keep, capacity);
        module.lane_capacity = Some(8);
        let mut warp = SyntheticWarp::new(KERNEL, entry, 32_000);
        let (units, end) = run(&leader, entry, &mut warp);
        let (other_units, other_end) = run(&other, entry, warp.lane(lane));
        let exit = end.max(other_end) + 1;
        warp.leave(exit, 32_000 + (exit - entry) / 2);
        module.warps.push(warp);
        let trace = decode(&module.into_capture().expect("the sites are whole"));

        prop_assert_eq!(trace.warps.len(), 1);
        let warp = &trace.warps[0];
        let kept = survivors(&units, keep, capacity as usize);
        let other_kept = survivors(&other_units, keep, 8);
        // With all units of a gap lost, only the time of the exit can tell.
        prop_assert_eq!(decoded(&trace, 0), expected(kept));
        prop_assert_eq!(decoded(&trace, lane), expected(other_kept));
        prop_assert_eq!(warp.recorded, records(kept) + records(other_kept));
        prop_assert_eq!(warp.recorded + warp.lost, records(&units) + records(&other_units));
        prop_assert_eq!(trace.recorded() + trace.lost(), records(&units) + records(&other_units));
        let small = trace.diagnostics.count(DiagnosticKind::BufferTooSmall)
            + trace.diagnostics.count(DiagnosticKind::LaneBufferTooSmall);
        prop_assert_eq!(small, warp.lost);

        let end = |region: &profiler_trace::Region| region.end.map_or(u64::MAX, |end| end.ticks);
        for pair in warp.regions.windows(2) {
            let (left, right) = (&pair[0], &pair[1]);
            let in_order = left.start.ticks < right.start.ticks
                || left.start.ticks == right.start.ticks && end(left) >= end(right);
            prop_assert!(in_order, "longer regions come first");
        }
        prop_assert!(warp.marks.is_sorted_by_key(|mark| mark.time.ticks));
        for region in &warp.regions {
            let enclosing = |strictly: bool| {
                warp.regions
                    .iter()
                    .filter(|other| (other.lane, other.track) == (region.lane, region.track))
                    .filter(|other| {
                        let (start, stop) = (other.start.ticks, end(other));
                        let outside = start <= region.start.ticks && stop >= end(region);
                        let same_end = start == region.start.ticks || stop == end(region);
                        // A region that has ended where this one begins does not enclose it.
                        outside && !(strictly && same_end)
                    })
                    .count()
            };
            let depth = usize::from(region.depth);
            prop_assert!(enclosing(true) <= depth && depth < enclosing(false), "{depth}");
        }
    }

    /// What finds neither slot nor buffer is counted as well.
    #[test]
    fn warps_without_a_slot_are_counted(
        programs in prop::collection::vec(program(), 1..6),
        slots in 0_u32..4,
    ) {
        let mut module = module(Keep::First, 8);
        module.slots = slots;
        let mut emitted = 0;
        for (index, program) in programs.iter().enumerate() {
            let mut warp = SyntheticWarp::new(KERNEL, 1_000, 32_000);
            warp.header.block = [index as u32, 0, 0];
            let (units, end) = run(program, 1_000, &mut warp);
            let (others, other_end) = run(program, 1_000, warp.lane(3));
            let exit = end.max(other_end) + 1;
            warp.leave(exit, 32_000 + (exit - 1_000) / 2);
            emitted += records(&units) + records(&others);
            module.warps.push(warp);
        }
        let trace = decode(&module.into_capture().expect("the sites are whole"));
        prop_assert_eq!(trace.recorded() + trace.lost(), emitted);
        let without = (programs.len() as u64).saturating_sub(slots.into());
        prop_assert_eq!(trace.diagnostics.count(DiagnosticKind::NoSlot), without);
        if without > 0 {
            let needed = trace.diagnostics.get(DiagnosticKind::NoSlot).map(|said| said.number);
            prop_assert_eq!(needed, Some(programs.len() as u64));
        }
    }
}
