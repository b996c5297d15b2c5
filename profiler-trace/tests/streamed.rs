//! What is written while a capture is decoded is what is written of a trace in memory.

use profiler_trace::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_trace::{
    Capture, Decoder, Diagnostics, ExportOptions, GroupBy, Grouping, Progress, StatsQuery, Trace,
    Value,
};
use profiler_wire::SiteKind;

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

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory takes everything");
    bytes
}

/// What is written, if what it returns is what the trace says.
fn while_decoding(
    trace: &Trace,
    write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<Diagnostics>,
) -> Vec<u8> {
    written(|bytes| {
        assert_eq!(write(bytes)?, trace.diagnostics);
        Ok(())
    })
}

#[test]
fn both_formats_of_every_content() {
    let captures = [Content::Regions, Content::Mixed, Content::Marks]
        .map(|content| sized(20_000, content).expect("the sites are whole"));
    let all_options = [
        ExportOptions::default(),
        ExportOptions { grouping: Grouping::Sm, raw_times: true, ..ExportOptions::default() },
        ExportOptions { counters: false, gzip: true, ..ExportOptions::default() },
    ];
    for capture in captures.into_iter().chain([varied(), Capture::default()]) {
        let decoder = Decoder::new(&capture);
        let trace = decoder.trace();
        for options in &all_options {
            let held = written(|bytes| trace.write_perfetto_to(bytes, options));
            let streamed =
                while_decoding(&trace, |bytes| decoder.write_perfetto_to(bytes, options));
            assert!(held == streamed, "Perfetto with {options:?}");
            let held = written(|bytes| trace.write_chrome_to(bytes, options));
            let streamed = while_decoding(&trace, |bytes| decoder.write_chrome_to(bytes, options));
            assert!(held == streamed, "Chrome with {options:?}");
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
    let options = ExportOptions::default();
    for capture in [sized(20_000, Content::Mixed).expect("the sites are whole"), varied()] {
        let decoder = Decoder::new(&capture);
        let warps = decoder.warp_count() as u64;
        let trace = decoder.trace();
        let steps = |passes: u64, work: &mut dyn FnMut()| {
            let progress = Progress::default();
            progress.watch(work);
            assert_eq!((progress.expected(), progress.done()), (passes * warps, passes * warps));
        };
        steps(1, &mut || drop(decoder.trace()));
        steps(1, &mut || drop(decoder.outline()));
        steps(1, &mut || drop(decoder.fold_warps(|| (), |(), _| ())));
        steps(1, &mut || decoder.each_warp(|_| ()));
        steps(3, &mut || {
            written(|bytes| decoder.write_perfetto_to(bytes, &options).map(drop));
        });
        steps(2, &mut || {
            written(|bytes| trace.write_chrome_to(bytes, &options));
        });
        steps(1, &mut || {
            written(|bytes| trace.write_events_csv_to(bytes));
        });
        steps(1, &mut || {
            written(|bytes| trace.write_hatchet_to(bytes));
        });
        steps(4, &mut || drop(trace.stats_of(&StatsQuery::new().by(GroupBy::Path))));
    }
}
