//! Rows of cells as text.

use std::collections::HashMap;
use std::fmt::Write;

use anstyle::{Ansi256Color, Color, Style};
use profiler_trace::{Launch, SiteIndex, Trace, shortened};

use super::cells::{Cell, Filled};
use super::host::{self, Host};
use super::rows::{ACTIVE, RowKind};
use crate::terminal::{padded, widest};
use crate::units::{counted, duration};

/// Regions that have a letter of their own; all others share [`OTHERS`].
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
/// The sign of all regions that found no letter.
const OTHERS: char = '?';
/// The sign of time in the kernel and in no region.
const NO_REGION: char = '·';
/// Signs of a number between none and most.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Colours of the 256 that terminals have, near those of Okabe and Ito (2008), which people who see
/// colours differently can tell apart. With more regions than colours they repeat; letters do not.
const COLORS: [u8; 8] = [74, 214, 36, 228, 32, 166, 175, 250];
/// Black on any of them.
const INK: u8 = 16;
/// What the host did, in light letters on dark grey, which is none of [`COLORS`].
const HOST_STYLE: Style = Style::new()
    .fg_color(Some(Color::Ansi256(Ansi256Color(255))))
    .bg_color(Some(Color::Ansi256(Ansi256Color(239))));
/// Columns from one time along the top to the next, at least.
const LABEL_WIDTH: usize = 12;
/// A name in the legend is cut where it would push all else away.
const LONGEST_NAME: usize = 40;

/// All that is drawn.
pub(super) struct Drawing<'t> {
    pub(super) trace: &'t Trace,
    pub(super) launch_index: usize,
    pub(super) launch: &'t Launch,
    /// Begin and end, in nanoseconds from the begin of the launch.
    pub(super) window: (f64, f64),
    pub(super) kind: RowKind,
    pub(super) columns: usize,
    pub(super) label_width: usize,
    /// How many warps the row with the most of them shows.
    pub(super) warps_a_row: usize,
    pub(super) host: Host<'t>,
    /// Labels, and what filled the cells.
    pub(super) rows: Vec<(String, Filled)>,
}

/// The legend's words for [`NO_REGION`].
const NONE: &str = "in no region";

/// How a region looks.
#[derive(Clone, Copy)]
struct Look {
    letter: char,
    style: Style,
}

/// How a region looks that has no look.
const UNKNOWN: Look = Look { letter: OTHERS, style: Style::new() };

