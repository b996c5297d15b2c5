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
/// `key=value` pairs: `wire=1 sites=12 enabled=true`.
pub const BUILD_STAMP: &str = "// profiler-build:";

/// The kernel that every module with records carries, and that measures what a record costs on the
/// device in use: one parameter, the number of rounds (`u32`); one block of one warp. Each round
/// records one region named after each of [`CALIBRATION_COUNTS`] ("0 empty regions", and so on) that
/// encloses as many regions named [`CALIBRATION_EMPTY`].
pub const CALIBRATION: &str = "__profiler_calibrate_v1";

/// The name of the empty regions of the calibration kernel.
pub const CALIBRATION_EMPTY: &str = "empty region";

/// How many empty regions the enclosing regions of the calibration kernel hold, by their names.
pub const CALIBRATION_COUNTS: [(&str, u32); 4] =
    [("0 empty regions", 0), ("1 empty region", 1), ("2 empty regions", 2), ("4 empty regions", 4)];
