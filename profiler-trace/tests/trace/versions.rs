//! Committed captures stay readable, and code of other wire versions is refused.
//!
//! `tests/data/kinds-v1.capture` holds every kind of record, site, strategy and clock of format version
//! 1 and wire version 1. It is never written again: a new version gets a file beside it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use profiler_trace::{Capture, SiteTable, SiteTableError, Trace, decode};
use profiler_wire::header::{self, SlotHeader};
use profiler_wire::{SiteKind, WIRE_VERSION};

use crate::captures::check_has_every_kind;

/// The committed file with this ending.
fn data(ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("kinds-v1.{ending}"))
}

/// The committed capture.
fn read() -> Capture {
    Capture::read(data("capture")).expect("it stays readable")
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
    for said in &trace.diagnostics.list {
        line(format!("{} {} {} {:?}", said.kind.name(), said.count, said.number, said.place));
    }
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
    check_has_every_kind(&capture);
    let mut clocks = BTreeSet::new();
    for module in &capture.modules {
        assert_eq!(module.descriptor.version, WIRE_VERSION);
        for bytes in module.headers.chunks_exact(header::BYTES) {
            let words = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            let words: Vec<u64> = words.collect();
            let header = SlotHeader::unpack(words.as_slice().try_into().expect("all words"));
            assert!(header.is_none_or(|header| header.version == WIRE_VERSION));
            clocks.extend(header.map(|header| header.record_clock as u8));
        }
    }
    assert_eq!(clocks, BTreeSet::from([0, 1]));
    let trace = decode(&capture);
    assert!(trace.lost() > 0 && trace.recorded() > 0 && !trace.edges.is_empty());
}

/// The PTX of kernels that were built with another wire version, older or newer.
fn ptx_of(version: u32) -> String {
    let own = format!("__profiler_descriptor_v{WIRE_VERSION}");
    let other = format!("__profiler_descriptor_v{version}");
    let mut module = SyntheticModule::new(Keep::First, 4);
    module.site(SiteKind::Kernel, "kernel");
    let mut entry = module.entries()[0].clone();
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
