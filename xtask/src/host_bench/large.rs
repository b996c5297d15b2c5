//! Whole processes over the largest captures that are measured.

use std::path::Path;

use serde_json::{Value, json};

use super::plan::Programs;
use super::{Results, load, process};
use crate::Error;

/// Records of each capture.
const RECORDS: u64 = 100_000_000;
/// What they are, as the example `measure` calls it.
const CONTENTS: [&str; 2] = ["regions", "mixed"];
/// What is run on each capture, which stands for `CAPTURE`. Each writes to nowhere.
const COMMANDS: [&str; 16] = [
    "info CAPTURE",
    "check CAPTURE",
    "stats CAPTURE",
    "timeline CAPTURE",
    "diff CAPTURE CAPTURE",
    "report CAPTURE -o -",
    "export CAPTURE --to perfetto",
    "export CAPTURE --to perfetto --gzip",
    "export CAPTURE --to chrome",
    "export CAPTURE --to hatchet",
    "export CAPTURE --to folded",
    "export CAPTURE --to flamegraph",
    "export CAPTURE --to events-csv",
    "export CAPTURE --to events-json",
    "export CAPTURE --to parquet",
    "export CAPTURE --to arrow",
];

/// Measures every command once, one after the other. Captures lie in `scratch`, one at a time.
pub(crate) fn measure(
    programs: &Programs,
    scratch: &Path,
    results: &mut Results,
) -> Result<(), Error> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| format!("{} is no text", path.display()))
    };
    let profiler = text(&programs.profiler)?;
    let capture = text(&scratch.join("made-up.capture"))?;
    for content in CONTENTS {
        let maker = text(&programs.measure)?;
        let records = RECORDS.to_string();
        let making = [maker.as_str(), "capture", &records, "1", content, &capture];
        process::measure(&making.map(str::to_owned))?;
        let file_bytes = std::fs::metadata(&capture)?.len();
        for command in COMMANDS {
            let words =
                command.split(' ').map(|word| if word == "CAPTURE" { &capture } else { word });
            let words = [profiler.as_str()].into_iter().chain(words);
            let cost = process::measure(&words.map(str::to_owned).collect::<Vec<_>>())?;
            results.add(json!({
                "kind": "large",
                "content": content,
                "records": RECORDS,
                "capture_bytes": file_bytes,
                "command": command.replace(" CAPTURE", ""),
                "seconds": cost.seconds,
                "processor_seconds": cost.processor_seconds,
                "peak_mib": cost.peak_bytes >> 20,
                "written_bytes": cost.written_bytes,
                "load": load(),
            }))?;
        }
        std::fs::remove_file(&capture)?;
    }
    Ok(())
}

/// A row for each command: seconds, peak memory and bytes of each content.
pub(crate) fn table(lines: &[Value]) -> String {
    let mut table = String::from(
        "| command | seconds | MiB | bytes a record | mixed: seconds | MiB | bytes a record |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let lines: Vec<&Value> = lines.iter().filter(|line| line["kind"] == "large").collect();
    let commands = lines.iter().filter(|line| line["content"] == CONTENTS[0]);
    for command in commands.map(|line| &line["command"]) {
        table += &format!("| {} |", command.as_str().unwrap_or("unknown"));
        for content in CONTENTS {
            let mut of = lines.iter();
            let of = of.find(|line| line["content"] == content && line["command"] == *command);
            table += &of.map_or_else(|| " - | - | - |".to_owned(), |line| cells(line));
        }
        table.push('\n');
    }
    if lines.is_empty() { String::new() } else { table }
}

fn cells(line: &Value) -> String {
    let number = |name: &str| line[name].as_f64().unwrap_or(f64::NAN);
    let each = number("written_bytes") / number("records");
    let each = if each < 0.05 { "-".to_owned() } else { format!("{each:.1}") };
    format!(" {:.1} | {:.0} | {each} |", number("seconds"), number("peak_mib"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::table;

    #[test]
    fn a_command_is_a_row_with_both_contents() {
        let line = |command: &str, content: &str, seconds: f64| {
            json!({
                "kind": "large", "command": command, "content": content, "records": 1000,
                "seconds": seconds, "peak_mib": 7, "written_bytes": 2500,
            })
        };
        let lines = [line("stats", "regions", 1.0), line("info", "regions", 2.0)];
        let lines = [&lines[..], &[line("stats", "mixed", 3.0)]].concat();
        let written = table(&lines);
        let rows: Vec<&str> = written.lines().skip(2).collect();
        let wanted =
            ["| stats | 1.0 | 7 | 2.5 | 3.0 | 7 | 2.5 |", "| info | 2.0 | 7 | 2.5 | - | - | - |"];
        assert_eq!(rows, wanted);
        assert_eq!(table(&[]), "");
    }
}
