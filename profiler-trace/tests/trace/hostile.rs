//! Inputs that once took minutes, or memory out of proportion.

use crate::support::text;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::diff::{DiffOptions, diff};
use profiler_trace::{
    DiagnosticKind as Kind, GroupBy, Nesting, SiteStats, SiteTable, SiteTableError, StatsQuery,
    Value, decode,
};
use profiler_wire::descriptor::CURSOR_MAX;
use profiler_wire::record::SITE_MAX;
use profiler_wire::site::ID_OFFSET;
use profiler_wire::{Descriptor, SiteKind, header};

/// A kernel and a region, which each of so many warps records once.
fn module(warps: u32) -> SyntheticModule {
    let mut module = SyntheticModule::new(Keep::First, 1);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    for block in 0..warps {
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        warp.header.block = [block, 0, 0];
        warp.range(region, None, 1_010, 1_020).leave(2_000, 64_500);
        module.warps.push(warp);
    }
    module
}

/// Buffers of 4 GiB, all but full by the headers, of which the capture has 16 bytes: what is not there
/// was once looked at unit by unit, seconds for each slot.
#[test]
fn units_after_the_end_of_the_capture_cost_no_time() {
    const UNITS: u32 = CURSOR_MAX / 16 - 1;
    for (mask, limit) in [(u32::MAX, CURSOR_MAX), (u32::MAX >> 1, u32::MAX)] {
        let mut capture = module(64).into_capture().expect("the sites are whole");
        let module = &mut capture.modules[0];
        module.records.truncate(16);
        module.descriptor = Descriptor {
            record_mask: mask,
            record_limit: limit,
            record_shift: 32,
            ..module.descriptor
        };
        for words in module.headers.chunks_exact_mut(header::BYTES) {
            words[80..88].copy_from_slice(&header::pack_counts(UNITS, 0).to_le_bytes());
        }
        let trace = decode(&capture);
        assert_eq!(trace.warps.len(), 64);
        assert!(trace.recorded() <= 1);
        assert_eq!(trace.recorded() + trace.lost(), 64 * u64::from(UNITS));
        let count = |kind| trace.diagnostics.count(kind);
        assert_eq!((count(Kind::TruncatedCapture), count(Kind::UnwrittenUnit)), (64, 0));
    }
}

/// Regions of one lane that all cross each other, or every other one of them: each once moved all others, 18 seconds for a
/// file of 22 KiB.
#[test]
fn regions_that_all_cross_take_no_time_out_of_proportion() {
    const REGIONS: u64 = 100_000;
    // In the order of their ends: as they began, or every other one from the middle outwards.
    let patterns: [fn(u64) -> u64; 2] = [
        |number| number,
        |number| {
            if number % 2 == 0 { REGIONS / 2 + number / 2 } else { REGIONS / 2 - 1 - number / 2 }
        },
    ];
    for begin in patterns {
        let mut module = SyntheticModule::new(Keep::First, REGIONS as u32);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let region = module.site(SiteKind::Region, "region");
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        for number in 0..REGIONS {
            warp.range(region, None, 1_010 + begin(number), 1_010 + REGIONS + number);
        }
        warp.leave(1_010 + 2 * REGIONS, 500_000);
        module.warps.push(warp);
        let trace = decode(&module.into_capture().expect("the sites are whole"));
        let warp = &trace.warps[0];
        assert_eq!(warp.regions.len() as u64, REGIONS);
        let mut nesting = Nesting::new();
        let enclosed = warp.regions.iter().filter(|region| {
            let mut is_enclosed = false;
            nesting.region(region, |parent: Option<()>| is_enclosed = parent.is_some());
            is_enclosed
        });
        // In the second pattern every other one begins before all that ended before it.
        let enclosed = enclosed.count() as u64;
        assert_eq!(enclosed, if begin(0) == 0 { 0 } else { REGIONS - 1 });
        assert_eq!(warp.regions.iter().filter(|region| region.depth > 0).count() as u64, enclosed);
    }
}

/// Ids at the end of their range, without the build step that numbers them from 1 on, and hardly a
/// record: each module once took a table of 4 MiB.
#[test]
fn sparse_ids_are_found() {
    let plain = module(1);
    let shift = SITE_MAX - 2;
    let entries: Vec<Vec<u8>> = (0..)
        .zip(plain.entries())
        .map(|(index, entry)| {
            let mut entry = entry.clone();
            let id: u32 = 1 + index + shift;
            entry[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&id.to_le_bytes());
            entry
        })
        .collect();
    let capture = plain.into_capture().expect("the sites are whole");
    let mut sparse = capture.clone();
    let module = &mut sparse.modules[0];
    module.sites = SiteTable::from_entries(entries.iter().map(Vec::as_slice)).expect("ids fit");
    // Kernel 1 in the header, region 2 in the stamp's high half.
    let kernel = &mut module.headers[20..24];
    kernel.copy_from_slice(&(1 + shift).to_le_bytes());
    let tag = &mut module.records[12..16];
    let moved = u32::from_le_bytes(tag.try_into().expect("4 bytes")) + shift;
    tag.copy_from_slice(&moved.to_le_bytes());
    let (mut left, right) = (decode(&sparse), decode(&capture));
    assert_eq!(left.sites[1].id, SITE_MAX);
    left.sites.clone_from(&right.sites);
    assert_eq!(left, right);
}

/// Once, each of these was searched to the text's end, or to its begin.
#[test]
fn names_in_a_row_and_arrays_without_an_end_cost_no_time() {
    for text in ["__profiler_descriptor_v", ".b8 __PROFILER_SITE[ "] {
        let read = SiteTable::from_ptx(&text.repeat(100_000));
        assert_eq!(read, Err(SiteTableError::NotProfiled { stamp: None }));
    }
}

