//! Modules of the runtime that other crates carry.

/// A module by its name.
pub(crate) fn carried(name: &str) -> String {
    let packed = match name {
        "calibration" => &include_bytes!("../../../profiler-host/src/gpu/calibration.ptx.lz4")[..],
        "runtime" => return include_str!("../../../profiler-ptx/src/runtime.ptx").to_owned(),
        _ => panic!("nothing carries {name}"),
    };
    let ptx = lz4_flex::decompress_size_prepended(packed).expect("it was packed");
    String::from_utf8(ptx).expect("it was text")
}
