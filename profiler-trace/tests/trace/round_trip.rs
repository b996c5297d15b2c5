//! Every kind of record, from any warp, by either clock: what was recorded, written as a file, read
//! and decoded is what a plain model says.

use crate::captures;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, DiagnosticKind as Kind, Trace, Value, Warp, decode};
use profiler_wire::header::Clock;
use profiler_wire::record::{RecordKind, TRACK_MAX, track_field};
use profiler_wire::{SiteKind, Strategy as Recorder};
use proptest::prelude::*;

/// Sites in the order of their ids, from 1 on: the last three are names of a list, and what is none
/// of them.
const KERNEL: u32 = 1;
const REGIONS: [u32; 5] = [2, 3, 7, 8, 9];
const INSTANTS: [u32; 3] = [4, 5, 6];

fn module(keep: Keep, capacity: u32) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, capacity);
    module.lane_capacity = Some(8);
    module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "region");
    module.site_with_unit(SiteKind::Region, "copy", "bytes");
    module.site(SiteKind::Mark, "mark");
    module.site(SiteKind::Signal, "full");
    module.site(SiteKind::Wait, "empty");
    module.names("TASK", &["load", "store"]);
    module
}

/// A unit with its whole time.
#[derive(Clone, Copy, Debug)]
struct Unit {
    at: u64,
    what: What,
}

/// What a lane does, or its record. The last number of a region is its length in a program, and its begin
/// in a unit.
#[derive(Clone, Copy, Debug)]
enum What {
    Range(u32, Option<u32>, u64),
    /// A region and its value in one unit.
    WithValue(u32, Value, u64),
    /// A region that was never ended.
    Open(u32, Option<u32>, u64),
    Begin(u32, Option<u32>),
    /// The end of a region that has a begin of its own.
    Watched(u32, Option<u32>, u64),
    Attachment(Value),
    Mark(u32, Option<u32>, Option<Value>),
    Anchor,
}

/// Ticks before it, what a lane does, and a value that it attaches then.
type Step = (u64, What, Option<Value>);

/// Equal for all floating-point numbers too.
type Number = Option<(RecordKind, u64)>;

fn number(value: Option<Value>) -> Number {
    value.map(|value| match value {
        Value::Unsigned(value) => (RecordKind::ValueUnsigned, value),
        Value::Signed(value) => (RecordKind::ValueSigned, value.cast_unsigned()),
        Value::Float(value) => (RecordKind::ValueFloat, value.to_bits()),
    })
}

/// Site, track, start, end, value, and the record that told of it.
type Region = (u32, Option<u32>, u64, Option<u64>, Number, bool);

/// What is known of a lane, in some order.
#[derive(Debug, Default, PartialEq)]
struct Lane {
    regions: Vec<Region>,
    /// Site, track, time and value.
    marks: Vec<(u32, Option<u32>, u64, Number)>,
    anchors: Vec<u64>,
    /// Values that belong to no region.
    orphans: u64,
}

impl Lane {
    fn sorted(mut self) -> Self {
        self.regions.sort_by_key(|region| format!("{region:?}"));
        self.marks.sort_by_key(|mark| format!("{mark:?}"));
        self.anchors.sort_unstable();
        self
    }