/// Tokens that are never ended lie in each other. Each once had a path of its own, which took memory by
/// the square of their number, and to put the paths in order time by its cube.
#[test]
fn tokens_that_are_never_ended_have_paths_of_limited_length() {
    const TOKENS: u32 = 4096;
    let mut module = SyntheticModule::new(Keep::First, TOKENS);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let sites = ["a", "b"].map(|name| module.site(SiteKind::Region, name));
    let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
    for (site, ticks) in sites.into_iter().cycle().zip(1_010..1_010 + u64::from(TOKENS)) {
        warp.begin(site, None, ticks);
    }
    warp.leave(9_000, 68_000);
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    let stats = trace.stats_by(GroupBy::Path);
    // The kernel, the tokens in fewer than 64 others, and of all that lie deeper a row for each name.
    assert_eq!(stats.rows.len(), 1 + 64 + 2);
    assert_eq!(stats.rows.iter().map(|row| row.open).sum::<u64>(), u64::from(TOKENS));
    let deeper = |row: &&SiteStats| row.path.len() == 64;
    let counts = stats.rows.iter().filter(deeper).map(|row| (row.name.as_str(), row.open));
    let half = u64::from(TOKENS - 64) / 2;
    assert_eq!(counts.collect::<Vec<_>>(), [("a", half), ("b", half)]);
    assert!(stats.notes.iter().any(|note| note.contains("after `…`")), "{:?}", stats.notes);
    let csv = text(|bytes| stats.write_csv_to(bytes));
    assert_eq!(csv.matches(";a;b;…;").count(), 2, "{csv}");
    let options = DiffOptions { query: StatsQuery::new().by(GroupBy::Path), ..Default::default() };
    let side = std::slice::from_ref(&trace);
    let diff = diff(side, side, &options).expect("right options").to_json();
    let rows = diff["rows"].as_array().expect("rows");
    // Launches have a row of their own there.
    assert_eq!(rows.len(), stats.rows.len() + 1);
    let is_deep = |row: &&serde_json::Value| row["path"].to_string().contains(",\"…\",");
    assert_eq!(rows.iter().filter(is_deep).count(), 2);
}

/// The path of the file stands in every site of a list.
#[test]
fn a_list_that_would_take_too_much_memory_is_refused() {
    let mut list = SyntheticModule::new(Keep::First, 0);
    let names = vec![""; 10_000];
    let path = "p".repeat(60_000);
    let entry = profiler_wire::SiteEntry::new(SiteKind::Names, "TASK", &path, "gpu::kernel", 1, 1);
    list.site_entry(&entry, &names);
    let entries = list.entries().iter().map(Vec::as_slice);
    let error = SiteTable::from_entries(entries).expect_err("600 MB of paths");
    assert!(error.to_string().contains("a list of 10000 names"), "{error}");
}

/// Deep nesting, many open tokens and many signals, so many that quadratic work would not end.
#[test]
fn a_quarter_of_a_million_records_of_awkward_shapes() {
    const COUNT: u64 = 60_000;
    let mut module = SyntheticModule::new(Keep::First, 1 << 18);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    let mut warp = SyntheticWarp::new(kernel, 0, 64_000);
    for at in 1..=COUNT {
        warp.begin(region, None, at);
    }
    for at in COUNT + 1..=2 * COUNT {
        warp.mark(signal, None, at);
    }
    for at in 2 * COUNT + 1..=3 * COUNT {
        warp.mark(wait, None, at);
    }
    // Every second token stays open.
    for at in 3 * COUNT + 1..=3 * COUNT + COUNT / 2 {
        warp.end(region, None, at);
    }
    warp.leave(4 * COUNT, 64_000 + 32 * (COUNT / 16));
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.recorded(), 3 * COUNT + COUNT / 2);
    assert_eq!(trace.edges.len() as u64, COUNT);
    let open = trace.warps[0].regions.iter().filter(|region| region.end.is_none()).count();
    assert_eq!(open as u64, COUNT / 2);
    assert_eq!(trace.warps[0].regions[40_000].depth, 40_000);
}

/// Regions whose begins are not there, values without regions, and tokens that all cross.
#[test]
fn as_many_records_that_do_not_go_together() {
    const COUNT: u64 = 60_000;
    let mut module = SyntheticModule::new(Keep::First, 1 << 19);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let regions: Vec<u32> =
        (0..COUNT).map(|number| module.site(SiteKind::Region, &format!("r{number}"))).collect();
    let other = module.site(SiteKind::Region, "other");
    let mut warp = SyntheticWarp::new(kernel, 0, 64_000);
    for (at, &region) in (1..).zip(&regions) {
        warp.watched(region, None, at, at).attach(other, at, Value::Unsigned(at));
    }
    for (at, &region) in (COUNT + 1..).zip(&regions) {
        warp.begin(region, None, at);
    }
    for (at, &region) in (2 * COUNT + 1..).zip(&regions) {
        warp.end(region, None, at);
    }
    warp.leave(4 * COUNT, 64_000 + 32 * (COUNT / 16));
    module.warps.push(warp);
    let trace = decode(&module.into_capture().expect("the sites are whole"));
    assert_eq!(trace.diagnostics.count(Kind::OrphanedValue), COUNT);
    let regions = &trace.warps[0].regions;
    assert_eq!(regions.len() as u64, 2 * COUNT);
    assert!(regions.iter().all(|region| region.depth == 0 && region.end.is_some()));
}
