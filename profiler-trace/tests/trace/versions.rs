//! Committed captures stay readable, and code of other wire versions is refused.
//!
//! `tests/data/kinds-v1.capture` holds every kind of record, site, strategy and clock of format version
//! 1 and wire version 1. It is never written again: a new version gets a file beside it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, DeviceInfo, DiagnosticKind, RecordCost, SiteTable, SiteTableError, Trace, Value,
    decode,
};
use profiler_wire::header::{self, Clock, SlotHeader};
use profiler_wire::record::{RecordKind, Stamp, UNIT_BYTES};
use profiler_wire::{SiteEntry, SiteKind, Strategy, WIRE_VERSION};

/// Modules with all kinds of records. One keeps the first records of lane 0, stamped by
/// `%globaltimer`, and lost some; another one keeps the last of all lanes, stamped by cycles. Two hold
/// regions that were never ended, two regions with their values, and two regions with begins of their own.
fn kinds() -> Capture {
    let mut modules = vec![module(Keep::First, None), module(Keep::Last, Some(4))];
    for of in [open, with_values, watched] {
        modules.extend([Keep::First, Keep::Last].map(of));
    }
    Capture {
        device: DeviceInfo {
            name: "made up".to_owned(),
            compute_capability: Some((9, 0)),
            sm_count: 3,
            driver: "CUDA 13.0".to_owned(),
            clock_mhz: Some(2000.0),
            ..DeviceInfo::default()
        },
        modules: modules
            .iter()
            .map(|module| module.capture().expect("the sites are whole"))
            .collect(),
        record_cost: Some(RecordCost::uniform(8.0, 0.5)),
        ..Capture::default()
    }
}

fn module(keep: Keep, lanes: Option<u32>) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, 16);
    module.lane_capacity = lanes;
    let mut entry = SiteEntry::new(SiteKind::Kernel, "kernel", "src/lib.rs", "kernels", 10, 1);
    entry.symbol = "kernel";
    (entry.max_threads, entry.min_blocks, entry.max_registers) = (256, 2, 64);
    let kernel = module.site_entry(&entry, &[]);
    let strategies = [
        Strategy::Warp,
        Strategy::Block,
        Strategy::WarpIndex(3),
        Strategy::WarpGroup,
        Strategy::Elected,
        Strategy::Thread,
        Strategy::When,
    ];
    let regions: Vec<u32> = (20..)
        .zip(strategies)
        .map(|(line, strategy)| {
            let name = format!("{strategy:?}");
            let mut entry =
                SiteEntry::new(SiteKind::Region, &name, "src/lib.rs", "kernels", line, 5);
            entry.strategy = strategy.code();
            entry.unit = "bytes";
            module.site_entry(&entry, &[])
        })
        .collect();
    let mark = module.site(SiteKind::Mark, "mark");
    let signal = module.site(SiteKind::Signal, "arrow");
    let wait = module.site(SiteKind::Wait, "arrow");
    let names = module.names("TASK", &["copy", "compute"]);
    for block in 0..3_u32 {
        // 2 cycles a nanosecond; by the timer, ticks are nanoseconds.
        let entry = 100_000 + 1_000 * u64::from(block);
        let mut warp = SyntheticWarp::new(kernel, entry, entry / 2);
        let by_timer = lanes.is_none();
        let ticks = |cycles: u64| if by_timer { (entry + cycles) / 2 } else { entry + cycles };
        if by_timer {
            warp.header.record_clock = Clock::GlobalTimer;
        }
        warp.header.grid_id = 7;
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [3, 1, 1];
        warp.header.block_dim = [32, 1, 1];
        warp.header.sm = block;
        warp.header.cluster_rank = Some(block);
        warp.header.track = 5;
        warp.header.strategy = u32::from(strategies[2 * block as usize].code());
        let recording = if by_timer { vec![0] } else { vec![0, 7, 31] };
        for lane in recording {
            warp.lane(lane).begin(regions[1], Some(2), ticks(10));
            for (index, value) in [Value::Unsigned(u64::MAX), Value::Signed(-5), Value::Float(1.5)]
                .into_iter()
                .enumerate()
            {
                let start = ticks(20 + 40 * index as u64);
                let end = ticks(40 + 40 * index as u64);
                warp.range(regions[index], None, start, end).attach(regions[index], end, value);
            }
            warp.range(names + 1, Some(3), ticks(20), ticks(150));
            warp.mark(mark, None, ticks(160)).mark(mark, Some(4), ticks(170));
            warp.anchor(entry + 180, (entry + 180) / 2);
            warp.value(signal, ticks(190), Value::Unsigned(9));
            warp.value(wait, ticks(200), Value::Signed(9));
            warp.end(regions[1], Some(2), ticks(210));
            // Never ended.
            warp.begin(regions[6], None, ticks(220));
        }
        // The last one never left.
        if block < 2 {
            warp.leave(entry + 400, (entry + 400) / 2);
        }
        module.warps.push(warp);
    }
    module
}

