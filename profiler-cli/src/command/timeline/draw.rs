//! Rows of cells as text.

use std::fmt::Write;

use profiler_trace::{Launch, Site, Trace, shortened, shortened_within};
use profiler_wire::SiteKind;
use textwrap::core::display_width;

use super::times::{Axis, Call, Times};
use crate::terminal::padded;
use crate::units::{counted, digits, duration};

/// Signs of a share between none and all.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The width of the share between label and cells: ` 49.8 % `.
pub(super) const SHARD_WIDTH: usize = 9;
/// Columns from one time along the top to the next, at least.
const TICK_WIDTH: usize = 12;
/// The label of time in the kernel and in no region.
const NO_REGION: &str = "(no region)";
/// A name in the title is cut here.
const LONGEST_NAME: usize = 40;

/// All that is drawn.
pub(super) struct Drawing<'t> {
    pub(super) trace: &'t Trace,
    pub(super) launch_index: usize,
    pub(super) launch: &'t Launch,
    /// The rows that are shown.
    pub(super) warps: &'t [usize],
    pub(super) axis: Axis,
    pub(super) label_width: usize,
    pub(super) most_rows: usize,
    pub(super) times: Times<'t>,
}

/// The width of the labels: at most a third of all.
pub(super) fn label_width(trace: &Trace, width: usize) -> usize {
    let is_region = |site: &&Site| matches!(site.kind, SiteKind::Region | SiteKind::Names);
    let regions = trace.sites.iter().filter(is_region).map(|site| display_width(&site.name));
    let spans = trace.host.threads.iter().flat_map(|thread| {
        thread.spans.iter().map(|span| display_width(&call_label(Call::of(thread, span))))
    });
    regions.chain(spans).fold(NO_REGION.len(), usize::max).min(width / 3)
}

fn call_label(call: Call<'_>) -> String {
    let launch = if call.is_launch { " (launch)" } else { "" };
    format!("host {}: {}{launch}", call.thread, call.name)
}

impl Drawing<'_> {
    /// The drawing: title, times along the top, rows, how many warps were active, how to see more.
    pub(super) fn text(&self) -> String {
        let Self { times, axis, trace, .. } = self;
        let mut text = String::new();
        self.title(&mut text);
        self.ticks(&mut text);
        let window = vec![axis.column_ns(); axis.columns];
        for (call, ns) in times.host.iter().take(self.most_rows) {
            self.row(&mut text, &call_label(*call), ns, &window);
        }
        for (site, ns) in times.regions.iter().take(self.most_rows) {
            self.row(&mut text, &trace.site(*site).name, ns, &times.kernel);
        }
        let peak = peak(times.stays.iter().copied());
        if peak == 0 {
            text += "no warp was in the kernel in this window\n";
        } else {
            self.row(&mut text, NO_REGION, &times.no_region, &times.kernel);
            let most = times.kernel.iter().copied().fold(0.0, f64::max);
            let cells = cells(&times.kernel, &vec![most; axis.columns]);
            let label = padded("active", self.label_width + SHARD_WIDTH);
            text += (label + &cells).trim_end();
            let _ = writeln!(
                text,
                "\nactive: at most {} in the kernel at a time",
                counted(peak, "warp")
            );
        }
        let left_out = |all: usize| all.saturating_sub(self.most_rows);
        match left_out(times.host.len()) + left_out(times.regions.len()) {
            0 => {}
            rows => _ = writeln!(text, "{} left out; --rows shows more", counted(rows, "row")),
        }
        self.elsewhere(&mut text);
        self.zoom(&mut text);
        text
    }

    fn title(&self, text: &mut String) {
        let Self { trace, launch, .. } = self;
        let of = match trace.launches.len() {
            1 => String::new(),
            count => format!(" (of 0 to {}; --launch chooses)", count - 1),
        };
        let name = shortened(&trace.site(launch.kernel).name, LONGEST_NAME);
        let length = duration(launch.end_ns - launch.start_ns);
        let all = counted(launch.warps.len(), "warp");
        let warps = match self.warps.len() {
            shown if shown == launch.warps.len() => all,
            shown => format!("{shown} of {all}"),
        };
        let _ = writeln!(text, "launch {}{of}: {name}, {length}, {warps}", self.launch_index);
        let lost: u64 = self.warps.iter().map(|&index| trace.warps[index].lost).sum();
        if lost > 0 {
            let lost = counted(lost as usize, "record");
            let _ = writeln!(text, "LOST {lost} of these warps: what is blank may be missing");
        }
        if trace.cost_subtracted {
            text.push_str(
                "the cost of recording is subtracted from each warp by itself: what warps did at one \
                 time is apart by what each recorded\n",
            );
        }
        if trace.device.emulated {
            text.push_str("recorded on the emulator: these are not GPU times\n");
        }
        let column = duration(self.axis.column_ns());
        let _ = writeln!(text, "a column is {column}; cells show shares of the warps' time");
    }

    /// Round times along the top, each beginning at the column that it falls into.
    fn ticks(&self, text: &mut String) {
        let start = self.axis.start_ns - self.launch.start_ns;
        let column_ns = self.axis.column_ns();
        let step = round_step(column_ns * TICK_WIDTH as f64);
        let mut line = " ".repeat(self.label_width + SHARD_WIDTH);
        let mut at = 0;
        let mut time = (start / step).ceil() * step;
        // A window far from 0 may be so short that a step is lost in rounding.
        while time + step > time {
            let column = ((time - start) / column_ns) as usize;
            let label = format!("|{}", duration(time));
            let width = label.chars().count();
            if column + width > self.axis.columns {
                break;
            }
            line += &" ".repeat(column.saturating_sub(at));
            line += &label;
            at = column + width;
            time += step;
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }

    /// A row: its label, its share of all, and of each column.
    fn row(&self, text: &mut String, label: &str, ns: &[f64], all: &[f64]) {
        let label = padded(&shortened_within(label, self.label_width), self.label_width);
        let share = ns.iter().sum::<f64>() / all.iter().sum::<f64>() * 100.0;
        let line = format!("{label} {share:>5.1} % {}", cells(ns, all));
        let _ = writeln!(text, "{}", line.trim_end());
    }

    /// Says where the host's spans are, if none of them is in the window.
    fn elsewhere(&self, text: &mut String) {
        if self.trace.host.is_empty() || !self.times.host.is_empty() {
            return;
        }
        let spans = self.trace.host.spans();
        let from = spans.map(|span| span.start_ns).fold(f64::INFINITY, f64::min);
        let to = self.trace.host.spans().map(|span| span.end_ns).fold(from, f64::max);
        let _ = writeln!(
            text,
            "the host did nothing in this window; its {} lie between {} and {}",
            counted(self.trace.host.spans().count(), "span"),
            duration(from - self.launch.start_ns),
            duration(to - self.launch.start_ns),
        );
    }

    /// Says how to see single regions, if cells hold several.
    fn zoom(&self, text: &mut String) {
        let Times { count, lengths_ns, .. } = self.times;
        let column_ns = self.axis.column_ns();
        let mean_ns = lengths_ns / count as f64;
        if count == 0 || self.warps.len() == 1 && mean_ns >= column_ns {
            return;
        }
        let start = (self.axis.start_ns - self.launch.start_ns).max(0.0);
        // At least two columns for a region of the mean length.
        let length = column_ns.min(mean_ns / 2.0) * self.axis.columns as f64;
        let launch_ns = self.launch.end_ns - self.launch.start_ns;
        let percent = |ns: f64| digits(ns / launch_ns * 100.0);
        let window = match start + length {
            end if start == 0.0 && end >= launch_ns => String::new(),
            end => format!(" --window {}%..{}%", percent(start), percent(end.min(launch_ns))),
        };
        let warp = &self.trace.warps[self.warps[0]];
        let [x, y, z] = warp.block;
        let block = match self.launch.grid_dim {
            [_, 1, 1] => x.to_string(),
            _ => format!("{x},{y},{z}"),
        };
        let _ = writeln!(text, "for single regions: --block {block} --warp {}{window}", warp.warp);
    }
}

