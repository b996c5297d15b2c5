//! The rates that criterion measures, in memory that is used again.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::Results;
use crate::{Error, cargo, target};

/// The groups of the benchmarks.
const GROUPS: [&str; 5] = ["decode", "write", "page", "tables", "stats"];

/// Runs the benchmarks and gathers their medians.
pub(crate) fn measure(results: &mut Results) -> Result<(), Error> {
    let folder = target().join("criterion");
    for group in GROUPS {
        // What an earlier benchmark measured is no result of this one.
        match fs::remove_dir_all(folder.join(group)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    for (package, bench) in [
        ("profiler-trace", "steps"),
        ("profiler-trace", "stats"),
        ("profiler-report", "page"),
        ("profiler-parquet", "write"),
    ] {
        cargo()
            .args(["bench", "--package", package, "--bench", bench, "--"])
            .args(["--warm-up-time", "1", "--measurement-time", "2", "--noplot"])
            .run()?;
    }
    for group in GROUPS {
        for line in of_group(&folder.join(group))? {
            results.add(line)?;
        }
    }
    Ok(())
}

/// A line for each benchmark of a group, which lie as `NAME/RECORDS/new/estimates.json`.
fn of_group(folder: &Path) -> Result<Vec<Value>, Error> {
    let mut lines = Vec::new();
    for step in names(folder)? {
        for size in names(&folder.join(&step))? {
            let Ok(records) = size.parse::<u64>() else { continue };
            let file = folder.join(&step).join(&size).join("new/estimates.json");
            let text = fs::read_to_string(&file)
                .map_err(|error| format!("cannot read {}: {error}", file.display()))?;
            let estimates: Value = serde_json::from_str(&text)?;
            let ns = estimates["median"]["point_estimate"]
                .as_f64()
                .ok_or_else(|| format!("{} holds no median", file.display()))?;
            lines.push(json!({
                "kind": "rate",
                "step": step,
                "records": records,
                "million_records_per_second": records as f64 / ns * 1e3,
            }));
        }
    }
    Ok(lines)
}

/// What lies in a folder, in order.
fn names(folder: &Path) -> Result<Vec<String>, Error> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<String>, std::io::Error>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_become_rates() {
        let folder = tempfile::tempdir().expect("a folder");
        let new = folder.path().join("pair/1000/new");
        fs::create_dir_all(&new).expect("a folder");
        fs::create_dir_all(folder.path().join("pair/report")).expect("a folder");
        let text = r#"{"median": {"point_estimate": 8000.0}}"#;
        fs::write(new.join("estimates.json"), text).expect("a file");
        let lines = of_group(folder.path()).expect("a group");
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0]["million_records_per_second"], 125.0);
        fs::write(new.join("estimates.json"), "{}").expect("a file");
        assert!(of_group(folder.path()).is_err());
    }
}
