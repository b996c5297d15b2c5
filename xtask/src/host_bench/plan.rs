//! Which commands are measured.

use std::path::{Path, PathBuf};

use super::Extent;
use crate::Error;

/// The programs that take part.
pub(crate) struct Programs {
    pub(crate) profiler: PathBuf,
    pub(crate) measure: PathBuf,
    pub(crate) synthetic_capture: PathBuf,
    pub(crate) inferno: PathBuf,
    /// A Python with the package, if there is one.
    pub(crate) duckdb: Option<PathBuf>,
}

/// What a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is measured.
    Step,
    /// It is measured beside a step, as it does what that does.
    Peer,
    /// It only writes what others read.
    Preparation,
}

/// A command, and what it is called.
pub(crate) struct Command {
    pub(crate) kind: Kind,
    pub(crate) step: String,
    pub(crate) words: Vec<String>,
    /// Where its output is kept, for others to read.
    pub(crate) output: Option<PathBuf>,
}

/// Formats of `profiler export`, and what it is told besides.
const EXPORTS: [(&str, &str, &[&str]); 10] = [
    ("export perfetto", "perfetto", &[]),
    ("export perfetto, gzip", "perfetto", &["--gzip"]),
    ("export chrome", "chrome", &[]),
    ("export hatchet", "hatchet", &[]),
    ("export folded", "folded", &[]),
    ("export events-csv", "events-csv", &[]),
    ("export events-json", "events-json", &[]),
    ("export parquet", "parquet", &[]),
    ("export arrow", "arrow", &[]),
    ("export flamegraph", "flamegraph", &[]),
];

/// What DuckDB is asked: what the statistics say of each region.
const STATISTICS: &str = "SELECT kernel, name, count(end_ns), sum(end_ns - start_ns), \
    avg(end_ns - start_ns), stddev_samp(end_ns - start_ns), min(end_ns - start_ns), \
    quantile_disc(end_ns - start_ns, [0.5, 0.95, 0.99]), max(end_ns - start_ns) \
    FROM 'FILE' WHERE kind IN ('kernel', 'region') GROUP BY kernel, name";

