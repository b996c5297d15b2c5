//! Regions of one lane that all cross each other, each of a name of its own: what goes through all of
//! them for each takes minutes here, and what does not takes seconds.

use crate::support;

use std::io::{self, Write};

use profiler_trace::{ExportOptions, GroupBy, Trace};
use profiler_wire::SiteKind;

use support::{gpu, launch, region, site, warp};

const REGIONS: usize = 100_000;

/// Each begins one nanosecond after the one before it, and ends so.
fn crossing() -> Trace {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "kernel");
    let length = REGIONS as f64;
    launch(&mut trace, kernel, [1, 1, 1], 0.0, 3.0 * length);
    let of = warp(&mut trace, [0, 0, 0], 0, 0.0, 3.0 * length);
    for number in 0..REGIONS {
        let own = site(&mut trace, SiteKind::Region, &format!("region {number}"));
        let start = number as f64;
        region(&mut trace, of, own, 0, start, start + length);
    }
    trace
}

/// Counts the lines that hold some text.
struct Lines {
    text: &'static str,
    count: usize,
    line: Vec<u8>,
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.count += usize::from(String::from_utf8_lossy(&self.line).contains(self.text));
                self.line.clear();
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn statistics_take_no_time_out_of_proportion() {
    let trace = crossing();
    for by in [GroupBy::Site, GroupBy::Path] {
        let stats = trace.stats_by(by);
        assert_eq!(stats.rows.len(), REGIONS + 1);
        assert!(stats.rows[1..].iter().all(|row| row.count == 1 && row.path.is_empty()));
    }
}

#[test]
fn timelines_take_no_time_out_of_proportion() {
    let trace = crossing();
    let options = ExportOptions::default();
    let mut slices = Lines { text: "\"region ", count: 0, line: Vec::new() };
    trace.write_chrome_to(&mut slices, &options).expect("it takes everything");
    assert_eq!(slices.count, REGIONS);
    let mut perfetto = Vec::new();
    trace.write_perfetto_to(&mut perfetto, &options).expect("memory takes it");
    let last = format!("region {}", REGIONS - 1);
    assert!(perfetto.windows(last.len()).any(|bytes| bytes == last.as_bytes()));
}