/// A sign for each column. Any time at all is seen.
fn cells(ns: &[f64], all: &[f64]) -> String {
    let cell = |(ns, all): (&f64, &f64)| {
        let level = (ns / all * 8.0).round() as usize;
        LEVELS[if *ns > 0.0 { level.clamp(1, 8) } else { 0 }]
    };
    ns.iter().zip(all).map(cell).collect()
}

/// The largest number of these stretches of time at one moment.
fn peak(stays: impl Iterator<Item = (f64, f64)>) -> usize {
    let (mut begins, mut ends): (Vec<f64>, Vec<f64>) = stays.unzip();
    begins.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    let mut ended = 0;
    let at_once = begins.iter().enumerate().map(|(begun, begin)| {
        // A stretch that begins at another's end does not overlap it.
        ended += ends[ended..].iter().take_while(|end| *end <= begin).count();
        begun + 1 - ended
    });
    at_once.max().unwrap_or(0)
}

/// The smallest of 1, 2, 5, 10, 20, 50, .. nanoseconds (and of their decimal parts) that is at least
/// this.
fn round_step(at_least_ns: f64) -> f64 {
    let power = 10.0_f64.powf(at_least_ns.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= at_least_ns)
        .unwrap_or(at_least_ns)
}

#[cfg(test)]
mod tests {
    use super::{cells, peak, round_step};

    #[test]
    fn a_cell_is_a_share_in_eighths() {
        assert_eq!(
            cells(&[0.0, 0.1, 25.0, 51.0, 100.0, 0.0], &[100.0, 100.0, 100.0, 100.0, 100.0, 0.0]),
            " ▁▂▄█ "
        );
    }

    #[test]
    fn the_peak_is_that_of_a_moment() {
        let of = |stays: &[(f64, f64)]| peak(stays.iter().copied());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[(0.0, 5.0), (5.0, 9.0)]), 1);
        assert_eq!(of(&[(0.0, 5.0), (4.0, 9.0), (4.5, 4.6), (4.6, 4.7), (8.0, 9.0)]), 3);
    }

    #[test]
    fn steps_are_round_and_large_enough() {
        for (at_least, step) in [(1.0, 1.0), (1.5, 2.0), (3.0, 5.0), (0.06, 0.1), (7e6, 1e7)] {
            assert!((round_step(at_least) / step - 1.0).abs() < 1e-9, "{at_least}");
        }
    }
}
