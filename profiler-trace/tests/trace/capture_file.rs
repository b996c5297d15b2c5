//! A capture file gives back what was written.

use crate::captures;

use std::path::Path;

use captures::{file, of_warps, small};
use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use profiler_trace::{
    Buffer, Capture, CaptureEnd, DeviceInfo, FormCosts, HostCapture, KernelResources,
    ModuleCapture, RecordCost, ResourceEffect, StampCost, StampWait, StampWaits, decode,
};
use profiler_wire::descriptor::{self, Lost};
use profiler_wire::{Descriptor, SiteEntry, SiteKind, Strategy as Recorder};
use proptest::prelude::*;

fn check_round_trip(capture: &Capture) {
    let read = Capture::read_from(file(capture).as_slice()).expect("a whole file");
    assert_eq!(read, *capture);
    assert_eq!(decode(&read), decode(capture));
}

#[test]
fn small_ones_and_some_of_several_parts_come_back() {
    check_round_trip(&Capture::default());
    check_round_trip(&small());
    check_round_trip(&of_warps(20_000));
}

#[test]
fn a_file_on_disk_comes_back() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("small.capture");
    small().write(&path).expect("the folder is there");
    assert_eq!(Capture::read(&path).expect("it was just written"), small());
    let gone = path.with_extension("none");
    let error = Capture::read(&gone).expect_err("there is none").to_string();
    let expected = format!("{}: the capture cannot be read: ", gone.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[test]
fn a_writer_that_fails_is_an_error() {
    let mut buffer = [0_u8; 100];
    let error = small().write_to(buffer.as_mut_slice()).expect_err("100 bytes are too few");
    assert_eq!(error.kind(), std::io::ErrorKind::WriteZero);
}

#[test]
fn a_reader_may_give_little_at_a_time() {
    struct Slow<'b>(&'b [u8]);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let few = into.len().min(7);
            self.0.read(&mut into[..few])
        }
    }
    let bytes = file(&small());
    assert_eq!(Capture::read_from(Slow(&bytes)).expect("a whole file"), small());
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>().prop_filter("equal to itself", |x| !x.is_nan()), Just(f64::INFINITY)]
}

fn costs() -> impl Strategy<Value = FormCosts> {
    let stamp = (number(), number())
        .prop_map(|(before_ticks, after_ticks)| StampCost { before_ticks, after_ticks });
    let wait = || {
        (number(), number())
            .prop_map(|(mean_ticks, most_ticks)| StampWait { mean_ticks, most_ticks })
    };
    let waits = [wait(), wait(), wait(), wait()]
        .prop_map(|[nested, begin, end, record]| StampWaits { nested, begin, end, record });
    (prop::collection::vec(stamp, 5), waits).prop_map(|(stamps, waits)| FormCosts {
        region_begin: stamps[0],
        region_end: stamps[1],
        mark: stamps[2],
        value: stamps[3],
        anchor: stamps[4],
        waits,
    })
}

fn device() -> impl Strategy<Value = DeviceInfo> {
    (
        any::<String>(),
        any::<bool>(),
        prop::option::of(any::<(u32, u32)>()),
        any::<u32>(),
        any::<String>(),
        prop::option::of(number()),
    )
        .prop_map(|(name, emulated, compute_capability, sm_count, driver, clock_mhz)| {
            DeviceInfo { name, emulated, compute_capability, sm_count, driver, clock_mhz }
        })
}

fn module() -> impl Strategy<Value = ModuleCapture> {
    let kinds =
        [SiteKind::Kernel, SiteKind::Region, SiteKind::Mark, SiteKind::Signal, SiteKind::Wait];
    let recorders = [Recorder::Elected, Recorder::WarpIndex(200), Recorder::Thread, Recorder::When];
    let site = (
        prop::sample::select(kinds.to_vec()),
        "\\PC{0,8}",
        "\\PC{0,4}",
        any::<u32>(),
        prop::option::of(prop::sample::select(recorders.to_vec())),
    );
    let array = || (prop::collection::vec(any::<u8>(), 0..300), 0_usize..9);
    (
        prop::collection::vec(site, 0..6),
        prop::collection::vec("\\PC{0,5}", 0..4),
        prop::collection::vec(any::<u8>(), descriptor::BYTES),
        any::<(u64, u64, u64)>(),
        [array(), array(), array(), array()],
    )
        .prop_map(|(sites, names, bytes, (warps, units, attachments), arrays)| {
            let mut module = SyntheticModule::new(Keep::First, 4);
            for (kind, name, unit, line, recorder) in &sites {
                let mut entry =
                    SiteEntry::new(*kind, name, "src/kernel.rs", "gpu::kernel", *line, 5);
                entry.unit = unit;
                if let Some(recorder) = recorder {
                    entry.strategy = recorder.code();
                }
                if *kind == SiteKind::Kernel {
                    entry.symbol = name;
                    entry.buffer = Buffer::ALL[*line as usize % 2];
                }
                module.site_entry(&entry, &[]);
            }
            module.names("TASK", &names.iter().map(String::as_str).collect::<Vec<_>>());
            let bytes = std::array::from_fn(|index| bytes[index]);
            let [headers, records, lanes, lane_counts] =
                arrays.map(|(bytes, times)| bytes.repeat(times));
            ModuleCapture {
                sites: module.sites().expect("the entries are whole"),
                descriptor: Descriptor::from_bytes(&bytes),
                headers,
                records,
                lanes,
                lane_counts,
                lost: Lost { warps, units, attachments },
            }
        })
}

fn resource_effect() -> impl Strategy<Value = ResourceEffect> {
    let resources = || {
        any::<[u32; 4]>().prop_map(|[registers, local_bytes, shared_bytes, blocks_per_sm]| {
            KernelResources { registers, local_bytes, shared_bytes, blocks_per_sm }
        })
    };
    (any::<String>(), any::<[u32; 3]>(), any::<u32>(), resources(), resources()).prop_map(
        |(kernel, block, dynamic_shared_bytes, without, with)| ResourceEffect {
            kernel,
            block,
            dynamic_shared_bytes,
            without,
            with,
        },
    )
}

proptest! {
    #[test]
    fn every_field_comes_back(
        device in device(),
        modules in prop::collection::vec(module(), 0..3),
        costs in prop::option::of((costs(), costs())),
        has_host in any::<bool>(),
        resources in prop::collection::vec(resource_effect(), 0..3),
        end in prop_oneof![
            Just(CaptureEnd::Finished),
            Just(CaptureEnd::Running),
            any::<u32>().prop_map(|code| CaptureEnd::Failed { code }),
        ],
    ) {
        let record_cost = costs.map(|(one_lane, elected)| RecordCost { one_lane, elected });
        let capture = Capture {
            device,
            modules,
            record_cost,
            resources,
            end,
            host: if has_host { captures::host() } else { HostCapture::default() },
        };
        let read = Capture::read_from(file(&capture).as_slice()).expect("a whole file");
        prop_assert_eq!(read, capture);
    }
}