/// Regions that were never ended: on the warp's own track and on another one, within others and
/// across them, of which the first, or the last, finds no buffer.
fn open(keep: Keep) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, 4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(kernel, 100_000, 50_000);
    warp.range(region, None, 100_010, 100_020)
        .open(region, Some(2), 100_015, 100_030)
        .range(region, Some(2), 100_020, 100_040)
        .open(region, None, 100_000, 100_050)
        .open(region, None, 100_045, 100_050)
        .leave(100_060, 50_030);
    module.warps.push(warp);
    module
}

/// Regions that hold their values, beside such that do not, of which the first, or the last, finds no buffer.
fn with_values(keep: Keep) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, 4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(kernel, 100_000, 50_000);
    warp.range_unsigned(region, 100_015, 100_020, u16::MAX)
        .range_signed(region, 100_012, 100_020, i16::MIN)
        .range(region, None, 100_030, 100_040)
        .range_signed(region, 100_010, 100_045, 7)
        .range_unsigned(region, 100_005, 100_050, 0)
        .leave(100_060, 50_030);
    module.warps.push(warp);
    module
}

/// Regions with begins of their own, nested, crossing and on a track, with a value and without, of which the
/// first, or the last, find no buffer.
fn watched(keep: Keep) -> SyntheticModule {
    let mut module = SyntheticModule::new(keep, 8);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let mut warp = SyntheticWarp::new(kernel, 100_000, 50_000);
    warp.begin(region, None, 100_005)
        .begin(region, None, 100_010)
        .begin(region, Some(2), 100_015)
        .watched(region, None, 100_011, 100_020)
        .watched(region, None, 100_007, 100_025)
        .attach(region, 100_025, Value::Float(0.5))
        .watched(region, Some(2), 100_015, 100_030)
        .begin(region, None, 100_035)
        .begin(region, None, 100_040)
        .watched(region, None, 100_036, 100_045)
        .watched(region, None, 100_041, 100_050)
        .leave(100_060, 50_030);
    module.warps.push(warp);
    module
}

/// The committed file with this ending.
fn data(ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("kinds-v1.{ending}"))
}

/// The committed capture.
fn read() -> Capture {
    let (capture, damage) = Capture::read(data("capture")).expect("it stays readable");
    assert_eq!(damage, []);
    capture
}

/// All that was decoded, a line each.
fn summary(trace: &Trace) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes everything");
    line(format!("{:?}", trace.device));
    for site in &trace.sites {
        line(format!("{:?} {} {:?} {:?}", site.kind, site.name, site.unit, site.strategy));
    }
    for launch in &trace.launches {
        line(format!(
            "launch {} of {:?} x {:?}",
            launch.grid_id, launch.grid_dim, launch.block_dim
        ));
    }
    for warp in &trace.warps {
        let exit = warp.exit.map(|exit| exit.ticks);
        line(format!(
            "block {:?} SM {} track {:?} from {} to {exit:?}: {} recorded, {} lost",
            warp.block, warp.sm, warp.track, warp.entry.ticks, warp.recorded, warp.lost
        ));
        for region in &warp.regions {
            line(format!(
                "  {} lane {} track {:?} depth {} from {} to {:?}: {:?}",
                trace.site(region.site).name,
                region.lane,
                region.track,
                region.depth,
                region.start.ticks,
                region.end.map(|end| end.ticks),
                region.value
            ));
        }
        for mark in &warp.marks {
            let name = &trace.site(mark.site).name;
            let (lane, track, ticks, value) = (mark.lane, mark.track, mark.time.ticks, mark.value);
            line(format!("  {name} lane {lane} track {track:?} at {ticks}: {value:?}"));
        }
        for anchor in &warp.anchors {
            line(format!("  anchor of lane {} at {}", anchor.lane, anchor.time.ticks));
        }
    }
    line(format!("{} arrows", trace.edges.len()));
    line(trace.diagnostics.to_string());
    text
}

#[test]
fn a_file_with_every_kind_is_read() {
    expect_file![data("txt")].assert_eq(&summary(&decode(&read())));
}

