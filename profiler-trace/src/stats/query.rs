//! Queries: the part of a trace that statistics are about.

use std::fmt;
use std::ops::Range;

use profiler_wire::SiteKind;
use profiler_wire::symbol::CALIBRATION;

use super::GroupBy;
use super::pattern::Pattern;
use crate::model::{Site, Trace, Warp};
use crate::source::WarpSource;

/// A query of statistics: the grouping of its rows, and filters for kernels and regions. For only some
/// launches, blocks or warps there is [`Decoder::only`](crate::Decoder::only).
///
/// Filters of one kind add to each other (`.name("load").name("mma")` takes both); filters of
/// different kinds must all be met. Without filters everything is in.
///
/// Patterns are globs for whole names: `*` stands for any characters, `?` for one, `\` takes the
/// character after it as it is; upper and lower case differ. A name without them is that name, and
/// `*load*` finds all names that contain `load`.
///
/// ```
/// use profiler_trace::{GroupBy, StatsQuery, Trace};
///
/// let trace = Trace::default();
/// let query = StatsQuery::new().by(GroupBy::Sm).name("load*").window_ns(0.0..50_000.0);
/// println!("{}", trace.stats_of(&query));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StatsQuery {
    by: GroupBy,
    names: Vec<Pattern>,
    kernels: Vec<Pattern>,
    window: Option<Range<f64>>,
}

impl StatsQuery {
    /// Everything, by site.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The grouping of the rows.
    #[must_use]
    pub fn by(mut self, by: GroupBy) -> Self {
        self.by = by;
        self
    }

    /// Only rows whose own name (a region's, or a kernel's for the kernel as a whole) fits this
    /// pattern. The regions that enclose it need not fit.
    #[must_use]
    pub fn name(mut self, pattern: &str) -> Self {
        self.names.push(Pattern::new(pattern));
        self
    }

    /// Only launches of kernels whose name fits this pattern.
    #[must_use]
    pub fn kernel(mut self, pattern: &str) -> Self {
        self.kernels.push(Pattern::new(pattern));
        self
    }

    /// Only regions and marks that begin in this window, in nanoseconds on the trace's axis (that
    /// of [`crate::Time::ns`]). The last call counts. A window from minus infinity to infinity is
    /// no filter.
    ///
    /// A region belongs to the window in which it *begins*, and counts there with all of its time,
    /// even after the window. So every duration was measured, and the counts and totals of adjacent
    /// windows add up to those of the whole. Only [`SiteStats::share`](super::SiteStats::share) is
    /// about the window itself: it is the time inside the window, of all regions that reach into it
    /// wherever they begin, by the kernel time inside it. Kernels as a whole are treated as regions
    /// from a warp's entry to its exit.
    #[must_use]
    pub fn window_ns(mut self, window: Range<f64>) -> Self {
        let all = f64::NEG_INFINITY..f64::INFINITY;
        self.window = Some(window).filter(|window| *window != all);
        self
    }

    /// The grouping of the rows.
    #[must_use]
    pub fn group_by(&self) -> GroupBy {
        self.by
    }

    /// Whether anything may be left out.
    pub(crate) fn is_filtered(&self) -> bool {
        *self != Self { by: self.by, ..Self::default() }
    }

    /// Whether launches are taken or left as a whole.
    pub(crate) fn takes_whole_launches(&self) -> bool {
        self.names.is_empty() && self.window.is_none()
    }

    pub(super) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    pub(crate) fn takes_name(&self, name: &str) -> bool {
        any(&self.names, |pattern| pattern.matches(name))
    }

    /// Whether a launch is in, as far as its own filters tell.
    pub(crate) fn takes_launch(&self, trace: &Trace, launch: usize) -> bool {
        let Some(of) = trace.launches.get(launch) else { return false };
        !trace.is_left_out(launch)
            && any(&self.kernels, |pattern| pattern.matches(trace.name_of(of.kernel)))
    }

    /// Whether a warp of a launch that is in is in, too.
    pub(crate) fn takes_warp(&self, source: &impl WarpSource, index: usize) -> bool {
        let trace = source.outline();
        let Some(warp) = trace.warps.get(index) else { return false };
        self.window.as_ref().is_none_or(|window| {
            // Other lanes may record when lane 0 has left.
            let lasts = || last_ns(trace, warp) >= window.start;
            warp.entry.ns < window.end && (lasts() || source.warp(index).last_ns() >= window.start)
        })
    }

