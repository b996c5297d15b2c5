//! What is said of the whole trace, as pairs of a key and a value.

use profiler_trace::{Diagnostic, Trace};
use serde_json::Value;

/// The version of the table's schema, in the metadata as `profiler.schema_version`. It grows when a
/// column changes its meaning or goes; a new column leaves it as it is.
pub const SCHEMA_VERSION: u32 = 1;

/// The pairs, in order.
pub(crate) fn pairs(trace: &Trace) -> Vec<(String, String)> {
    let device = &trace.device;
    let mut pairs = Vec::new();
    let mut say = |key: &str, value: String| pairs.push((format!("profiler.{key}"), value));
    say("schema_version", SCHEMA_VERSION.to_string());
    say("version", env!("CARGO_PKG_VERSION").to_owned());
    say("device", device.name.clone());
    say("emulated", device.emulated.to_string());
    if let Some((major, minor)) = device.compute_capability {
        say("compute_capability", format!("{major}.{minor}"));
    }
    say("sm_count", device.sm_count.to_string());
    if !device.driver.is_empty() {
        say("driver", device.driver.clone());
    }
    say("origin_ns", trace.origin_ns.to_string());
    if let Some(mhz) = trace.clock_mhz {
        say("clock_mhz", mhz.to_string());
    }
    say("resolution_ns", trace.resolution_ns.to_string());
    say("alignment_ns", trace.alignment_ns.to_string());
    say("cost_subtracted", trace.cost_subtracted.to_string());
    say("recorded", trace.recorded().to_string());
    say("lost", trace.lost().to_string());
    say("lost_unplaced", trace.lost_unplaced.to_string());
    say("warps_left_out", trace.left_out_warps.to_string());
    say("host_spans_left_out", trace.host.spans().count().to_string());
    let diagnostics: Vec<Value> = trace.diagnostics.list.iter().map(Diagnostic::to_json).collect();
    say("diagnostics", Value::from(diagnostics).to_string());
    pairs
}
