//! What profiler-host carries to measure what a record costs.

use std::io::Read as _;

use flate2::read::GzDecoder;

/// A module by its name in `profiler-host/src/gpu`.
pub(crate) fn carried(name: &str) -> String {
    let packed = match name {
        "calibration" => &include_bytes!("../../../profiler-host/src/gpu/calibration.ptx.gz")[..],
        "calibration_host" => {
            include_bytes!("../../../profiler-host/src/gpu/calibration_host.ptx.gz")
        }
        _ => panic!("profiler-host carries no {name}"),
    };
    let mut ptx = String::new();
    GzDecoder::new(packed).read_to_string(&mut ptx).expect("it was packed");
    ptx
}