    /// The plain model of what units say.
    fn expected(units: &[Unit]) -> Self {
        let mut lane = Self::default();
        // Regions whose end is a record of its own and has not come yet.
        let mut begun = Vec::new();
        // The region that the unit before ended.
        let mut ended = None;
        for unit in units {
            let before = std::mem::take(&mut ended);
            match unit.what {
                What::Range(site, track, start) => {
                    ended = Some(lane.regions.len());
                    lane.regions.push((site, track, start, Some(unit.at), None, false));
                }
                What::WithValue(site, value, start) => {
                    let (value, record) = (number(Some(value)), true);
                    lane.regions.push((site, None, start, Some(unit.at), value, record));
                }
                What::Open(site, track, start) => {
                    lane.regions.push((site, track, start, None, None, false));
                }
                What::Begin(site, track) => {
                    begun.push(lane.regions.len());
                    lane.regions.push((site, track, unit.at, None, None, false));
                }
                What::Watched(site, track, start) => {
                    let of_begin = |index: &usize| {
                        let region = &lane.regions[*index];
                        let since_begin = start.checked_sub(region.2);
                        (region.0, region.1) == (site, track)
                            && since_begin.is_some_and(|since| since < 1 << 32)
                    };
                    // Of two begins at one time the later one.
                    let place = (0..begun.len())
                        .filter(|place| of_begin(&begun[*place]))
                        .max_by_key(|place| (lane.regions[begun[*place]].2, begun[*place]));
                    let region = (site, track, start, Some(unit.at), None, false);
                    ended = Some(match place.map(|place| begun.remove(place)) {
                        Some(index) => {
                            lane.regions[index] = region;
                            index
                        }
                        None => {
                            lane.regions.push(region);
                            lane.regions.len() - 1
                        }
                    });
                }
                What::Attachment(value) => match before {
                    Some(index) => lane.regions[index].4 = number(Some(value)),
                    None => lane.orphans += 1,
                },
                What::Mark(site, track, value) => {
                    lane.marks.push((site, track, unit.at, number(value)));
                }
                What::Anchor => lane.anchors.push(unit.at),
            }
        }
        lane.sorted()
    }

    /// What was decoded; of `orphans` a trace has the sum.
    fn decoded(trace: &Trace, lane: u8, orphans: u64) -> Self {
        let warp = &trace.warps[0];
        let id = |site| trace.site(site).id;
        let regions = warp.regions.iter().filter(|region| region.lane == lane).map(|region| {
            let end = region.end.map(|end| end.ticks);
            let value = number(region.value);
            (id(region.site), region.track, region.start.ticks, end, value, region.value_in_record)
        });
        let marks = warp.marks.iter().filter(|mark| mark.lane == lane);
        let marks = marks.map(|mark| {
            let value = number(mark.value);
            (id(mark.site), mark.track, mark.time.ticks, value)
        });
        let anchors = warp.anchors.iter().filter(|anchor| anchor.lane == lane);
        Self {
            regions: regions.collect(),
            marks: marks.collect(),
            anchors: anchors.map(|anchor| anchor.time.ticks).collect(),
            orphans,
        }
        .sorted()
    }
}

/// The warp's clocks at its entry.
#[derive(Clone, Copy, Debug)]
struct Entry {
    clock: Clock,
    cycles: u64,
    nanoseconds: u64,
}

impl Entry {
    fn ticks(&self) -> u64 {
        match self.clock {
            Clock::Cycles => self.cycles,
            Clock::GlobalTimer => self.nanoseconds,
        }
    }

    /// Both clocks when the record clock stands there: two cycles to a nanosecond.
    fn both(&self, ticks: u64) -> (u64, u64) {
        let since = ticks - self.ticks();
        match self.clock {
            Clock::Cycles => (ticks, self.nanoseconds + since / 2),
            Clock::GlobalTimer => (self.cycles + 2 * since, ticks),
        }
    }
}