/// The file is complete, so that nothing of its version can become unreadable unseen.
#[test]
fn the_file_has_every_kind() {
    let capture = read();
    let mut kinds = BTreeSet::new();
    let mut clocks = BTreeSet::new();
    for module in &capture.modules {
        assert_eq!(module.descriptor.version, WIRE_VERSION);
        for unit in [&module.records, &module.lanes]
            .into_iter()
            .flat_map(|records| records.chunks_exact(UNIT_BYTES as usize))
        {
            let word = u64::from_le_bytes(unit[8..].try_into().expect("8 bytes"));
            kinds.extend(Stamp::unpack(word).map(|stamp| stamp.kind as u8));
        }
        for bytes in module.headers.chunks_exact(header::BYTES) {
            let words: Vec<u64> = bytes
                .chunks_exact(8)
                .map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes")))
                .collect();
            let header = SlotHeader::unpack(words.as_slice().try_into().expect("all words"));
            assert!(header.is_none_or(|header| header.version == WIRE_VERSION));
            clocks.extend(header.map(|header| header.record_clock as u8));
        }
    }
    let all = BTreeSet::from(RecordKind::ALL.map(|kind| kind as u8));
    assert_eq!((kinds, clocks), (all, BTreeSet::from([0, 1])));
    let trace = decode(&capture);
    for number in (0..=u8::MAX).filter_map(SiteKind::from_bits) {
        assert!(trace.sites.iter().any(|site| site.kind == number), "{number:?}");
    }
    assert!(trace.lost() > 0 && trace.recorded() > 0 && !trace.edges.is_empty());
}

/// Whoever changes what bytes mean must raise the version.
#[test]
fn the_bytes_mean_what_they_meant() {
    assert_eq!(read(), kinds());
}

#[test]
#[ignore = "writes the file if it is not there yet"]
fn write_the_file() {
    let path = data("capture");
    if !path.exists() {
        kinds().write(path).expect("the folder is there");
    }
}

#[test]
fn a_capture_that_is_written_again_is_the_same() {
    let mut file = Vec::new();
    let capture = read();
    capture.write_to(&mut file).expect("a vector takes everything");
    let (again, damage) = Capture::read_from(file.as_slice()).expect("it was just written");
    assert_eq!((again, damage), (capture, Vec::new()));
}

/// A kernel records only for a host of its own version, so that its headers and the descriptor agree.
#[test]
fn slots_of_another_version_than_their_descriptor_are_left_out() {
    for version in [WIRE_VERSION, 0, WIRE_VERSION + 1] {
        let mut module = open(Keep::First);
        module.warps[0].header.version = version;
        let trace = decode(&Capture {
            modules: vec![module.capture().expect("the sites are whole")],
            ..Capture::default()
        });
        let refused = u64::from(version != WIRE_VERSION);
        assert_eq!(trace.diagnostics.count(DiagnosticKind::HeaderVersion), refused);
        assert_eq!(trace.warps.len() as u64, 1 - refused);
    }
}

/// The PTX of kernels that were built with another wire version, older or newer.
fn ptx_of(version: u32) -> String {
    let own = format!("__profiler_descriptor_v{WIRE_VERSION}");
    let other = format!("__profiler_descriptor_v{version}");
    let mut entry = module(Keep::First, None).entries()[0].clone();
    entry[4] = u8::try_from(version).expect("a small version");
    let list: Vec<String> = entry.iter().map(ToString::to_string).collect();
    let text = format!(
        ".version 7.8\n.target sm_80\n.const .align 16 .b8 {own}[128];\n\
         .visible .global .align 1 .b8 a__PROFILER_SITE[{}] = {{{}}};\n",
        list.len(),
        list.join(", ")
    );
    text.replace(&own, &other)
}

#[test]
fn kernels_of_another_version_are_refused_with_both_named_and_help() {
    assert_eq!(SiteTable::from_ptx(&ptx_of(WIRE_VERSION)).expect("the own version").len(), 1);
    let own = format!("version {WIRE_VERSION}");
    let check = |ptx: &str, found: &str| {
        let error = SiteTable::from_ptx(ptx).expect_err("another version");
        assert!(
            matches!(
                error,
                SiteTableError::DescriptorVersion { .. } | SiteTableError::EntryVersion { .. }
            ),
            "{error:?}"
        );
        let text = error.to_string();
        for part in [found, &own, "build the kernels with the same version of the profiler"] {
            assert!(text.contains(part), "`{part}` is not in: {text}");
        }
    };
    for other in [0, WIRE_VERSION + 1, 255] {
        let ptx = ptx_of(other);
        check(&ptx, &format!("descriptor_v{other}"));
        // Only the descriptor, and only the entries.
        let descriptor: String = ptx.lines().filter(|line| !line.contains("SITE")).collect();
        check(&descriptor, &format!("descriptor_v{other}"));
        let entries: Vec<&str> = ptx.lines().filter(|line| !line.contains("descriptor")).collect();
        check(&entries.join("\n"), &format!("version {other}"));
        // Kernels of both versions in one module.
        let both = format!("{}\n{}", ptx_of(WIRE_VERSION), entries.join("\n"));
        check(&both, &format!("version {other}"));
    }
}