impl Drawing<'_> {
    /// The drawing: title, axis, rows, how many warps were active, legend.
    pub(super) fn text(&self) -> String {
        let regions = self.regions();
        let (looks, host_letters) = self.looks(&regions);
        let mut text = String::new();
        self.title(&mut text);
        self.axis(&mut text);
        self.host(&mut text, &host_letters);
        for (label, filled) in &self.rows {
            text.push_str(&padded(label, self.label_width + 1));
            self.cells(&mut text, &filled.cells, &looks);
        }
        self.active(&mut text);
        self.legend(&mut text, &regions, &looks);
        self.host_legend(&mut text, &host_letters);
        text
    }

    /// The regions of the window with their times, the longest first.
    fn regions(&self) -> Vec<(SiteIndex, f64)> {
        let mut sums: HashMap<SiteIndex, f64> = HashMap::new();
        for (_, filled) in &self.rows {
            for (site, ns) in &filled.regions_ns {
                *sums.entry(*site).or_default() += ns;
            }
        }
        let mut regions: Vec<_> = sums.into_iter().filter(|(_, ns)| *ns > 0.0).collect();
        regions.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        regions
    }

    /// A look for each region, and a letter for each name of the host's: one of its name if that is
    /// free.
    fn looks(&self, regions: &[(SiteIndex, f64)]) -> (HashMap<SiteIndex, Look>, Vec<char>) {
        let mut free: Vec<char> = LETTERS.chars().collect();
        let mut take = |name: &str| {
            let own = name.chars().flat_map(|c| [c, c.to_ascii_uppercase()]);
            let letter = own
                .filter(|letter| free.contains(letter))
                .chain(free.first().copied())
                .next()
                .unwrap_or(OTHERS);
            free.retain(|&other| other != letter);
            letter
        };
        let looks = regions.iter().enumerate().map(|(index, (site, _))| {
            let letter = take(&self.trace.site(*site).name);
            let color = Ansi256Color(COLORS[index % COLORS.len()]);
            (*site, Look { letter, style: Ansi256Color(INK).on(color) })
        });
        let looks = looks.collect();
        (looks, self.host.names.iter().map(|(name, _)| take(name.text)).collect())
    }

    fn title(&self, text: &mut String) {
        let (start, end) = self.window;
        let launch = self.launch;
        let of = match self.trace.launches.len() {
            1 => String::new(),
            count => format!(" (of 0 to {}; --launch chooses)", count - 1),
        };
        let _ = writeln!(
            text,
            "launch {}{of}: {}, {}, {}",
            self.launch_index,
            shortened(&self.trace.site(launch.kernel).name, LONGEST_NAME),
            duration(launch.end_ns - launch.start_ns),
            counted(launch.warps.len(), "warp"),
        );
        let warps = self.trace.warps.get(launch.warps.clone()).unwrap_or_default();
        let lost: u64 = warps.iter().map(|warp| warp.lost).sum();
        if lost > 0 {
            let _ =
                writeln!(text, "LOST {lost} records of this launch: what is blank may be missing");
        }
        if self.trace.cost_subtracted {
            let _ = writeln!(
                text,
                "the cost of recording is subtracted from each warp by itself: what warps did at one \
                 time is apart by what each recorded"
            );
        }
        if self.trace.device.emulated {
            let _ = writeln!(text, "recorded on the emulator: these are not GPU times");
        }
        let kind = match self.kind {
            RowKind::Warp => "warps",
            RowKind::Block => "blocks",
            RowKind::Sm => "SMs",
        };
        let column = (end - start) / self.columns as f64;
        let together = match self.warps_a_row {
            0 | 1 => String::new(),
            warps => format!(", up to {warps} warps a row"),
        };
        let column = duration(column);
        let _ = writeln!(text, "{kind} from top to bottom{together}; a column is {column}");
    }

    /// Round times along the top, each beginning at the column that it falls into.
    fn axis(&self, text: &mut String) {
        let (start, end) = self.window;
        let column_ns = (end - start) / self.columns as f64;
        let step = round_step(column_ns * LABEL_WIDTH as f64);
        let mut line = " ".repeat(self.label_width + 1);
        let mut at = 0;
        let mut time = (start / step).ceil() * step;
        // A window far from 0 may be so short that a step is lost in rounding.
        while time <= end && time + step > time {
            let column = ((time - start) / column_ns) as usize;
            let label = format!("|{}", duration(time));
            let width = label.chars().count();
            if column + width > self.columns {
                break;
            }
            line += &" ".repeat(column.saturating_sub(at));
            line += &label;
            at = column + width;
            time += step;
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }

    /// The rows of the host's threads, and what is not in them.
    fn host(&self, text: &mut String, letters: &[char]) {
        for (label, cells) in &self.host.rows {
            text.push_str(&padded(label, self.label_width + 1));
            for run in cells.chunk_by(|left, right| left == right) {
                let Some(name) = run[0] else {
                    text.extend(run.iter().map(|_| ' '));
                    continue;
                };
                let letters: String = run.iter().map(|_| letters[name]).collect();
                let _ = write!(text, "{HOST_STYLE}{letters}{HOST_STYLE:#}");
            }
            end_line(text);
        }
        if let Some(missing) = &self.host.missing {
            let _ = writeln!(text, "{missing}");
        }
    }

    fn cells(&self, text: &mut String, cells: &[Cell], looks: &HashMap<SiteIndex, Look>) {
        for run in cells.chunk_by(|left, right| left == right) {
            match run[0] {
                Cell::Outside => text.extend(run.iter().map(|_| ' ')),
                Cell::NoRegion => text.extend(run.iter().map(|_| NO_REGION)),
                Cell::Region(site) => {
                    let Look { letter, style } = looks.get(&site).copied().unwrap_or(UNKNOWN);
                    let letters: String = run.iter().map(|_| letter).collect();
                    let _ = write!(text, "{style}{letters}{style:#}");
                }
            }
        }
        end_line(text);
    }

    /// How many warps were in the kernel, over time.
    fn active(&self, text: &mut String) {
        let (start, end) = self.window;
        let width = (end - start) / self.columns as f64;
        let mut sums = vec![0.0; self.columns];
        for (_, filled) in &self.rows {
            for (sum, ns) in sums.iter_mut().zip(&filled.kernel_ns) {
                *sum += ns / width;
            }
        }
        let most = sums.iter().copied().fold(0.0, f64::max);
        if most <= 0.0 {
            let _ = writeln!(text, "no warp was in the kernel in this window");
            return;
        }
        let levels = sums.iter().map(|sum| {
            // Any warp at all is seen.
            let level = (sum / most * 8.0).round() as usize;
            LEVELS[if *sum > 0.0 { level.clamp(1, 8) } else { 0 }]
        });
        let levels: String = levels.collect();
        let _ = writeln!(
            text,
            "{ACTIVE:<width$} {}",
            levels.trim_end_matches(' '),
            width = self.label_width
        );
        let stays = self.rows.iter().flat_map(|(_, filled)| &filled.stays).copied();
        let warps = counted(peak(stays), "warp");
        let _ = writeln!(text, "active: at most {warps} in the kernel at a time");
    }

    fn legend(
        &self,
        text: &mut String,
        regions: &[(SiteIndex, f64)],
        looks: &HashMap<SiteIndex, Look>,
    ) {
        let kernel: f64 = self.rows.iter().flat_map(|(_, filled)| &filled.kernel_ns).sum();
        let name = |site: &SiteIndex| shortened(&self.trace.site(*site).name, LONGEST_NAME);
        let names = regions.iter().map(|(site, _)| name(site));
        let names: Vec<String> = names.collect();
        let width = widest(names.iter().map(String::as_str), NONE.len());
        let none: f64 = self.rows.iter().map(|(_, filled)| filled.no_region_ns).sum();
        if kernel <= 0.0 {
            return;
        }
        let _ = writeln!(text, "\nregions, and their share of the warps' time in the kernel:");
        let mut line = |look: Look, name: &str, ns: f64| {
            let Look { letter, style } = look;
            let share = ns / kernel * 100.0;
            let _ = writeln!(
                text,
                "  {style}{letter}{style:#} {}  {:>10}  {share:>5.1} %",
                padded(name, width),
                duration(ns),
            );
        };
        for ((site, ns), name) in regions.iter().zip(&names) {
            line(looks.get(site).copied().unwrap_or(UNKNOWN), name, *ns);
        }
        line(Look { letter: NO_REGION, style: Style::new() }, NONE, none);
    }

    fn host_legend(&self, text: &mut String, letters: &[char]) {
        let Host { names, .. } = &self.host;
        if names.is_empty() {
            return;
        }
        let line = |name: &host::Name<'_>| {
            let text = shortened(name.text, LONGEST_NAME);
            if name.is_launch { format!("{text} (launch)") } else { text }
        };
        let lines: Vec<String> = names.iter().map(|(name, _)| line(name)).collect();
        let width = widest(lines.iter().map(String::as_str), NONE.len());
        let within = match self.trace.host.uncertainty_ns {
            0.0 => String::new(),
            ns => format!("; times within {} of the device's", duration(ns)),
        };
        let _ = writeln!(
            text,
            "\nwhat the host did, the time of each span without those within it{within}:"
        );
        for ((name, (_, ns)), letter) in lines.iter().zip(names).zip(letters) {
            let (name, ns) = (padded(name, width), duration(*ns));
            let _ = writeln!(text, "  {HOST_STYLE}{letter}{HOST_STYLE:#} {name}  {ns:>10}");
        }
    }
}

/// How many of these stretches of time there are at once, at most.
fn peak(stays: impl Iterator<Item = (f64, f64)>) -> usize {
    let (mut begins, mut ends): (Vec<f64>, Vec<f64>) = stays.unzip();
    begins.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    let mut ended = 0;
    let at_once = begins.iter().enumerate().map(|(begun, begin)| {
        // What begins where another ends is not there with it.
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

/// Ends a line of cells, without the blanks at its end.
fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{peak, round_step};

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
