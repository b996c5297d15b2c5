//! What the host did meanwhile, a row for each of its threads.

use std::collections::HashMap;
use std::ops::Range;

use profiler_trace::{HostSpan, HostSpanKind, HostThread, Trace, shortened};

use super::cells::{Stack, View};
use crate::units::{counted, duration};

/// A label is cut where it would push all else away.
const LONGEST_LABEL: usize = 24;

/// The rows of the host's threads.
pub(super) struct Host<'t> {
    /// Labels, and for each cell the index in `names` of what filled most of its time in any span.
    pub(super) rows: Vec<(String, Vec<Option<usize>>)>,
    /// What is in the rows, and for how long each was the innermost; the longest first.
    pub(super) names: Vec<(Name<'t>, f64)>,
    /// What is not in them, in words.
    pub(super) missing: Option<String>,
}

/// The threads that have a row, with their labels, and how many more did something.
pub(super) struct Busy<'t> {
    threads: Vec<(String, &'t HostThread)>,
    left_out: usize,
}

/// The threads that did something within this stretch of time; at most so many of them.
pub(super) fn busy(trace: &Trace, window: Range<f64>, most: usize) -> Busy<'_> {
    let threads = trace.host.threads.iter();
    let busy = threads.filter(|thread| thread.spans.iter().any(|span| is_in(span, &window)));
    let label = |thread: &HostThread| shortened(&format!("host {}", thread.name), LONGEST_LABEL);
    let mut threads: Vec<_> = busy.map(|thread| (label(thread), thread)).collect();
    let left_out = threads.len().saturating_sub(most);
    threads.truncate(most);
    Busy { threads, left_out }
}

impl<'t> Busy<'t> {
    pub(super) fn labels(&self) -> impl Iterator<Item = &str> {
        self.threads.iter().map(|(label, _)| label.as_str())
    }

    /// What the threads did within the view.
    pub(super) fn draw(self, trace: &'t Trace, view: &View, launch_ns: f64) -> Host<'t> {
        let mut names = Names::default();
        let fill = |(label, thread)| (label, fill(thread, view, &mut names));
        let mut rows: Vec<_> = self.threads.into_iter().map(fill).collect();
        let missing = if self.left_out > 0 {
            let threads = counted(self.left_out, "more thread");
            Some(format!("{threads} of the host did something; --rows shows more"))
        } else if rows.is_empty() && !trace.host.is_empty() {
            Some(elsewhere(trace, launch_ns))
        } else {
            None
        };
        let (names, rank) = names.by_time();
        for cell in rows.iter_mut().flat_map(|(_, cells)| cells).flatten() {
            *cell = rank[*cell];
        }
        Host { rows, names, missing }
    }
}

fn is_in(span: &HostSpan, window: &Range<f64>) -> bool {
    span.start_ns < window.end && span.end_ns > window.start
}

/// Where the host's spans are, if none of them is in the window.
fn elsewhere(trace: &Trace, launch_ns: f64) -> String {
    let bounds = trace.host.spans().fold((f64::INFINITY, f64::NEG_INFINITY), |bounds, span| {
        (bounds.0.min(span.start_ns), bounds.1.max(span.end_ns))
    });
    format!(
        "the host did nothing in this window; its {} lie between {} and {}, counted as --window is",
        counted(trace.host.spans().count(), "span"),
        duration(bounds.0 - launch_ns),
        duration(bounds.1 - launch_ns),
    )
}

/// What spans are called, and whether they are calls that launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name<'t> {
    pub(super) text: &'t str,
    pub(super) is_launch: bool,
}

/// Every name once, and for how long it was the innermost.
#[derive(Default)]
struct Names<'t> {
    index: HashMap<Name<'t>, usize>,
    list: Vec<(Name<'t>, f64)>,
}

impl<'t> Names<'t> {
    fn of(&mut self, span: &'t HostSpan) -> usize {
        let is_launch = matches!(span.kind, HostSpanKind::Launch(_));
        let name = Name { text: &span.name, is_launch };
        let list = &mut self.list;
        *self.index.entry(name).or_insert_with(|| {
            list.push((name, 0.0));
            list.len() - 1
        })
    }

    /// The names that were the innermost at all, the longest first, and where in them each is now.
    fn by_time(self) -> (Vec<(Name<'t>, f64)>, Vec<usize>) {
        let list = self.list;
        let mut order: Vec<usize> = (0..list.len()).filter(|&name| list[name].1 > 0.0).collect();
        order.sort_by(|&left, &right| list[right].1.total_cmp(&list[left].1));
        let mut rank = vec![0; list.len()];
        for (at, &name) in order.iter().enumerate() {
            rank[name] = at;
        }
        (order.into_iter().map(|name| list[name]).collect(), rank)
    }
}

/// What filled most of each cell that any span touches: calls are short.
fn fill<'t>(thread: &'t HostThread, view: &View, names: &mut Names<'t>) -> Vec<Option<usize>> {
    let mut columns: Vec<HashMap<usize, f64>> = vec![HashMap::new(); view.columns];
    let mut innermost: Vec<(usize, f64, f64)> = Vec::new();
    let mut stack = Stack::default();
    let mut tell = |name, from, to| innermost.push((name, from, to));
    let window = view.start_ns..view.end_ns;
    for span in thread.spans.iter().filter(|span| is_in(span, &window)) {
        let end = span.end_ns.max(span.start_ns);
        stack.begin(names.of(span), span.start_ns, end, &mut tell);
    }
    stack.leave_until(f64::INFINITY, &mut tell);
    for (name, from, to) in innermost {
        view.each_column(from, to, |column, ns| {
            *columns[column].entry(name).or_default() += ns;
            names.list[name].1 += ns;
        });
    }
    let most = |column: &HashMap<usize, f64>| {
        let longest = column.iter().filter(|(_, ns)| **ns > 0.0).max_by(|left, right| {
            // Of equals the first, so that the same is drawn every time.
            left.1.total_cmp(right.1).then(right.0.cmp(left.0))
        });
        longest.map(|(name, _)| *name)
    };
    columns.iter().map(most).collect()
}