/// Lets a lane record a program; its units, and when it was done.
fn run(program: &[Step], entry: Entry, warp: &mut SyntheticWarp) -> (Vec<Unit>, u64) {
    let mut units = Vec::new();
    let mut at = entry.ticks();
    for &(gap, what, attached) in program {
        at += gap;
        let start = |length: u64| at.saturating_sub(length).max(entry.ticks());
        let mut attached_to = REGIONS[0];
        let what = match what {
            What::Range(site, track, length) => {
                attached_to = site;
                warp.range(site, track, start(length), at);
                What::Range(site, track, start(length))
            }
            What::WithValue(site, value, length) => {
                attached_to = site;
                match value {
                    Value::Unsigned(value) => {
                        warp.range_unsigned(site, start(length), at, value as u16)
                    }
                    Value::Signed(value) => {
                        warp.range_signed(site, start(length), at, value as i16)
                    }
                    Value::Float(_) => panic!("no record holds it"),
                };
                What::WithValue(site, value, start(length))
            }
            What::Open(site, track, length) => {
                attached_to = site;
                warp.open(site, track, start(length), at);
                What::Open(site, track, start(length))
            }
            What::Watched(site, track, length) => {
                attached_to = site;
                warp.watched(site, track, start(length), at);
                What::Watched(site, track, start(length))
            }
            What::Begin(site, track) => {
                attached_to = site;
                warp.begin(site, track, at);
                what
            }
            What::Mark(site, track, value) => {
                match value {
                    None => warp.mark(site, track, at),
                    Some(value) => warp.value(site, at, value),
                };
                what
            }
            What::Anchor => {
                let (cycles, nanoseconds) = entry.both(at);
                warp.anchor(cycles, nanoseconds);
                what
            }
            What::Attachment(_) => panic!("it follows something"),
        };
        units.push(Unit { at, what });
        if let Some(value) = attached {
            warp.attach(attached_to, at, value);
            units.push(Unit { at, what: What::Attachment(value) });
        }
    }
    (units, at)
}

/// What a lane does.
fn program() -> impl Strategy<Value = Vec<Step>> {
    let value = prop_oneof![
        any::<u64>().prop_map(Value::Unsigned),
        any::<i64>().prop_map(Value::Signed),
        any::<u64>().prop_map(|bits| Value::Float(f64::from_bits(bits))),
    ];
    let short = prop_oneof![
        any::<u16>().prop_map(|value| Value::Unsigned(value.into())),
        any::<i16>().prop_map(|value| Value::Signed(value.into())),
    ];
    let maybe = prop::option::weighted(0.2, value.clone());
    // Few tracks, so that ends meet begins, and the largest.
    let track = || prop::option::weighted(0.4, prop::sample::select(vec![0, 1, TRACK_MAX]));
    let region = || prop::sample::select(REGIONS.to_vec());
    let instant = || prop::sample::select(INSTANTS.to_vec());
    let length = || prop_oneof![4 => 0_u64..300, 1 => 0_u64..1 << 34];
    let what = prop_oneof![
        4 => (region(), track(), length()).prop_map(|(site, track, ns)| What::Range(site, track, ns)),
        4 => (region(), short, length()).prop_map(|(site, value, ns)| What::WithValue(site, value, ns)),
        1 => (region(), track(), length()).prop_map(|(site, track, ns)| What::Open(site, track, ns)),
        3 => (region(), track()).prop_map(|(site, track)| What::Begin(site, track)),
        3 => (region(), track(), length()).prop_map(|(site, track, ns)| What::Watched(site, track, ns)),
        2 => (instant(), track()).prop_map(|(site, track)| What::Mark(site, track, None)),
        2 => (instant(), value).prop_map(|(site, value)| What::Mark(site, None, Some(value))),
        1 => Just(What::Anchor),
    ];
    let gap = prop_oneof![6 => 0_u64..100, 1 => 0_u64..1 << 33];
    prop::collection::vec((gap, what, maybe), 0..50)
}

fn buffer() -> impl Strategy<Value = (Keep, u32)> {
    prop_oneof![
        (0_u32..40).prop_map(|capacity| (Keep::First, capacity)),
        (0_u32..7).prop_map(|power| (Keep::Last, 1 << power)),
    ]
}

fn survivors(units: &[Unit], keep: Keep, capacity: usize) -> &[Unit] {
    let kept = units.len().min(capacity);
    match keep {
        Keep::First => &units[..kept],
        Keep::Last => &units[units.len() - kept..],
    }
}

