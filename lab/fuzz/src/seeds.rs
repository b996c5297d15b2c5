//! The inputs that the targets begin with.

use profiler_test_tools::synthetic::{Keep, SyntheticModule};
use profiler_trace::{Capture, KeptClock, ModuleCapture};
use profiler_wire::symbol::SITE_STATIC;
use profiler_wire::{SiteKind, WIRE_VERSION, header};

use crate::capture_content::sample;
use crate::{capture_file, ptx_process, site_table};

/// A file of a corpus: the target, the file's name, what it holds.
pub type Seed = (&'static str, String, Vec<u8>);

/// All of them.
///
/// # Panics
///
/// Never: what they are made of is known.
#[must_use]
pub fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let capture = sample();
    let mut file = Vec::new();
    capture.write_to(&mut file).expect("a vector takes all");
    seeds.push(("capture_file", "sample".to_owned(), file.clone()));
    seeds.push(("capture_file", "plain".to_owned(), capture_file::unpacked(&file)));
    let readings = [900, 1_400, 2_100].map(|ticks| (ticks, 64_000 + ticks / 2));
    let clock = KeptClock { sm: 0, readings: readings.to_vec(), ended: true };
    let clocks = ModuleCapture::of_clocks(&[clock]).expect("the site is whole");
    let with_clocks =
        Capture { modules: [capture.modules.clone(), vec![clocks]].concat(), ..capture.clone() };
    let mut file = Vec::new();
    with_clocks.write_to(&mut file).expect("a vector takes all");
    seeds.push(("capture_file", "clocks".to_owned(), file));
    for (index, module) in (0_u8..).zip(&capture.modules) {
        let ring = u8::from(module.descriptor.record_mask != u32::MAX);
        let lanes = u8::from(!module.lanes.is_empty()) << 1;
        let slots = (module.headers.len() / header::BYTES) as u8;
        let mut bytes = vec![ring | lanes, 4, 3, slots, 0xff, index];
        for array in [&module.headers, &module.records, &module.lane_counts, &module.lanes] {
            bytes.extend_from_slice(array);
        }
        seeds.push(("raw_buffer", format!("sample-{index}"), bytes));
        let mut descriptor = module.descriptor.to_bytes().to_vec();
        descriptor.extend_from_slice(&[0, index, 80, 200, 81, 1]);
        seeds.push(("descriptor", format!("sample-{index}"), descriptor));
    }
    let mut module = SyntheticModule::new(Keep::First, 0);
    module.site(SiteKind::Kernel, "gemm");
    module.site_with_unit(SiteKind::Region, "load", "bytes");
    module.names("TASK", &["copy", "mma"]);
    module.site(SiteKind::Mark, "");
    let entries: Vec<&[u8]> = module.entries().iter().map(Vec::as_slice).collect();
    seeds.push(("site_table", "entries".to_owned(), entries.concat()));
    seeds.push(("site_table", "module".to_owned(), site_table::ptx(&entries).into_bytes()));
    let claim = format!(".b8 {SITE_STATIC}[65536] = {{80, 83, 73, 84, {WIRE_VERSION}}};\n");
    seeds.push(("site_table", "claims".to_owned(), claim.repeat(150).into_bytes()));
    let rehashed = ptx_process::entries(&entries.concat());
    seeds.push(("ptx_process", "entries".to_owned(), rehashed.concat()));
    seeds.push(("ptx_process", "module".to_owned(), ptx_process::module(&rehashed).into_bytes()));
    for (name, begun) in [
        ("begun-arrays", format!(".b8 {SITE_STATIC}[")),
        ("begun-kernels", ".entry a(\n".to_owned()),
        ("zeros", format!(".b8 {SITE_STATIC}[16777216] = {{80, 83, 73, 84, {WIRE_VERSION}}};\n")),
    ] {
        seeds.push(("ptx_process", name.to_owned(), begun.repeat(500).into_bytes()));
    }
    // Content is chosen by the numbers of a simple generator.
    for seed in 1..=4_u64 {
        let mut state = seed;
        let bytes = (0..900 * seed).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        seeds.push(("capture_content", format!("random-{seed}"), bytes.collect()));
    }
    seeds
}
