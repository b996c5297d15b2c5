//! A capture file gives back what was written, and of a damaged one what is whole.

use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{Capture, Value, decode};
use profiler_wire::SiteKind;

fn sample() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let region = module.site(SiteKind::Region, "region");
    for block in 0..3_u32 {
        let mut warp = SyntheticWarp::new(kernel, 1_000, 64_000);
        warp.header.block = [block, 0, 0];
        for step in 0..20 {
            let start = 1_020 + 10 * step;
            warp.range(region, None, start, start + 5);
            warp.attach(region, start + 5, Value::Float(1.5));
        }
        warp.leave(2_000, 65_000);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

#[test]
fn round_trip() {
    let capture = sample();
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).expect("a vector");
    let (read, damage) = Capture::read_from(bytes.as_slice()).expect("a capture");
    assert_eq!(damage, []);
    assert_eq!(read, capture);
    assert_eq!(decode(&read), decode(&capture));
}