    /// Whether a record that begins then is in.
    pub(crate) fn takes_begin(&self, ns: f64) -> bool {
        self.window.as_ref().is_none_or(|window| window.contains(&ns))
    }

    /// The part of a span that lies in the window; it ends before it begins where there is none.
    pub(super) fn inside_ns(&self, start: f64, end: f64) -> (f64, f64) {
        match &self.window {
            Some(window) => (start.max(window.start), end.min(window.end)),
            None => (start, end),
        }
    }

    /// A sentence for each kind of filter that nothing in the trace meets, with the choices.
    pub(crate) fn unmet(&self, trace: &Trace) -> Vec<String> {
        let mut unmet = Vec::new();
        if let Some(window) = self.window.as_ref().filter(|window| window.is_empty()) {
            unmet.push(format!(
                "the window from {} to {} ns holds nothing: let its end lie after its start",
                window.start, window.end
            ));
        }
        let kernels = || trace.launches.iter().map(|launch| trace.name_of(launch.kernel));
        let is_met = |pattern: &Pattern| kernels().any(|name| pattern.matches(name));
        if let Some(names) = missing(&self.kernels, is_met) {
            unmet.push(format!("no kernel is called {names}: {}", list(kernels())));
        }
        // Not those by which the profiler measures what a record costs, and no marks, which have no row.
        let own = trace.sites.iter().find(|site| site.symbol.as_deref() == Some(CALIBRATION));
        let is_users = |site: &&Site| {
            own.is_none_or(|own| own.module != site.module)
                && matches!(site.kind, SiteKind::Kernel | SiteKind::Region | SiteKind::Names)
        };
        let sites = || trace.sites.iter().filter(is_users).map(|site| site.name.as_str());
        let is_met = |pattern: &Pattern| sites().any(|name| pattern.matches(name));
        if let Some(names) = missing(&self.names, is_met) {
            unmet.push(format!("no region is called {names}: {}", list(sites())));
        }
        unmet
    }
}

/// The filters in words, without [`GroupBy`]; nothing if there are none.
impl fmt::Display for StatsQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (what, patterns) in [("names", &self.names), ("kernels", &self.kernels)] {
            if !patterns.is_empty() {
                let names: Vec<&str> = patterns.iter().map(Pattern::text).collect();
                parts.push(format!("{what} {}", names.join(" or ")));
            }
        }
        if let Some(Range { start, end }) = &self.window {
            // A tenth of a nanosecond is finer than any clock here.
            let tenths = |ns: f64| (ns * 10.0).round() / 10.0;
            let (start, end) = (tenths(*start), tenths(*end));
            let of = "on the trace's axis";
            parts.push(match (start.is_finite(), end.is_finite()) {
                (true, false) => format!("what begins from {start} ns on, {of}"),
                (false, true) => format!("what begins before {end} ns {of}"),
                _ => format!("what begins from {start} ns to before {end} ns {of}"),
            });
        }
        f.write_str(&parts.join("; "))
    }
}

/// No filter, or one of them met.
fn any(filters: &[Pattern], met: impl Fn(&Pattern) -> bool) -> bool {
    filters.is_empty() || filters.iter().any(met)
}

/// Those of the filters that nothing meets, in words; `None` where there are none.
fn missing(filters: &[Pattern], is_met: impl Fn(&Pattern) -> bool) -> Option<String> {
    let missing: Vec<&str> = filters.iter().filter(|of| !is_met(of)).map(Pattern::text).collect();
    (!missing.is_empty()).then(|| missing.join(" or "))
}

/// The exit of a warp; the end of the launch if it never left.
pub(crate) fn last_ns(trace: &Trace, warp: &Warp) -> f64 {
    match warp.exit {
        Some(exit) => exit.ns,
        None => trace.launches.get(warp.launch).map_or(warp.entry.ns, |launch| launch.end_ns),
    }
}

/// Names, each once, as many as a reader takes in.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MOST: usize = 10;
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        0 => "there is none".to_owned(),
        1..=MOST => format!("there is {}", names.join(", ")),
        count => format!("there is {}, and {} more", names[..MOST].join(", "), count - MOST),
    }
}
