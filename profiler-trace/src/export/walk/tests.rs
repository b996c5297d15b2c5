//! Tracks that kernels chose by number.

use profiler_wire::SiteKind;

use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use crate::{Capture, Decoder, Export, ExportOptions};

/// A warp with so many regions and as many marks, each on a track of its own.
fn tracks(count: u32, leaves: bool) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 2 * count);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let [region, mark] =
        [SiteKind::Region, SiteKind::Mark].map(|kind| module.site(kind, "something"));
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    for number in 0..count {
        let at = u64::from(number);
        warp.range(region, Some(number), at, at + 1_000);
        warp.mark(mark, Some(count + number), at + 1_000);
    }
    if leaves {
        warp.leave(2_000_000, 2_000_000);
    }
    module.warps.push(warp);
    module.into_capture().expect("the sites are whole")
}

/// With a pass over all that the warp recorded for each of its tracks, this would take hours.
#[test]
fn a_warp_may_write_to_as_many_tracks_as_it_has_records() {
    const RECORDS: u32 = 15_000;
    let options = ExportOptions { counters: false, ..ExportOptions::default() };
    for leaves in [true, false] {
        let capture = tracks(RECORDS, leaves);
        let mut text = Vec::new();
        let written = Decoder::new(&capture).streamed().write_chrome_to(&mut text, &options);
        written.expect("memory can be written");
        let text = String::from_utf8(text).expect("JSON");
        assert_eq!(text.matches("\"name\":\"something\"").count(), 2 * RECORDS as usize);
        assert!(text.contains(&format!("track {}\"", 2 * RECORDS - 1)));
    }
}
