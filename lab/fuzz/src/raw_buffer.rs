//! What lies in device memory: slot headers, buffers of records, counts of lanes.

use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use profiler_trace::{Capture, ModuleCapture, SiteTable};
use profiler_wire::descriptor::{FLAG_LANES, LANE_STEP};
use profiler_wire::header::{self, EXIT_MARK, MAGIC};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{Descriptor, SiteKind, WIRE_VERSION};

use crate::check;

/// Bytes that say how the rest is to be laid out.
const LAYOUT: usize = 6;
/// Bytes of 32 counts.
const COUNTS: usize = 256;

/// The sites of the buffers: a kernel, regions, a signal, a wait, a mark, a list of names.
///
/// # Panics
///
/// Never: they are known.
#[must_use]
pub fn sites() -> SiteTable {
    let mut module = SyntheticModule::new(Keep::First, 0);
    module.site(SiteKind::Kernel, "kernel");
    module.site(SiteKind::Region, "outer");
    module.site_with_unit(SiteKind::Region, "inner", "bytes");
    module.site(SiteKind::Signal, "s");
    module.site(SiteKind::Wait, "s");
    module.site(SiteKind::Mark, "mark");
    module.names("TASK", &["copy", "compute"]);
    module.sites().expect("the sites are whole")
}

/// A buffer in the layout that the first bytes ask for: keep first or last, with or without other
/// lanes, the capacity of both kinds of buffers, how many slots; of the rest the headers, lane 0's
/// buffers, the other lanes' and their counts, as far as it reaches. The wire version is that of the first
/// header, if it is one that is read.
#[must_use]
pub fn module(bytes: &[u8]) -> ModuleCapture {
    let mut layout = [0; LAYOUT];
    let known = bytes.len().min(LAYOUT);
    layout[..known].copy_from_slice(&bytes[..known]);
    let [flags, capacity, lane_capacity, slots, choice, _] = layout;
    let (keeps_last, has_lanes, repairs) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
    let slots = usize::from(slots % 16);
    let layout = |capacity: u8, step: u32| {
        if keeps_last {
            let bytes = step << (capacity % 7);
            (bytes - 1, u32::MAX, bytes.trailing_zeros())
        } else {
            let bytes = step * u32::from(capacity % 64);
            (u32::MAX, bytes, bytes.next_power_of_two().trailing_zeros())
        }
    };
    let (record_mask, record_limit, record_shift) = layout(capacity, UNIT_BYTES);
    let (lane_mask, lane_limit, lane_shift) = layout(lane_capacity, LANE_STEP);
    let mut rest = &bytes[known..];
    let mut take = |length: usize| {
        let (taken, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        taken.to_vec()
    };
    let headers = take(slots * header::BYTES);
    let mut module = ModuleCapture {
        sites: sites(),
        descriptor: Descriptor {
            version: WIRE_VERSION,
            flags: if has_lanes { FLAG_LANES } else { 0 },
            record_mask,
            record_limit,
            record_shift,
            lane_mask,
            lane_limit,
            lane_shift,
            slot_count: slots as u32,
            ..Descriptor::default()
        },
        headers,
        records: take(slots << record_shift),
        ..ModuleCapture::default()
    };
    if has_lanes {
        // The counts first, as the buffers are far longer than any input.
        module.lane_counts = take(slots * COUNTS);
        module.lanes = take(slots << lane_shift);
    }
    if repairs {
        for (slot, header) in module.headers.chunks_exact_mut(header::BYTES).enumerate() {
            header[16..20].copy_from_slice(&(MAGIC | WIRE_VERSION).to_le_bytes());
            header[20..23].copy_from_slice(&[1, 0, 0]);
            if choice >> (slot % 8) & 1 != 0 {
                header[88..96].copy_from_slice(&EXIT_MARK.to_le_bytes());
            }
        }
    }
    module
}

/// Decodes a buffer, and checks what comes out.
///
/// # Panics
///
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    let choice = bytes.get(LAYOUT - 1).copied().unwrap_or(0);
    check::capture(&Capture { modules: vec![module(bytes)], ..Capture::default() }, choice);
}
