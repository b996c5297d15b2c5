//! Names by which the host, the build step and the device runtime find each other in PTX.

/// [`DESCRIPTOR`] as a literal, for `asm!` templates.
#[macro_export]
macro_rules! descriptor_symbol {
    () => {
        "__profiler_descriptor_v2"
    };
}

/// [`SITE_MARKER`] as a literal, for `asm!` templates.
#[macro_export]
macro_rules! site_marker {
    () => {
        "profiler-site"
    };
}

/// The descriptor in the module's constant memory: [`crate::descriptor::BYTES`] bytes, aligned to
/// 16, zero until the host fills it. The name ends in the wire version.
pub const DESCRIPTOR: &str = crate::descriptor_symbol!();

/// What the name of the descriptor of any version begins with; the rest is the version in decimal.
pub const DESCRIPTOR_PREFIX: &str = "__profiler_descriptor_v";

/// A fragment of the mangled name of every static that holds a site entry.
pub const SITE_STATIC: &str = "__PROFILER_SITE";

/// The comment behind an instruction whose immediate operand is a site id: the marker, a space and
/// the site's key in decimal. The build step numbers sites by replacing that immediate.
pub const SITE_MARKER: &str = crate::site_marker!();

/// The comment line that the build step writes at the top of the PTX it has processed, followed by
/// `key=value` pairs: `wire=2 sites=12 enabled=true`.
pub const BUILD_STAMP: &str = "// profiler-build:";

/// The kernel that every module with records carries, and that measures what a record costs on the
/// device in use: one parameter, the number of rounds (`u32`); one block of one warp.
///
/// Each round records, for each of [`CALIBRATION_ELECTIONS`] and [`CALIBRATION_FORMS`], one region
/// for each of [`CALIBRATION_COUNTS`] around so many records of that form, back to back. The region
/// around is named "election form xCOUNT" (`elected token x2`), the records in it "election form".
pub const CALIBRATION: &str = "__profiler_calibrate_v2";

/// How the lane that records is chosen in the calibration kernel: known beforehand, or elected.
pub const CALIBRATION_ELECTIONS: [&str; 2] = ["one-lane", "elected"];

/// What the calibration kernel records: a region, a region opened by a token, a region with a value,
/// a mark, a reading of both clocks (which has no name).
pub const CALIBRATION_FORMS: [&str; 5] = ["region", "token", "value", "mark", "anchor"];

/// How many records the enclosing regions of the calibration kernel hold.
pub const CALIBRATION_COUNTS: [u32; 4] = [0, 1, 2, 4];
