//! What is said at the end, and the captures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use profiler_ptx::Selection;
use profiler_trace::{Capture, Decoder, GroupBy, Stats, StatsQuery};
use profiler_wire::spool::{Launch, Settings};

use super::collect::{Kernel, Recording};
use crate::console::Console;
use crate::exit::{Error, cannot_write};
use crate::terminal::{fitted, width_of_stderr};
use crate::units::counted;

/// Kernels that are named, at most.
const NAMED: usize = 20;
/// Kernels of which the regions are shown, and regions of each, at most.
const SHOWN: (usize, usize) = (3, 8);

/// Refuses a name under which nothing can be written, before the program runs.
pub(crate) fn check_output(output: &Path) -> Result<(), Error> {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let refused = |what: String, help: &str| Err(Error::new(what).with_help(help));
    if output.file_name().is_none() || output.to_string_lossy().ends_with('/') {
        return refused(
            format!("{} is no name of a capture", output.display()),
            "give one by `--output`, like `traces/train`",
        );
    }
    if !folder.is_dir() {
        return refused(
            format!("there is no folder {}", folder.display()),
            "make it, or give another name by `--output`",
        );
    }
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => refused(
            format!("nothing can be written to the folder {}: {error}", folder.display()),
            "give a name in another folder by `--output`",
        ),
    }
}

/// Writes the captures, and says what was recorded.
pub(crate) fn write(
    recordings: &[Recording],
    refused: &[(String, String)],
    output: &Path,
    console: &Console,
) -> Result<Vec<PathBuf>, Error> {
    let mut paths = Vec::new();
    for recording in recordings {
        for (index, capture) in recording.captures.iter().enumerate() {
            if capture.modules.is_empty() && capture.host.spans.is_empty() {
                continue;
            }
            let process = (recordings.len() > 1).then_some(recording.process);
            let path = named(output, process, index);
            capture
                .write(&path)
                .map_err(|error| cannot_write(&path.display().to_string(), &error))?;
            paths.push(path);
        }
    }
    let rows = rows(recordings, refused);
    console.note(&text(recordings, &rows));
    let mut captures = recordings.iter().flat_map(|it| &it.captures);
    if let Some(capture) = captures.find(|capture| !capture.modules.is_empty()) {
        regions(capture, &rows, console);
    }
    for path in &paths {
        console.note(&format!(
            "wrote {} (`profiler stats`, `export`, `report` read it)",
            path.display()
        ));
    }
    Ok(paths)
}

/// Lists kernels with the regions that would be recorded.
pub(crate) fn list(
    recordings: &[Recording],
    refused: &[(String, String)],
    folder: &Path,
    console: &Console,
) {
    let mut kernels: BTreeMap<&str, (&Kernel, u64)> = BTreeMap::new();
    for kernel in recordings.iter().flat_map(|recording| &recording.kernels) {
        let launches = kernel.launches.unwrap_or(0);
        kernels.entry(&kernel.name).or_insert((kernel, 0)).1 += launches;
    }
    let mut text = format!("{}\n", counted(kernels.len(), "kernel"));
    for (name, (kernel, launches)) in kernels {
        let es = if launches == 1 { "" } else { "es" };
        let _ = writeln!(text, "  {name}: {launches} launch{es}");
        let reason = refused.iter().find(|(refused, _)| refused == name).map(|(_, reason)| reason);
        let lines = match (reason, kernel.records) {
            (Some(reason), _) => vec![format!("not recorded: {reason}")],
            (None, false) => vec![format!("not recorded: {}", kernel.reason)],
            (None, true) => kernel.regions(folder),
        };
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    console.note(text.trim_end());
}

fn named(output: &Path, process: Option<u32>, gpu: usize) -> PathBuf {
    let text = output.to_string_lossy();
    let mut name = text.strip_suffix(".capture").unwrap_or(&text).to_owned();
    if let Some(process) = process {
        let _ = write!(name, ".{process}");
    }
    if gpu > 0 {
        let _ = write!(name, ".gpu{gpu}");
    }
    PathBuf::from(name + ".capture")
}

/// The extents of a grid and of its blocks.
type Shape = ([u32; 3], [u32; 3]);

/// A kernel over all processes.
#[derive(Default)]
struct Row {
    launches: u64,
    recorded: u64,
    /// Nanoseconds of its recorded and other launches.
    times: [Vec<u64>; 2],
    /// The shortest recorded launch and the shortest other of each shape. The longer ones of short kernels wait for
    /// the host, which launches what reads the time apart.
    shortest: BTreeMap<Shape, [Option<u64>; 2]>,
    reason: String,
    records: bool,
}

type Rows<'r> = BTreeMap<&'r str, Row>;

fn rows<'r>(recordings: &'r [Recording], refused: &[(String, String)]) -> Rows<'r> {
    let mut rows = Rows::new();
    for recording in recordings {
        for (index, kernel) in recording.kernels.iter().enumerate() {
            let row = rows.entry(&kernel.name).or_default();
            row.add(kernel, recording.launches.iter().filter(|it| it.kernel as usize == index));
        }
    }
    for (kernel, reason) in refused {
        if let Some(row) = rows.get_mut(kernel.as_str()) {
            row.reason.clone_from(reason);
        }
    }
    rows
}

