//! No bytes make the decoder panic, and whatever it returns is consistent.

use crate::consistent;

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, ModuleCapture, Trace, Value, decode};
use profiler_wire::{Descriptor, SiteKind};
use proptest::prelude::*;

fn whole(keep: Keep) -> Capture {
    let mut module = SyntheticModule::new(keep, 8);
    module.lane_capacity = Some(4);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    let signal = module.site(SiteKind::Signal, "s");
    let wait = module.site(SiteKind::Wait, "s");
    for block in 0..3_u32 {
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        warp.header.block = [block, 0, 0];
        warp.header.sm = block;
        for lane in [0, 7] {
            warp.lane(lane).begin(region, Some(2), 1_010);
            for step in 0..5 {
                let start = 1_020 + 10 * step;
                warp.range(region, None, start, start + 5);
                warp.attach(region, start + 5, Value::Float(1.5));
            }
            warp.range(region, Some(3), 1_030, 1_090).anchor(1_095, 64_096);
            warp.end(region, Some(2), 1_100).value(signal, 1_110, Value::Unsigned(1));
            warp.value(wait, 1_120, Value::Signed(1));
        }
        warp.leave(2_000, 65_000);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

/// What holds of every trace.
fn check(mut trace: Trace) {
    consistent::consistent(&trace);
    let sentences = trace.diagnostics.to_string();
    assert_eq!(sentences.lines().count(), trace.diagnostics.notable().count());
    trace.record_cost = Some(profiler_trace::RecordCost::uniform(5.0, 20.0));
    let merged = Trace::merge([trace.clone(), trace.clone()]);
    assert_eq!(merged.recorded(), 2 * trace.recorded());
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
    assert_eq!((trace.warps.len(), trace.launches.len()), (3, 1));
    check(trace);
    check(decode(&Capture::default()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn altered_bytes(
        last: bool,
        changes in prop::collection::vec((0_usize..4, any::<prop::sample::Index>(), any::<u8>()), 0..30),
        cuts in prop::collection::vec((0_usize..4, any::<prop::sample::Index>()), 0..2),
    ) {
        let mut capture = whole(if last { Keep::Last } else { Keep::First });
        for (array, at, byte) in changes {
            let array = &mut *arrays(&mut capture.modules[0])[array];
            let at = at.index(array.len());
            array[at] = byte;
        }
        for (array, at) in cuts {
            let array = &mut *arrays(&mut capture.modules[0])[array];
            array.truncate(at.index(array.len()));
        }
        check(decode(&capture));
    }

    #[test]
    fn random_buffers_after_whole_headers(last: bool, seed in prop::collection::vec(any::<u64>(), 16)) {
        let mut capture = whole(if last { Keep::Last } else { Keep::First });
        for array in &mut arrays(&mut capture.modules[0])[1..] {
            for (index, word) in array.chunks_mut(8).enumerate() {
                let mixed = seed[index % 16].wrapping_mul(index as u64 | 1).rotate_left(index as u32);
                word.copy_from_slice(&mixed.to_le_bytes()[..word.len()]);
            }
        }
        check(decode(&capture));
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
        check(decode(&Capture { modules: vec![module], ..Capture::default() }));
    }
}
