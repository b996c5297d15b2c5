//! What is written while a capture is decoded is what is written of a trace in memory.

use crate::captures;
use crate::part::part_of;
use crate::support::{text, written};

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;

use profiler_test_tools::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_trace::diff::{Diff, DiffOptions, DiffSide};
use profiler_trace::{
    Buffer, Capture, Decoder, DiagnosticKind, Export, ExportOptions, FormCosts, GroupBy, Progress,
    RecordCost, StackGroup, StampCost, Stats, StatsQuery, StreamedTrace, Trace, Value, Warp,
    WarpSource,
};
use profiler_wire::{SiteEntry, SiteKind};
use proptest::prelude::*;

/// A capture with one of everything: lanes, tracks, arrows, open regions, losses, a warp that never
/// left, two launches.
fn varied() -> Capture {
    let mut module = SyntheticModule::new(Keep::Last, 8);
    module.lane_capacity = Some(4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site_with_unit(SiteKind::Region, "region", "bytes");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    for number in 0..6_u32 {
        let start = 64_000 + 32 * u64::from(number % 3);
        let clock = 2 * start;
        let mut warp = SyntheticWarp::new(kernel, clock, start);
        warp.header.grid_id = 1 + u64::from(number / 3);
        warp.header.block = [number % 3, 0, 0];
        warp.header.grid_dim = [3, 1, 1];
        warp.header.sm = number % 2;
        warp.begin(region, Some(number % 2), clock + 10);
        for step in 0..number as u64 {
            let at = clock + 1_000 * step;
            warp.range(region, None, at + 20, at + 500).attach(region, at + 500, Value::Float(2.5));
            warp.range(region, Some(7), at + 30, at + 510).value(
                signal,
                at + 511,
                Value::Unsigned(step),
            );
        }
        warp.lane(5).value(wait, clock + 5_900, Value::Unsigned(1)).begin(
            region,
            None,
            clock + 5_910,
        );
        if number != 4 {
            warp.leave(clock + 2_000_000, start + 1_000_000);
        }
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

/// A committed capture.
fn kept() -> Capture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds-v1.capture");
    Capture::read(path).expect("it is a capture")
}

/// A way to write a trace, and a streamed one.
type Written = (
    &'static str,
    fn(&Trace, &mut Vec<u8>) -> io::Result<()>,
    fn(&StreamedTrace<'_>, &mut Vec<u8>) -> io::Result<()>,
);

/// A row for each of these ways.
macro_rules! formats {
    ($($write:ident($($argument:expr),*)),* $(,)?) => {
        [$((
            stringify!($write($($argument),*)),
            |trace, bytes| trace.$write(bytes $(, $argument)*),
            |trace, bytes| trace.$write(bytes $(, $argument)*),
        )),*]
    };
}

const FORMATS: [Written; 13] = formats![
    write_perfetto_to(&ExportOptions::default()),
    write_perfetto_to(&by_sm()),
    write_perfetto_to(&uncounted()),
    write_chrome_to(&ExportOptions::default()),
    write_chrome_to(&by_sm()),
    write_folded_to(StackGroup::Kernel),
    write_folded_to(StackGroup::Launch),
    write_folded_to(StackGroup::Sm),
    write_folded_to(StackGroup::Block),
    write_folded_to(StackGroup::Warp),
    write_hatchet_to(),
    write_events_csv_to(),
    write_events_json_to(),
];

fn by_sm() -> ExportOptions {
    ExportOptions { by_sm: true, ..ExportOptions::default() }
}

fn uncounted() -> ExportOptions {
    ExportOptions { counters: false, ..ExportOptions::default() }
}

/// Requires that what is written while decoding is what is written of the trace, and that both say the
/// same.
fn require_equal(decoder: &Decoder<'_>, trace: &Trace) {
    let streamed = decoder.streamed();
    for (name, of_held, of_streamed) in FORMATS {
        let held = written(|bytes| of_held(trace, bytes));
        assert!(held == written(|bytes| of_streamed(&streamed, bytes)), "{name}");
    }
    assert_eq!(streamed.outline().diagnostics, trace.diagnostics);
    assert_eq!(WarpSource::notes(trace), streamed.notes());
    assert_eq!(trace.open_regions(), streamed.open_regions());
    for query in queries(trace) {
        // Of damaged captures figures may be no numbers, which equal nothing.
        let (held, streamed) = (trace.stats_of(&query), Stats::of(&streamed, &query));
        assert_eq!(format!("{held:?}"), format!("{streamed:?}"), "{query:?}");
    }
}

/// Every grouping, and each kind of filter.
fn queries(trace: &Trace) -> Vec<StatsQuery> {
    let groups = GroupBy::ALL;
    let mut queries: Vec<_> = groups.map(|by| StatsQuery::new().by(by)).into();
    let all = StatsQuery::new().by(GroupBy::Path);
    queries.push(all.clone().name("reg*").kernel("*"));
    if let Some(launch) = trace.launches.last() {
        let (start, end) = (launch.start_ns, launch.end_ns);
        for (from, to) in [(-1.0, 0.3), (0.2, 0.4), (0.9, 2.0)] {
            let at = |part: f64| start + part * (end - start);
            queries.push(all.clone().window_ns(at(from)..at(to)));
        }
    }
    queries
}

/// Requires that the warps that are visited are those of the trace.
fn require_equal_warps(decoder: &Decoder<'_>, trace: &Trace) {
    let streamed = decoder.streamed();
    assert_eq!(decoder.warp_count(), trace.warps.len());
    for (index, warp) in trace.warps.iter().enumerate() {
        assert_eq!(*streamed.warp(index), *warp);
    }
    let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
    assert_eq!(streamed.region_count(), regions);
    assert_eq!(decoder.host(), &trace.host);
}

/// Requires the same of times without what recording cost, by several tables of costs.
fn require_equal_without_cost(capture: &mut Capture) {
    let uneven = FormCosts { mark: StampCost::after(3.0), ..FormCosts::uniform(4.0, 30.0) };
    for record_cost in [
        None,
        Some(RecordCost::uniform(5.0, 20.0)),
        Some(RecordCost { elected: uneven, ..RecordCost::uniform(400.0, 900.0) }),
        Some(RecordCost::uniform(-1.0, 1.0)),
    ] {
        capture.record_cost = record_cost;
        let mut trace = Decoder::new(capture).trace();
        trace.subtract_record_cost();
        let decoder = || Decoder::new(capture).subtract_record_cost();
        assert!(decoder().trace() == trace);
        require_equal(&decoder(), &trace);
        require_equal_warps(&decoder(), &trace);
        trace.warps.iter_mut().for_each(|warp| warp.regions.clear());
        let threads = NonZeroUsize::new(3).expect("not zero");
        assert!(decoder().threads(threads).outline() == trace);
    }
}

#[test]
fn every_format_of_every_content() {
    let captures =
        Content::ALL.map(|(_, content)| sized(1_500, content).expect("the sites are whole"));
    let others = [varied(), captures::small(), kept(), Capture::default()];
    for capture in captures.into_iter().chain(others) {
        let decoder = Decoder::new(&capture);
        let trace = decoder.trace();
        require_equal(&decoder, &trace);
        require_equal_warps(&decoder, &trace);
    }
}

#[test]
fn records_to_the_host_beside_others() {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let mut hosted = SiteEntry::new(SiteKind::Kernel, "hosted", "k.rs", "k", 1, 1);
    hosted.buffer = Buffer::Host;
    let kernels = [module.site(SiteKind::Kernel, "k"), module.site_entry(&hosted, &[])];
    let region = module.site(SiteKind::Region, "r");
    for (grid_id, kernel) in (1..).zip(kernels) {
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000 * grid_id);
        warp.header.grid_id = grid_id;
        if grid_id == 1 {
            warp.range(region, None, 2_000, 2_300).range(region, None, 2_340, 2_700);
        } else {
            warp.begin(region, None, 2_000).begin(region, None, 2_050);
            warp.end(region, None, 2_300).end(region, None, 2_700);
        }
        warp.leave(65_000, 64_000 * grid_id + 64_000);
        module.warps.push(warp);
    }
    let mut capture = module.into_capture().expect("the sites are whole");
    require_equal_without_cost(&mut capture);
}

#[test]
fn every_format_without_what_recording_cost() {
    let mut crossed = varied();
    crossed.record_cost = Some(RecordCost::uniform(400.0, 900.0));
    let odd = Decoder::new(&crossed).subtract_record_cost().outline().diagnostics;
    assert!(odd.count(DiagnosticKind::CostExceedsDuration) > 0, "{odd}");
    let mixed = sized(400, Content::Mixed).expect("the sites are whole");
    for mut capture in [mixed, varied(), captures::small(), kept(), Capture::default()] {
        require_equal_without_cost(&mut capture);
    }
}

#[test]
fn comparisons_of_every_content() {
    for mut capture in [sized(5_000, Content::Mixed).expect("the sites are whole"), varied()] {
        capture.record_cost = Some(RecordCost::uniform(5.0, 40.0));
        let compared = |subtracts: bool, streams: bool| {
            let side = |subtracts: bool| {
                let decoder = Decoder::new(&capture);
                let decoder = if subtracts { decoder.subtract_record_cost() } else { decoder };
                let mut side = DiffSide::new(&DiffOptions::default()).expect("the defaults can be");
                match streams {
                    true => side.add(&decoder.streamed()),
                    false => side.add(&decoder.trace()),
                }
                side
            };
            Diff::of(&side(false), &side(subtracts)).expect("they can be compared")
        };
        for subtracts in [false, true] {
            let (held, streamed) = (compared(subtracts, false), compared(subtracts, true));
            assert_eq!(format!("{held:?}"), format!("{streamed:?}"));
        }
    }
}

/// Which warps are to be shown, each given as it is without its records.
type Takes = fn(&Warp) -> bool;

const PARTS: [Takes; 7] = [
    |warp| warp.launch == 1,
    |warp| warp.block[0] % 2 == 0,
    |warp| warp.sm == 1 && warp.launch == 0,
    |warp| warp.warp == 0 && warp.exit.is_some(),
    |warp| warp.entry.ns > 20.0 || warp.launch == 1,
    |_| true,
    |_| false,
];

#[test]
fn a_part_is_what_the_whole_has_of_it() {
    let mixed = sized(400, Content::Mixed).expect("the sites are whole");
    let mut lost_edges = 0;
    for mut capture in [mixed, varied(), captures::small(), Capture::default()] {
        capture.record_cost = Some(RecordCost::uniform(5.0, 20.0));
        let whole = Decoder::new(&capture).trace();
        for takes in PARTS {
            let mut expected = part_of(&whole, takes);
            lost_edges += whole.edges.len() - expected.edges.len();
            let decoder = || Decoder::new(&capture).only(takes);
            assert!(decoder().trace() == expected);
            assert_eq!(decoder().launches().len(), expected.launches.len());
            require_equal(&decoder(), &expected);
            require_equal_warps(&decoder(), &expected);
            assert_eq!(decoder().warp_count(), expected.warps.len());
            let whole_launches = decoder().only(|_| true).only(takes);
            assert!(whole_launches.trace() == expected, "what was left out stays so");
            expected.subtract_record_cost();
            let threads = NonZeroUsize::new(3).expect("not zero");
            assert!(decoder().subtract_record_cost().threads(threads).trace() == expected);
            require_equal(&decoder().subtract_record_cost(), &expected);
        }
    }
    assert!(lost_edges > 0, "some arrows lead to or from what is left out");
}

#[test]
fn what_is_left_out_is_said_and_its_launches_are_not_drawn() {
    let capture = varied();
    let decoder = Decoder::new(&capture).only(|warp| warp.launch == 1 && warp.block[0] < 2);
    let trace = decoder.trace();
    let says = "SHOWS 2 of 6 warps: records, losses and open regions are counted of those";
    assert!(decoder.streamed().notes().iter().any(|note| note == says));
    assert!((trace.is_left_out(0), trace.is_left_out(1)) == (true, false));
    assert_eq!(trace.shown_launches().collect::<Vec<_>>(), [1]);
    let chrome =
        |trace: &Trace| text(|bytes| trace.write_chrome_to(bytes, &ExportOptions::default()));
    let some = chrome(&trace);
    assert!(!some.contains("kernel, launch 0") && some.contains("kernel, launch 1"));
    let nothing = chrome(&Decoder::new(&capture).only(|_| false).trace());
    assert!(nothing.contains("no launch is shown") && nothing.contains("SHOWS 0 of 6 warps"));
    assert!(!Decoder::new(&capture).streamed().notes().iter().any(|note| note.contains("SHOWS")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// Whatever stands in the units and the headers.
    #[test]
    fn every_format_of_damaged_captures(
        changes in prop::collection::vec((0_usize..3, any::<prop::sample::Index>(), any::<u8>()), 0..60),
        subtracts: bool,
        part in 0..PARTS.len(),
    ) {
        let mut capture = varied();
        capture.record_cost = Some(RecordCost::uniform(5.0, 40.0));
        for (array, at, byte) in changes {
            let module = &mut capture.modules[0];
            let bytes = match array {
                0 => &mut module.records,
                1 => &mut module.lanes,
                _ => &mut module.headers,
            };
            // Not the first slot's, so that something is left.
            let at = at.index(bytes.len() - bytes.len() / 6) + bytes.len() / 6;
            bytes[at] = byte;
        }
        let whole = Decoder::new(&capture).trace();
        let part = (Decoder::new(&capture).only(PARTS[part]), part_of(&whole, PARTS[part]));
        for (mut decoder, mut trace) in [(Decoder::new(&capture), whole), part] {
            if subtracts {
                trace.subtract_record_cost();
                decoder = decoder.subtract_record_cost();
            }
            require_equal(&decoder, &trace);
        }
    }
}

#[test]
fn the_varied_capture_is_varied() {
    let trace = Decoder::new(&varied()).trace();
    let regions = || trace.warps.iter().flat_map(|warp| &warp.regions);
    assert_eq!((trace.launches.len(), trace.warps.len()), (2, 6));
    assert!(trace.lost() > 0 && !trace.edges.is_empty());
    assert!(trace.warps.iter().any(|warp| warp.exit.is_none()));
    assert!(regions().any(|region| region.end.is_none()));
    assert!(regions().any(|region| region.track == Some(7)));
    assert!(regions().any(|region| region.lane == 5));
}

#[test]
fn what_is_watched_ends_where_it_said() {
    for capture in [sized(400, Content::Mixed).expect("the sites are whole"), varied()] {
        let decoder = Decoder::new(&capture);
        let trace = decoder.trace();
        let ends = |name: &str, work: &mut dyn FnMut()| {
            let progress = Progress::default();
            progress.watch(work);
            assert!(progress.expected() > 0, "{name}");
            assert_eq!(progress.expected(), progress.done(), "{name}");
        };
        ends("trace", &mut || drop(decoder.trace()));
        ends("outline", &mut || drop(decoder.outline()));
        ends("each", &mut || decoder.each_warp(|_| ()));
        for (name, held, streamed) in FORMATS {
            ends(name, &mut || drop(written(|bytes| held(&trace, bytes))));
            ends(name, &mut || drop(written(|bytes| streamed(&decoder.streamed(), bytes))));
        }
        ends("streamed stats", &mut || drop(Stats::of(&decoder.streamed(), &StatsQuery::new())));
        ends("stats", &mut || drop(trace.stats_of(&StatsQuery::new().by(GroupBy::Path))));
        ends("balance", &mut || drop(trace.balance(0)));
        ends("path", &mut || drop((trace.waits(0), trace.critical_path(0))));
    }
}

#[test]
fn what_was_found_before_the_cost_was_subtracted_is_found_anew() {
    let mut capture = varied();
    capture.record_cost = None;
    let decoder = Decoder::new(&capture);
    let before = decoder.diagnostics();
    let decoder = decoder.subtract_record_cost();
    assert_eq!(before.count(DiagnosticKind::CostUnknown), 0);
    assert_eq!(decoder.diagnostics().count(DiagnosticKind::CostUnknown), 1);
    capture.record_cost = Some(RecordCost::uniform(5.0, 20.0));
    let outline = Decoder::new(&capture).subtract_record_cost().outline();
    assert!(outline.cost_subtracted && outline.recorded() > 0);
    assert!(outline.warps.iter().all(|warp| warp.regions.is_empty()), "an outline has none");
}
