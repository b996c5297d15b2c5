//! Modules of the runtime that other crates carry.

use std::io::Read as _;

use flate2::read::GzDecoder;

/// A module by its name.
pub(crate) fn carried(name: &str) -> String {
    let packed = match name {
        "calibration" => &include_bytes!("../../../profiler-host/src/gpu/calibration.ptx.gz")[..],
        "runtime" => return include_str!("../../../profiler-ptx/src/runtime.ptx").to_owned(),
        _ => panic!("nothing carries {name}"),
    };
    let mut ptx = String::new();
    GzDecoder::new(packed).read_to_string(&mut ptx).expect("it was packed");
    ptx
}