/// Shows the regions of the kernels that took longest.
fn regions(capture: &Capture, rows: &Rows<'_>, console: &Console) {
    let sites = capture.modules.iter().flat_map(|module| module.sites.sites());
    let here: BTreeSet<&str> = sites.map(|site| site.name.as_str()).collect();
    let mut recorded: Vec<_> = rows.iter().filter(|(name, _)| here.contains(**name)).collect();
    recorded.sort_by_key(|(_, row)| std::cmp::Reverse(row.total()));
    let query = StatsQuery::new().by(GroupBy::Name);
    let query = recorded.iter().take(SHOWN.0).fold(query, |query, (name, _)| query.kernel(name));
    let decoder = Decoder::new(capture);
    let mut stats = console.work("gathering statistics", || Stats::of(&decoder.streamed(), &query));
    let mut kernels = BTreeMap::<_, usize>::new();
    stats.rows.retain_mut(|row| {
        row.cycles = None;
        let before = kernels.entry(row.kernel).or_default();
        *before += 1;
        *before <= 1 + SHOWN.1
    });
    // The device, and how much was lost.
    stats.notes.truncate(2);
    stats.diagnostics.list.clear();
    if !stats.rows.is_empty() {
        console.note(fitted(&stats, width_of_stderr()).trim_end());
    }
}

/// Says which of the chosen regions no kernel has.
pub(crate) fn missing(
    settings: &Settings,
    recordings: &[Recording],
    folder: &Path,
    console: &Console,
) {
    if settings.regions.is_empty() {
        return;
    }
    let kernels = recordings.iter().flat_map(|recording| &recording.kernels);
    let found: BTreeSet<String> = kernels.flat_map(|kernel| kernel.regions(folder)).collect();
    for text in &settings.regions {
        let selection = text.parse::<Selection>();
        if selection.is_ok_and(|selection| !found.contains(selection.name())) {
            console.note(&format!("no kernel that records has code of `{text}`"));
        }
    }
}

fn text(recordings: &[Recording], rows: &Rows<'_>) -> String {
    let (recorded, whole): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, row)| row.records);
    if rows.is_empty() {
        return "no kernel was launched through the CUDA driver; programs that are linked statically or run as \
                another user cannot be recorded"
            .to_owned();
    }
    let mut text = format!("{} recorded", counted(recorded.len(), "kernel"));
    let overheads = sorted(recorded.iter().flat_map(|(_, row)| row.overheads()));
    if let Some(overhead) = median(&overheads) {
        let _ = write!(text, "; recorded launches took {overhead:+.1} % (median");
        if let [_, .., _] = overheads[..] {
            let nearly_all = overheads[(overheads.len() * 95).div_ceil(100) - 1];
            let _ = write!(text, "; 95th percentile {nearly_all:+.1} %");
        }
        text.push(')');
    }
    text.push('\n');
    longest(&mut text, recorded);
    if !whole.is_empty() {
        let _ = writeln!(text, "{} shown as whole launches:", counted(whole.len(), "kernel"));
        longest(&mut text, whole);
    }
    if recordings.iter().any(|recording| !recording.is_whole) {
        let _ = writeln!(
            text,
            "a process was ended from outside: what it recorded last may be missing"
        );
    }
    text.trim_end().to_owned()
}

/// The kernels that took longest.
fn longest(text: &mut String, mut rows: Vec<(&&str, &Row)>) {
    rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.total()));
    let more = rows.len().saturating_sub(NAMED);
    for (name, row) in rows.into_iter().take(NAMED) {
        let mut shown: String = name.chars().take(60).collect();
        if shown.len() < name.len() {
            shown.push('…');
        }
        let es = if row.launches == 1 { "" } else { "es" };
        let _ = write!(text, "  {shown}: {} launch{es}", row.launches);
        if row.recorded > 0 {
            let _ = write!(text, ", {} recorded", row.recorded);
        }
        if let Some(ns) = row.typical() {
            let _ = write!(text, ", {:.1} µs", ns / 1000.0);
        }
        if let Some(overhead) = median(&sorted(row.overheads())) {
            let _ = write!(text, ", {overhead:+.1} % when recorded");
        }
        if !row.records && !row.reason.is_empty() {
            let _ = write!(text, " ({})", row.reason);
        }
        text.push('\n');
    }
    if more > 0 {
        let _ = writeln!(text, "  and {more} more");
    }
}

impl Row {
    fn add<'l>(&mut self, kernel: &Kernel, launches: impl Iterator<Item = &'l Launch>) {
        let launches: Vec<&Launch> = launches.collect();
        let seen = launches.iter().map(|launch| launch.number).max().unwrap_or(0);
        self.launches += kernel.launches.unwrap_or(seen);
        self.records |= kernel.records;
        if !kernel.reason.is_empty() {
            self.reason.clone_from(&kernel.reason);
        }
        for launch in &launches {
            self.recorded += u64::from(launch.is_recorded);
            self.times[usize::from(!launch.is_recorded)].push(time(launch));
        }
        // The first launch of all meets cold caches.
        for launch in launches.iter().filter(|launch| launch.number > 1) {
            let both = self.shortest.entry((launch.grid, launch.block)).or_default();
            let shortest = &mut both[usize::from(!launch.is_recorded)];
            *shortest = Some(shortest.map_or(time(launch), |ns| ns.min(time(launch))));
        }
    }

    /// How much longer recorded launches take, in per cent, for each shape.
    fn overheads(&self) -> impl Iterator<Item = f64> {
        self.shortest.values().filter_map(|both| {
            let [with, without] = both.map(|ns| ns.map(|ns| ns as f64));
            Some(100.0 * (with? / without? - 1.0))
        })
    }

    fn typical(&self) -> Option<f64> {
        let [recorded, others] = &self.times;
        let times = if others.is_empty() { recorded } else { others };
        median(&sorted(times.iter().map(|ns| *ns as f64)))
    }

    fn total(&self) -> u64 {
        self.typical().map_or(0, |ns| (ns * self.launches as f64) as u64)
    }
}

fn time(launch: &Launch) -> u64 {
    launch.ns[1].saturating_sub(launch.ns[0])
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len().checked_sub(1)? / 2;
    Some((sorted[middle] + sorted[sorted.len() / 2]) / 2.0)
}