/// All commands over a capture of so many records, in the order in which they can run.
pub(crate) fn commands(
    programs: &Programs,
    folder: &Path,
    records: u64,
) -> Result<Vec<Command>, Error> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is no text", path.display()))
    };
    let path = |name: &str| folder.join(name);
    let capture = text(&path("made-up.capture"))?;
    let profiler = text(&programs.profiler)?;
    let command = |kind, step: &str, words: &[&str], output: Option<&str>| Command {
        kind,
        step: step.to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        output: output.map(path),
    };
    let step = |name: &str, words: &[&str]| {
        let words = [&[profiler.as_str()], words].concat();
        command(Kind::Step, name, &words, None)
    };
    let synthetic = text(&programs.synthetic_capture)?;
    let size = records.to_string();
    let mut commands = vec![
        command(Kind::Preparation, "capture", &[&synthetic, &size, &capture], None),
        step("info", &["info", &capture]),
        step("check", &["check", &capture]),
        step("stats", &["stats", &capture]),
        step("stats, balance", &["stats", &capture, "--show", "balance"]),
        step("stats, waits", &["stats", &capture, "--show", "waits"]),
        step("stats, critical path", &["stats", &capture, "--show", "critical-path"]),
        step("timeline", &["timeline", &capture]),
        step("report", &["report", &capture, "-o", "-"]),
        step("diff, with itself", &["diff", &capture, &capture]),
    ];
    for (name, format, options) in EXPORTS {
        commands.push(step(name, &[&["export", &capture, "--to", format], options].concat()));
    }
    let kept = |name: &str, format: &[&str]| {
        let words = [&[profiler.as_str(), "export", capture.as_str(), "--to"], format].concat();
        command(Kind::Preparation, name, &words, Some(name))
    };
    let file = |name: &str| text(&path(name));
    let plain = file("events.pftrace")?;
    commands.push(kept("events.pftrace", &["perfetto"]));
    commands.push(command(
        Kind::Peer,
        "gzip -3 of the exported timeline",
        &["gzip", "-3", "--stdout", &plain],
        None,
    ));
    commands.push(kept("events.folded", &["folded", "--group-by", "warp"]));
    let (inferno, folded) = (text(&programs.inferno)?, file("events.folded")?);
    commands.push(command(
        Kind::Peer,
        "inferno, from folded stacks by warp",
        &[&inferno, &folded],
        None,
    ));
    let Some(python) = &programs.duckdb else { return Ok(commands) };
    let python = text(python)?;
    commands.push(kept("events.parquet", &["parquet"]));
    commands.push(kept("events.csv", &["events-csv"]));
    let asked = |name: &str, sql: &str| {
        let program = "import duckdb, sys\n\
            duckdb.sql('SET threads = 1')\n\
            answer = duckdb.sql(sys.argv[1])\n\
            None if answer is None else answer.fetchall()";
        command(Kind::Peer, name, &[&python, "-c", program, sql], None)
    };
    for (name, table) in [
        ("DuckDB, statistics from Parquet", "events.parquet"),
        ("DuckDB, statistics from CSV", "events.csv"),
    ] {
        commands.push(asked(name, &STATISTICS.replace("FILE", &file(table)?)));
    }
    let parquet = file("events.parquet")?;
    for (name, format) in [
        ("DuckDB, Parquet to CSV", "FORMAT csv"),
        ("DuckDB, Parquet to JSON", "FORMAT json"),
        ("DuckDB, Parquet to Parquet", "FORMAT parquet, COMPRESSION zstd"),
    ] {
        let copy = format!("COPY (FROM '{parquet}') TO '/dev/null' ({format})");
        commands.push(asked(name, &copy));
    }
    Ok(commands)
}

/// A step of the library over a capture in memory.
pub(crate) struct Step {
    pub(crate) step: &'static str,
    pub(crate) content: &'static str,
    pub(crate) records: u64,
    pub(crate) threads: usize,
}

impl Step {
    const fn new(step: &'static str, records: u64) -> Self {
        Self { step, content: "regions", records, threads: 1 }
    }
}

/// The steps of the library that are measured.
pub(crate) fn library(extent: &Extent) -> Vec<Step> {
    let steps = ["pair", "visit", "decode", "stats", "perfetto"];
    let sizes = extent.sizes.iter().map(|size| size.0);
    let mut all: Vec<Step> =
        sizes.flat_map(|records| steps.map(|step| Step::new(step, records))).collect();
    all.extend(["visit", "perfetto"].map(|step| Step::new(step, extent.largest)));
    let most = extent.sizes[extent.sizes.len() - 1].0;
    all.push(Step { threads: 2, ..Step::new("decode", most) });
    // What is held of marks and of regions on a track of a number grows with them.
    let contents = ["mixed", "values", "track", "marks"];
    all.extend(contents.map(|content| Step { content, ..Step::new("perfetto", most) }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_read_was_written_before() {
        let folder = Path::new("folder");
        let programs = Programs {
            profiler: "profiler".into(),
            measure: "measure".into(),
            synthetic_capture: "synthetic".into(),
            inferno: "inferno".into(),
            duckdb: Some("python".into()),
        };
        let commands = commands(&programs, folder, 1_000).expect("paths of text");
        let mut written = vec![folder.join("made-up.capture")];
        for command in &commands[1..] {
            let read: Vec<&String> =
                command.words.iter().filter(|word| word.starts_with("folder/")).collect();
            assert!(read.iter().all(|word| written.contains(&PathBuf::from(word))), "{read:?}");
            written.extend(command.output.clone());
        }
        assert_eq!(commands.iter().filter(|command| command.kind == Kind::Peer).count(), 7);
    }
}