/// How many records units are.
fn records(units: &[Unit]) -> u64 {
    let count = |unit: &Unit| match unit.what {
        What::Attachment(_) | What::Anchor => 0,
        _ => 1,
    };
    units.iter().map(count).sum()
}

fn saved_and_read(capture: &Capture) -> Capture {
    Capture::read_from(captures::file(capture).as_slice()).expect("a whole file")
}

/// Longer regions come first, and each lies as deep as others of its lane and track enclose it.
fn check_order_and_depth(warp: &Warp) {
    let end = |region: &profiler_trace::Region| region.end.map_or(u64::MAX, |end| end.ticks);
    assert!(warp.regions.is_sorted_by_key(|region| (region.start.ticks, u64::MAX - end(region))));
    assert!(warp.marks.is_sorted_by_key(|mark| mark.time.ticks));
    for region in &warp.regions {
        let enclosing = |strictly: bool| {
            let others = warp.regions.iter().filter(|other| {
                let (start, stop) = (other.start.ticks, end(other));
                let outside = start <= region.start.ticks && stop >= end(region);
                let same_end = start == region.start.ticks || stop == end(region);
                // A region that has ended where this one begins does not enclose it.
                (other.lane, other.track) == (region.lane, region.track)
                    && outside
                    && !(strictly && same_end)
            });
            others.count()
        };
        let depth = usize::from(region.depth);
        assert!(enclosing(true) <= depth && depth < enclosing(false), "{depth}");
    }
}

