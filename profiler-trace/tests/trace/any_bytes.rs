//! No bytes make the decoder panic, and whatever it returns is consistent.

use crate::consistent;
use crate::figures;

use profiler_test_tools::quick_or_all;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::diff::{DiffOptions, diff};
use profiler_trace::{Capture, GroupBy, ModuleCapture, Trace, Value, decode};
use profiler_wire::{Descriptor, SiteKind};
use proptest::prelude::*;

/// Four blocks on two SMs, one after the other, with nested and crossing regions, two recording
/// lanes, and signals and waits between the two warps of a block.
fn whole(keep: Keep) -> Capture {
    let mut module = SyntheticModule::new(keep, 32);
    module.lane_capacity = Some(32);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let outer = module.site(SiteKind::Region, "outer");
    let inner = module.site(SiteKind::Region, "wait");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    for number in 0..8_u32 {
        let (block, index) = (number / 2, number % 2);
        let from = 1_000 + 1_500 * u64::from(block / 2);
        let mut warp = SyntheticWarp::new(kernel, from, 63_000 + from);
        warp.header.block = [block, 0, 0];
        warp.header.grid_dim = [4, 1, 1];
        warp.header.block_dim = [64, 1, 1];
        warp.header.warp = index;
        warp.header.sm = block % 2;
        for lane in [0, 7] {
            warp.lane(lane).begin(outer, Some(2), from + 5);
            for step in 0..4 {
                let start = from + 20 + 100 * step;
                warp.range(inner, None, start + 10, start + 40);
                let key = Value::Unsigned(step);
                warp.value(if index == 0 { signal } else { wait }, start + 42, key);
                let end = start + 60 + 7 * u64::from(number);
                warp.range(outer, None, start, end).attach(outer, end, Value::Float(1.5));
            }
            warp.anchor(from + 690, 63_690 + from);
            warp.end(outer, Some(2), from + 700);
        }
        warp.leave(from + 1_000, 64_000 + from);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

/// What holds of every trace, and of its figures by some grouping.
fn check(mut trace: Trace, by: GroupBy) {
    consistent::consistent(&trace);
    let sentences = trace.diagnostics.to_string();
    assert_eq!(sentences.lines().count(), trace.diagnostics.notable().count());
    figures::statistics(&trace, by);
    figures::launches(&trace);
    let side = std::slice::from_ref(&trace);
    let same = diff(side, side, &DiffOptions::default()).expect("usable options");
    let json = same.to_json();
    let is_same = |row: &serde_json::Value| {
        ["no-change", "too-few", "other-clock"].iter().any(|verdict| row["verdict"] == *verdict)
    };
    assert!(json["rows"].as_array().expect("rows").iter().all(is_same), "{same}");
    assert!(!same.to_string().contains("NaN") && !json.to_string().contains("NaN"));
    trace.record_cost = Some(profiler_trace::RecordCost::uniform(5.0, 20.0));
    trace.subtract_record_cost();
}

fn arrays(module: &mut ModuleCapture) -> [&mut Vec<u8>; 4] {
    [&mut module.headers, &mut module.records, &mut module.lanes, &mut module.lane_counts]
}

#[test]
fn a_whole_capture_has_nothing_to_say() {
    let mut capture = whole(Keep::Last);
    capture.modules.push(ModuleCapture::default());
    let trace = decode(&capture);
    assert_eq!((trace.warps.len(), trace.launches.len(), trace.edges.len()), (8, 1, 32));
    assert!(
        trace
            .critical_path(0)
            .is_some_and(|path| path.to_json()["following_blocks"].as_u64() > Some(0))
    );
    check(trace, GroupBy::Site);
    check(decode(&Capture::default()), GroupBy::Site);
}

fn keep() -> impl Strategy<Value = Keep> {
    prop::sample::select(vec![Keep::First, Keep::Last])
}

fn group() -> impl Strategy<Value = GroupBy> {
    prop::sample::select(GroupBy::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(quick_or_all(64, 256)))]

    #[test]
    fn altered_bytes(
        (keep, by) in (keep(), group()),
        changes in prop::collection::vec((0_usize..4, any::<prop::sample::Index>(), any::<u8>()), 0..40),
        cuts in prop::collection::vec((0_usize..4, any::<prop::sample::Index>()), 0..2),
    ) {
        let mut capture = whole(keep);
        let arrays = arrays(&mut capture.modules[0]);
        for (array, at, byte) in changes {
            let at = at.index(arrays[array].len());
            arrays[array][at] = byte;
        }
        for (array, at) in cuts {
            let at = at.index(arrays[array].len());
            arrays[array].truncate(at);
        }
        check(decode(&capture), by);
    }

    #[test]
    fn random_buffers_after_whole_headers(
        (keep, by) in (keep(), group()),
        seed in prop::collection::vec(any::<u64>(), 16),
    ) {
        let mut capture = whole(keep);
        for array in &mut arrays(&mut capture.modules[0])[1..] {
            for (index, word) in array.chunks_mut(8).enumerate() {
                let mixed = seed[index % 16].wrapping_mul(index as u64 | 1).rotate_left(index as u32);
                word.copy_from_slice(&mixed.to_le_bytes()[..word.len()]);
            }
        }
        check(decode(&capture), by);
    }

    #[test]
    fn random_bytes_and_descriptors(
        arrays in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 4),
        descriptor in prop::array::uniform32(any::<u32>()),
        whole_version: bool,
    ) {
        let mut bytes = [0; 128];
        for (word, number) in bytes.chunks_mut(4).zip(descriptor) {
            word.copy_from_slice(&(number >> (number % 32)).to_le_bytes());
        }
        let mut module = whole(Keep::First).modules.remove(0);
        module.descriptor = Descriptor::from_bytes(&bytes);
        if whole_version {
            module.descriptor.version = profiler_wire::WIRE_VERSION;
        } else {
            module.headers.clone_from(&arrays[0]);
        }
        module.records.clone_from(&arrays[1]);
        module.lanes.clone_from(&arrays[2]);
        module.lane_counts.clone_from(&arrays[3]);
        check(decode(&Capture { modules: vec![module], ..Capture::default() }), GroupBy::Site);
    }
}
