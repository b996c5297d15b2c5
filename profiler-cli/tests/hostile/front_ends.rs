//! All that is made of captures, by the libraries that the command line calls.

use std::panic::{AssertUnwindSafe, catch_unwind};

use profiler_parquet::{write_arrow, write_parquet};
use profiler_report::{ReportOptions, write_flamegraph, write_html};
use profiler_trace::diff::{Diff, DiffOptions, Threshold, diff};
use profiler_trace::{Capture, Trace, decode};

use crate::check;
use crate::memory::within;

/// Arguments of the checks in `profiler-trace/tests/support/check.rs`: timelines by block, by SM, with raw times; stacks;
/// tables; statistics by each of the six groupings; launches; ways of decoding; costs and merges;
/// diagnostics.
const CHECKS: [u8; 14] = [0, 8, 16, 1, 2, 3, 11, 19, 27, 35, 43, 4, 5, 6];

/// Those, pages, tables, and differences.
const COUNT: usize = CHECKS.len() + 3;

/// A page holds its scripts and styles, compressed regions and tables, and what makes them.
const PAGE_BYTES: usize = 16 << 20;

pub(crate) struct FrontEnds {
    whole: Trace,
    options: DiffOptions,
}

impl FrontEnds {
    /// `whole` is what others are compared with.
    pub(crate) fn new(whole: &Capture) -> Self {
        let options = DiffOptions::default();
        Self { whole: decode(whole), options }
    }

    /// Gives a capture to all of them.
    pub(crate) fn run(&self, what: &str, capture: &Capture) {
        (0..COUNT).for_each(|index| self.run_one(index, what, capture));
    }

    /// Gives a capture to one of them, all of which have their turns as `index` grows.
    pub(crate) fn run_one(&self, index: usize, what: &str, capture: &Capture) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Some(choice) = CHECKS.get(index % COUNT) {
                check::capture(capture, *choice);
                return;
            }
            let trace = decode(capture);
            let memory = PAGE_BYTES + check::MEMORY_FACTOR * check::size(capture);
            within(memory, || match index % COUNT - CHECKS.len() {
                0 => pages(&trace),
                1 => tables(&trace),
                _ => self.differences(&trace),
            });
        }));
        assert!(outcome.is_ok(), "{what}: see the panic above");
    }

    fn differences(&self, trace: &Trace) {
        for diff in self.both_sides(trace) {
            assert!(!diff.to_string().is_empty());
            assert!(diff.to_json().is_object());
            assert!(!diff.check(&Threshold::default()).to_string().is_empty());
        }
    }

    fn both_sides(&self, trace: &Trace) -> [Diff; 2] {
        let (whole, other) = ([self.whole.clone()], [trace.clone()]);
        [(&whole, &other), (&other, &whole)]
            .map(|(a, b)| diff(a, b, &self.options).expect("the options are in order"))
    }

    /// Every front end that has a place for it must say that the capture is damaged.
    pub(crate) fn say_what_is_damaged(&self, what: &str, trace: &Trace) {
        let said = "file is damaged or truncated";
        let mut json = Vec::new();
        trace.stats().write_json_to(&mut json).expect("a vector takes all");
        let texts = [
            ("statistics", trace.stats().to_string()),
            ("statistics as JSON", String::from_utf8(json).expect("UTF-8")),
            ("the page", html(trace)),
        ];
        for (name, text) in texts {
            assert!(text.contains(said), "{what}: {name} does not say `{said}`");
        }
        for diff in self.both_sides(trace) {
            // Where nothing of the content is lost, the figures are those of the whole one.
            let unchanged = trace.warps == self.whole.warps;
            assert!(unchanged || diff.is_damaged, "{what}: {diff}");
        }
    }
}

fn html(trace: &Trace) -> String {
    let mut html = Vec::new();
    let options = ReportOptions::default();
    write_html(trace, &mut html, &options).expect("a vector takes all");
    String::from_utf8(html).expect("UTF-8")
}

fn pages(trace: &Trace) {
    let html = html(trace);
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    let mut svg = Vec::new();
    match write_flamegraph(trace, &mut svg) {
        Ok(()) => assert!(svg.trim_ascii_end().ends_with(b"</svg>")),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}"),
    }
}

fn tables(trace: &Trace) {
    let (mut parquet, mut arrow) = (Vec::new(), Vec::new());
    write_parquet(trace, &mut parquet).expect("what was decoded is consistent");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    write_arrow(trace, &mut arrow).expect("what was decoded is consistent");
    assert!(arrow.starts_with(b"ARROW1") && arrow.ends_with(b"ARROW1"));
}