proptest! {
    #[test]
    fn every_kind_of_record_comes_back(
        leader in program(),
        other in program(),
        lane in 1_u8..32,
        (keep, capacity) in buffer(),
        timer: bool,
        (cycles, nanoseconds) in (0_u64..1 << 45, 0_u64..1 << 60),
    ) {
        let clock = if timer { Clock::GlobalTimer } else { Clock::Cycles };
        let entry = Entry { clock, cycles, nanoseconds };
        let mut module = module(keep, capacity);
        let mut warp = SyntheticWarp::new(KERNEL, cycles, nanoseconds);
        warp.header.record_clock = clock;
        let (units, done) = run(&leader, entry, &mut warp);
        let (other_units, other_done) = run(&other, entry, warp.lane(lane));
        let (cycles, nanoseconds) = entry.both(done.max(other_done) + 1);
        warp.leave(cycles, nanoseconds);
        module.warps.push(warp);
        let capture = module.into_capture().expect("the sites are whole");
        let trace = decode(&saved_and_read(&capture));

        let kept = survivors(&units, keep, capacity as usize);
        let other_kept = survivors(&other_units, keep, 8);
        for (lane, kept) in [(0, kept), (lane, other_kept)] {
            let expected = Lane::expected(kept);
            prop_assert_eq!(Lane::decoded(&trace, lane, expected.orphans), expected);
        }
        let warp = &trace.warps[0];
        check_order_and_depth(warp);
        prop_assert_eq!(warp.recorded, records(kept) + records(other_kept));
        prop_assert_eq!(warp.recorded + warp.lost, records(&units) + records(&other_units));
        prop_assert_eq!(warp.clock, clock);
        let count = |kinds: &[Kind]| -> u64 {
            kinds.iter().map(|kind| trace.diagnostics.count(*kind)).sum()
        };
        prop_assert_eq!(count(&[Kind::BufferTooSmall, Kind::LaneBufferTooSmall]), warp.lost);
        let orphans = [kept, other_kept].map(|kept| Lane::expected(kept).orphans);
        prop_assert_eq!(count(&[Kind::OrphanedValue]), orphans.iter().sum::<u64>());
        let odd = [Kind::DamagedUnit, Kind::KindMismatch, Kind::UnknownSite, Kind::CountMismatch];
        prop_assert_eq!(count(&odd), 0, "{}", trace.diagnostics);
    }

    /// What finds neither slot nor buffer is counted as well.
    #[test]
    fn warps_without_a_slot_are_counted(
        programs in prop::collection::vec(program(), 1..6),
        slots in 0_u32..4,
    ) {
        let mut module = module(Keep::First, 8);
        (module.slots, module.lane_capacity) = (slots, None);
        let entry = Entry { clock: Clock::Cycles, cycles: 1_000, nanoseconds: 32_000 };
        let mut emitted = 0;
        for (block, program) in (0..).zip(&programs) {
            let mut warp = SyntheticWarp::new(KERNEL, entry.cycles, entry.nanoseconds);
            warp.header.block = [block, 0, 0];
            let (units, _) = run(program, entry, &mut warp);
            let (others, done) = run(program, entry, warp.lane(3));
            let (cycles, nanoseconds) = entry.both(done + 1);
            warp.leave(cycles, nanoseconds);
            emitted += records(&units) + records(&others);
            module.warps.push(warp);
        }
        let trace = decode(&module.into_capture().expect("the sites are whole"));
        prop_assert_eq!(trace.recorded() + trace.lost(), emitted);
        let said = trace.diagnostics.get(Kind::NoSlot).map(|said| (said.count, said.number));
        let all = programs.len() as u64;
        let without = all.saturating_sub(slots.into());
        prop_assert_eq!(said, (without > 0).then_some((without, all)));
    }

    /// Who a warp was, at the bounds of what a header holds.
    #[test]
    fn every_warp_is_who_it_was(
        block in (any::<u32>(), any::<u16>(), any::<u16>()),
        grid in (any::<u32>(), any::<u16>(), any::<u16>()),
        shape in (0_u32..1 << 11, 0_u32..1 << 11, 0_u32..1 << 7),
        (grid_id, warp, sm) in (any::<u64>(), any::<u8>(), any::<u16>()),
        rank in prop::option::of(0_u32..1 << 7),
        track in prop::option::of(0..=TRACK_MAX),
        recorder in prop_oneof![
            prop::sample::select(vec![
                Recorder::Warp, Recorder::Block, Recorder::WarpGroup, Recorder::Elected,
                Recorder::Thread, Recorder::When,
            ]),
            any::<u8>().prop_map(Recorder::WarpIndex),
        ],
        exit: bool,
    ) {
        let mut module = module(Keep::First, 4);
        let mut recorded = SyntheticWarp::new(KERNEL, 1_000, 64_000);
        let header = &mut recorded.header;
        header.block = [block.0, block.1.into(), block.2.into()];
        header.grid_dim = [grid.0, grid.1.into(), grid.2.into()];
        header.block_dim = [shape.0, shape.1, shape.2];
        (header.grid_id, header.warp, header.sm) = (grid_id, warp.into(), sm.into());
        header.cluster_rank = rank;
        header.track = track.map_or(0, track_field);
        header.strategy = recorder.code().into();
        let expected = *header;
        if exit {
            recorded.leave(2_000, 64_500);
        }
        module.warps.push(recorded);
        let trace = decode(&saved_and_read(&module.into_capture().expect("the sites are whole")));

        let (launch, warp) = (&trace.launches[0], &trace.warps[0]);
        prop_assert_eq!(launch.grid_id, grid_id);
        prop_assert_eq!(launch.grid_dim, expected.grid_dim);
        prop_assert_eq!(launch.block_dim, expected.block_dim);
        prop_assert_eq!(trace.site(launch.kernel).id, KERNEL);
        prop_assert_eq!(warp.block, expected.block);
        prop_assert_eq!((warp.warp, warp.sm), (expected.warp, expected.sm));
        prop_assert_eq!((warp.cluster_rank, warp.track), (rank, track));
        prop_assert_eq!(warp.strategy, recorder);
        prop_assert_eq!(warp.entry.ticks, 1_000);
        prop_assert_eq!(warp.exit.map(|exit| exit.ticks), exit.then_some(2_000));
        prop_assert_eq!(trace.diagnostics.count(Kind::WarpNeverLeft), u64::from(!exit));
    }
}
