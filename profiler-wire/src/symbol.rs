//! Names by which the host, the build step and the device runtime find each other in PTX.

/// The descriptor in the module's constant memory: [`crate::descriptor::BYTES`] bytes, aligned to
/// 16, zero until the host fills it. The name ends in the wire version.
pub const DESCRIPTOR: &str = "__profiler_descriptor_v1";

/// What the name of the descriptor of any version begins with; the rest is the version in decimal.
pub const DESCRIPTOR_PREFIX: &str = "__profiler_descriptor_v";

/// A fragment of the mangled name of every static that holds a site entry.
pub const SITE_STATIC: &str = "__PROFILER_SITE";

/// The comment behind an instruction whose immediate operand is a site id: the marker, a space and
/// the site's key in decimal. The build step numbers sites by replacing that immediate.
pub const SITE_MARKER: &str = "profiler-site";

/// The comment line that the build step writes at the top of the PTX it has processed, followed by
/// `key=value` pairs: `wire=1 sites=12 enabled=true`.
pub const BUILD_STAMP: &str = "// profiler-build:";
