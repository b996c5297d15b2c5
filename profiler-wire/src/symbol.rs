//! Names by which the host, the build step and the device runtime find each other in PTX.

/// [`DESCRIPTOR`] as a literal, for `asm!` templates.
#[macro_export]
macro_rules! descriptor_symbol {
    () => {
        "__profiler_descriptor_v1"
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

/// The begin of the descriptor's name in any version; the rest is the version in decimal.
pub const DESCRIPTOR_PREFIX: &str = "__profiler_descriptor_v";

/// A fragment of the mangled name of every static that holds a site entry.
pub const SITE_STATIC: &str = "__PROFILER_SITE";

/// The comment after an instruction whose immediate operand is a site id: the marker, a space and
/// the site's key in decimal. The build step numbers sites by replacing that immediate.
pub const SITE_MARKER: &str = crate::site_marker!();

/// The comment line that the build step writes at the top of the PTX it has processed, followed by
/// `key=value` pairs: `wire=1 sites=12 enabled=true`.
pub const BUILD_STAMP: &str = "// profiler-build:";

/// The kernel that measures what a record costs on the device in use: one parameter, the number of rounds
/// (`u32`); one block of [`CALIBRATION_WARPS`]. It is a module of its own, which sessions load.
///
/// Each round records, for each of [`CALIBRATION_ELECTIONS`], regions around others, each after a pause
/// without records. All pauses take the same time, longer than a record delays the next one. The outer regions
/// are:
///
/// * for each of [`CALIBRATION_ROW_FORMS`], "election form row": [`CALIBRATION_ROW`] records of
///   that form, back to back;
/// * for each of [`CALIBRATION_NESTED_FORMS`], "election form nest": [`CALIBRATION_NEST`] of them,
///   each directly in the one before;
/// * "election apart": [`CALIBRATION_PAUSES`] pauses and no record;
/// * for each of [`CALIBRATION_FORMS`], "election form apart": as many pauses, and
///   [`CALIBRATION_APART`] records of that form: a pause before each, one in it (or after it, if nothing
///   can be in it), and one after the last.
///
/// The records in them are named "election form", as in "elected value"; an anchor has no name.
pub const CALIBRATION: &str = "__profiler_calibrate_v1";

/// The kernel by which a session keeps the clocks of all SMs. It is in no module of the user; a capture has its
/// readings as a module of their own, with this kernel as its only site.
pub const CLOCK_KEEPER: &str = "__profiler_keep_clocks";

/// Warps that record at once in the calibration kernel: one for each scheduler of an SM.
pub const CALIBRATION_WARPS: u32 = 4;

/// Who records in the calibration kernel: a lane that is known beforehand, or one that is elected.
pub const CALIBRATION_ELECTIONS: [&str; 2] = ["one-lane", "elected"];

/// The records of the calibration kernel: a region, a region with a value in a record of its own, a mark, a
/// reading of both clocks (which has no name).
pub const CALIBRATION_FORMS: [&str; 4] = ["region", "value", "mark", "anchor"];

/// The [`CALIBRATION_FORMS`] that kernels record back to back; the first ones.
pub const CALIBRATION_ROW_FORMS: [&str; 3] = ["region", "value", "mark"];

/// The [`CALIBRATION_FORMS`] that can be nested; the first ones.
pub const CALIBRATION_NESTED_FORMS: [&str; 2] = ["region", "value"];

/// Records of a row.
pub const CALIBRATION_ROW: u32 = 3;

/// Records of a nest.
pub const CALIBRATION_NEST: u32 = 4;

/// Records that stand apart from each other.
pub const CALIBRATION_APART: u32 = 2;

/// Pauses within a region around records that stand apart.
pub const CALIBRATION_PAUSES: u32 = 2 * CALIBRATION_APART + 1;
