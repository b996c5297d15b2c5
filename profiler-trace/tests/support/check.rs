//! What holds of everything that was decoded, whatever from.

use std::num::NonZeroUsize;

use profiler_trace::{Capture, Decoder, Export, ExportOptions, GroupBy, Trace, Warp};

use crate::memory::within;
use exports::{json, written};

#[path = "consistent.rs"]
mod consistent;
#[path = "exports.rs"]
mod exports;
#[path = "figures.rs"]
mod figures;
#[path = "part.rs"]
mod part;

/// Bytes that anything may take, however small its input is.
pub const MEMORY_FLOOR: usize = 4 << 20;
/// Bytes that each byte of a capture may take in its trace, in an export, in a table.
pub const MEMORY_FACTOR: usize = 512;

/// Decodes a capture, checks the trace and one of what is made of traces, by `choice`.
pub fn capture(capture: &Capture, choice: u8) -> Trace {
    let memory = MEMORY_FLOOR + MEMORY_FACTOR * size(capture);
    let trace = within(memory, || profiler_trace::decode(capture));
    consistent::consistent(&trace);
    within(memory, || match choice % 8 {
        0 => timelines(&trace, choice / 8),
        1 => exports::profiles(&trace),
        2 => exports::events(&trace),
        3 => {
            figures::statistics(&trace, GroupBy::ALL[usize::from(choice / 8) % GroupBy::ALL.len()])
        }
        4 => figures::launches(&trace),
        5 => ways_of_decoding(capture, &trace, choice / 8),
        6 => costs(&trace),
        _ => {
            let sentences = trace.diagnostics.to_string();
            assert_eq!(sentences.lines().count(), trace.diagnostics.notable().count());
        }
    });
    trace
}

/// Bytes of a capture in memory.
#[must_use]
pub fn size(capture: &Capture) -> usize {
    let of_text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    capture
        .modules
        .iter()
        .map(|module| {
            let sites = module.sites.sites().iter();
            let sites = sites.map(|site| {
                let texts = site.name.len() + site.file.len() + site.module.len();
                64 + texts
                    + [&site.list, &site.unit, &site.symbol].map(of_text).iter().sum::<usize>()
            });
            let arrays = [&module.headers, &module.records, &module.lanes, &module.lane_counts];
            128 + sites.sum::<usize>() + arrays.map(Vec::len).iter().sum::<usize>()
        })
        .sum::<usize>()
        + capture.device.name.len()
        + capture.device.driver.len()
}

fn timelines(trace: &Trace, choice: u8) {
    let options = ExportOptions { by_sm: choice & 1 != 0, counters: choice & 2 == 0 };
    packets(&written(|bytes| trace.write_perfetto_to(bytes, &options)));
    let chrome = json(&written(|bytes| trace.write_chrome_to(bytes, &options)));
    assert!(chrome["traceEvents"].is_array());
}

/// A trace of Perfetto's is a row of packets: field 1, with a length.
fn packets(mut bytes: &[u8]) {
    while let Some((tag, after)) = bytes.split_first() {
        assert_eq!(*tag, 0x0a, "a packet");
        let (length, after) = varint(after);
        let (packet, after) = after.split_at_checked(length as usize).expect("a whole packet");
        fields(packet);
        bytes = after;
    }
}

fn varint(bytes: &[u8]) -> (u64, &[u8]) {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).expect("an end") + 1;
    assert!(length <= 10);
    let digits = bytes[..length].iter().rev();
    (digits.fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)), &bytes[length..])
}

fn fields(mut message: &[u8]) {
    while !message.is_empty() {
        let (tag, after) = varint(message);
        assert!(tag >> 3 > 0, "the number of a field");
        message = match tag & 7 {
            0 => varint(after).1,
            1 => after.get(8..).expect("8 bytes"),
            2 => {
                let (length, after) = varint(after);
                after.get(length as usize..).expect("a whole field")
            }
            5 => after.get(4..).expect("4 bytes"),
            kind => panic!("{kind} is no kind of field that is written"),
        };
    }
}

/// Values may be NaN, which equals nothing, but not its text.
fn text(trace: &Trace) -> String {
    format!("{trace:?}")
}

fn ways_of_decoding(capture: &Capture, trace: &Trace, choice: u8) {
    let threads = NonZeroUsize::new(3).expect("three");
    let decoder = Decoder::new(capture).threads(threads);
    assert_eq!(text(&decoder.trace()), text(trace));
    assert_eq!(decoder.warp_count(), trace.warps.len());
    let mut warps = trace.warps.iter();
    decoder.each_warp(|records| {
        let warp = warps.next().expect("as many warps");
        assert_eq!(format!("{:?}", records.to_warp()), format!("{warp:?}"));
    });
    let outline = decoder.outline();
    assert_eq!(outline.recorded(), trace.recorded());
    assert_eq!(outline.lost(), trace.lost());
    // Some warps are what the whole has of them.
    let takes = |warp: &Warp| match choice % 4 {
        0 => warp.launch > 0,
        1 => warp.block[0] % 2 == u32::from(choice / 4 % 2),
        2 => warp.exit.is_none(),
        _ => warp.warp == 0 && warp.sm < 4,
    };
    let some = Decoder::new(capture).only(takes);
    assert_eq!(text(&some.trace()), text(&part::part_of(trace, takes)));
    let options = ExportOptions::default();
    let streamed = written(|bytes| some.streamed().write_perfetto_to(bytes, &options));
    assert!(streamed == written(|bytes| some.trace().write_perfetto_to(bytes, &options)));
}

fn costs(trace: &Trace) {
    let mut trace = trace.clone();
    if trace.record_cost.is_none() {
        trace.record_cost = Some(profiler_trace::RecordCost::uniform(5.0, 20.0));
    }
    trace.subtract_record_cost();
    for region in trace.warps.iter().flat_map(|warp| &warp.regions) {
        assert!(region.end.is_none_or(|end| end.ns >= region.start.ns));
    }
}
