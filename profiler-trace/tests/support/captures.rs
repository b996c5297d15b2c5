//! Captures for tests of the file.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeSet;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, ClockPair, DeviceInfo, HostCapture, HostRecord, RecordCost, ResourceEffect, Value,
};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{RecordKind, SiteKind, Stamp};

/// Two modules with all kinds of records: one that keeps the first of lane 0, one that keeps the
/// last of all lanes.
pub(crate) fn small() -> Capture {
    Capture {
        device: DeviceInfo {
            name: "synthetic".to_owned(),
            compute_capability: Some((9, 0)),
            sm_count: 4,
            driver: "1.2".to_owned(),
            ..DeviceInfo::default()
        },
        modules: [module(Keep::First, None), module(Keep::Last, Some(4))]
            .map(|module| module.capture().expect("the sites are whole"))
            .into(),
        host: host(),
        record_cost: Some(RecordCost::uniform(7.1, 0.1 + 0.2)),
        resources: vec![ResourceEffect { kernel: "gemm".to_owned(), ..ResourceEffect::default() }],
        ..Capture::default()
    }
}

/// Checks that a capture has records of all kinds and sites of all kinds.
pub(crate) fn check_has_every_kind(capture: &Capture) {
    let units = capture.modules.iter().flat_map(|module| [&module.records, &module.lanes]);
    let stamps =
        units.flat_map(|units| units.chunks_exact(UNIT_BYTES as usize)).filter_map(|unit| {
            Stamp::unpack(u64::from_le_bytes(unit[8..].try_into().expect("8 bytes")))
        });
    let found: BTreeSet<u8> = stamps.map(|stamp| stamp.kind as u8).collect();
    let all = (0..=u8::MAX).filter(|kind| RecordKind::from_bits(*kind).is_some());
    assert_eq!(found, all.collect(), "kinds of records");
    let sites = capture.modules.iter().flat_map(|module| module.sites.sites());
    let found: BTreeSet<u8> = sites.map(|site| site.kind as u8).collect();
    let all = (0..=u8::MAX).filter(|kind| SiteKind::from_bits(*kind).is_some());
    assert_eq!(found, all.collect(), "kinds of sites");
}

/// Two threads of the host, one of which launches a kernel.
pub(crate) fn host() -> HostCapture {
    let span = |thread, name: &str, is_launch, start_ns, end_ns| HostRecord {
        thread,
        name: name.to_owned(),
        is_launch,
        start_ns,
        end_ns,
    };
    let pair = |host_ns, device_ns| ClockPair { host_ns, device_ns, uncertainty_ns: 0.1 + 0.2 };
    HostCapture {
        clock: vec![pair(1_000, 60_000), pair(11_000, 70_000)],
        threads: vec!["main".to_owned(), "a \"loader\"".to_owned()],
        spans: vec![
            span(0, "copy", false, 2_000, 3_000),
            span(1, "read", false, 500, 20_000),
            span(0, "kernel", true, 4_500, 4_900),
            span(0, "all", false, 1_500, 12_000),
        ],
    }
}

fn module(keep: Keep, lane_capacity: Option<u32>) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, 16);
    module.lane_capacity = lane_capacity;
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site_with_unit(SiteKind::Region, "region", "bytes");
    let mark = module.site(SiteKind::Mark, "mark");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    let names = module.names("TASK", &["copy", "compute"]);
    for block in 0..3_u32 {
        // 2 ticks a nanosecond.
        let entry = 1_000 + 100 * u64::from(block);
        let ns = |ticks: u64| 64_000 + (ticks - 1_000) / 2;
        let mut warp = SyntheticWarp::new(kernel, entry, ns(entry));
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [3, 1, 1];
        warp.header.sm = block;
        warp.header.block_dim = [8, 1, 1];
        for lane in [0, 7] {
            warp.lane(lane).begin(region, Some(2), entry + 10);
            for step in 0..3 {
                let start = entry + 20 + 10 * step;
                warp.range(region, None, start, start + 5);
                warp.attach(region, start + 5, Value::Float(1.5));
            }
            warp.range(names + 1, Some(3), entry + 30, entry + 90).mark(mark, Some(4), entry + 92);
            warp.range_unsigned(region, entry + 93, entry + 95, 7);
            warp.range_signed(region, entry + 91, entry + 98, -7);
            warp.anchor(entry + 100, ns(entry + 100));
            warp.watched(region, Some(2), entry + 12, entry + 102);
            warp.open(region, None, entry + 99, entry + 105);
            warp.begin(region, Some(5), entry + 106).end(region, Some(5), entry + 107);
            warp.value(signal, entry + 110, Value::Unsigned(1));
            warp.value(wait, entry + 120, Value::Signed(1));
        }
        warp.leave(2_000, ns(2_000));
        module.warps.push(warp);
    }
    module
}

/// One module with so many warps of one block each, that keep three regions.
pub(crate) fn of_warps(warps: u32) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    for block in 0..warps {
        let entry = 10_000 + 100 * u64::from(block);
        let mut warp = SyntheticWarp::new(kernel, entry, 64_000 + entry / 2);
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [warps, 1, 1];
        warp.header.sm = block % 132;
        for step in 0..3 {
            warp.range(region, None, entry + 10 * step, entry + 10 * step + 7);
        }
        warp.leave(entry + 60, 64_000 + (entry + 60) / 2);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

/// The file of a capture.
pub(crate) fn file(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).expect("a vector takes everything");
    bytes
}

/// Where the blocks of a whole file begin, and where it ends.
pub(crate) fn blocks(file: &[u8]) -> Vec<usize> {
    let sync = &file[..8];
    let begins = file.windows(8).enumerate().filter(|(_, window)| *window == sync);
    begins.map(|(at, _)| at).chain([file.len()]).collect()
}
