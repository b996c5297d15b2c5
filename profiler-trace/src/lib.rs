//! Decodes the records of profiled GPU kernels.
//!
//! The way through the crate: a [`SiteTable`] is read from a module's PTX, a session fills a
//! [`Capture`], [`decode`](decode()) turns it into a [`Trace`], and exporters and statistics read
//! that. No CUDA in it, and no `unsafe`.
//!
//! No bytes make this crate panic. Nothing is dropped in silence: [`Trace::diagnostics`] counts
//! everything lost or odd.
#![forbid(unsafe_code)]

mod capture;
mod clock;
mod cost;
mod decode;
mod diagnostic;
pub mod diff;
mod display;
mod edges;
mod export;
mod file;
mod host;
mod json;
pub mod model;
mod nesting;
mod progress;
mod record_cost;
mod resources;
mod sequence;
mod site_table;
mod source;
mod stats;
mod table;
#[doc(hidden)]
pub mod units;

pub use capture::{
    CAPTURE_FORMAT_VERSION, Capture, CaptureEnd, CaptureError, KeptClock, ModuleCapture,
};
pub use decode::{Decoder, StreamedTrace, WarpRecords, decode};
pub use diagnostic::{Diagnostic, DiagnosticKind, Diagnostics, Location, Severity};
pub use display::{markdown, printable, shortened, shortened_within};
pub use export::{Export, ExportOptions, StackGroup};
pub use file::FileError;
pub use host::{ClockPair, HostCapture, HostRecord, HostSpan, HostSpanKind, HostThread, HostTrace};
pub use model::*;
pub use nesting::Nesting;
pub use progress::Progress;
pub use record_cost::{FormCosts, RecordCost, StampCost, StampWait, StampWaits};
pub use resources::{KernelResources, ResourceEffect};
pub use site_table::{SiteTable, SiteTableError};
pub use source::WarpSource;
pub use stats::{
    Balance, CriticalPath, GroupBy, Load, MarkStats, SiteStats, Stats, StatsPlace, StatsQuery,
    Summary, Throughput, Waits, matches_pattern,
};

#[cfg(test)]
extern crate self as profiler_trace;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
/// As a module of this crate, so that unit tests share its types.
#[cfg(test)]
#[path = "../../test-tools/src/synthetic/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "other crates use more of it")]
mod synthetic;

#[cfg(test)]
mod tests {
    //! No module of the crate uses one of a layer above its own.

    use std::fs;
    use std::path::Path;

    /// The modules, the lowest layer first. Those of one layer may use each other.
    const LAYERS: &[&[&str]] = &[
        &["display", "file", "json", "progress", "sequence", "units"],
        &["table"],
        &["diagnostic", "host", "model", "record_cost", "resources"],
        &["nesting", "source"],
        &["site_table"],
        &["capture"],
        &["clock", "cost", "edges"],
        &["decode"],
        &["stats"],
        &["diff"],
        &["export"],
    ];

    fn layer(module: &str) -> Option<usize> {
        LAYERS.iter().position(|layer| layer.contains(&module))
    }

    /// The paths in a source that lead upwards or to no module, each with its line.
    fn upward(file: &str, text: &str) -> Vec<String> {
        let module = file.split(['/', '.']).next().unwrap_or(file);
        let own = layer(module).unwrap_or_else(|| panic!("{file}: {module} is in no layer"));
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
        let mut found = Vec::new();
        for (number, line) in (1..).zip(code.lines()) {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for path in line.split("crate::").skip(1) {
                let end = path.find(|c: char| !c.is_ascii_lowercase() && c != '_');
                if layer(&path[..end.unwrap_or(path.len())]).is_none_or(|used| used > own) {
                    found.push(format!("{file}:{number}: {}", line.trim()));
                }
            }
        }
        found
    }

    fn visit(folder: &Path, root: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("the sources are here") {
            let path = entry.expect("it can be listed").path();
            let name = path.strip_prefix(root).expect("it is below").to_string_lossy().into_owned();
            if path.is_dir() && !name.ends_with("tests") {
                visit(&path, root, found);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "lib.rs" {
                found.extend(upward(&name, &fs::read_to_string(&path).expect("it can be read")));
            }
        }
    }

    #[test]
    fn no_module_uses_one_above_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        visit(&root, &root, &mut found);
        assert!(found.is_empty(), "these paths lead upwards:\n{}", found.join("\n"));
    }

    #[test]
    fn a_path_upwards_is_found() {
        let planted = "// crate::export\nuse crate::model::Trace;\nuse crate::export::text;\n";
        assert_eq!(upward("stats/rows.rs", planted), ["stats/rows.rs:3: use crate::export::text;"]);
        assert_eq!(upward("stats.rs", "use crate::Trace;"), ["stats.rs:1: use crate::Trace;"]);
        assert!(upward("export/text.rs", planted).is_empty());
    }
}
