//! The mean regions of the cross-check side by side, as Markdown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Body, KIND, PROFILER, TEST};
use crate::{Failure, lines};

/// The file that the table is written to.
const FILE: &str = "cross-check.md";

/// A body and the warps of a block.
type Row = (Body, u64);

/// What one profiler says of one row.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    /// Means in cycles: true, recorded, and less the cost of recording where that is known.
    Cycles { truth: f64, recorded: f64, less_cost: Option<f64> },
    /// Why there are none.
    Failed(String),
}

/// The rows, and of each peer's mode, in the order of the file, what it says of them.
#[derive(Debug, Default)]
struct Table {
    ours: BTreeMap<Row, Found>,
    peers: Vec<(String, BTreeMap<Row, Found>)>,
}

/// Writes the table of what is in a folder; gives the file.
///
/// # Errors
///
/// Where this project's own lines are missing, or a line is damaged.
pub fn table(folder: &Path) -> Result<PathBuf, Failure> {
    let text = Table::of(&lines(folder)?)?.markdown()?;
    let file = folder.join(FILE);
    std::fs::write(&file, text)
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    Ok(file)
}

impl Table {
    /// A line after another of the same row takes its place.
    fn of(lines: &[Value]) -> Result<Self, Failure> {
        let mut table = Self::default();
        for line in lines.iter().filter(|line| line["test"] == TEST && line["kind"] == KIND) {
            let damaged = |name: &str| format!("no {name} in the line {line}");
            let whole = |name: &str| line[name].as_u64().ok_or_else(|| damaged(name));
            let text = |name: &str| line[name].as_str().ok_or_else(|| damaged(name));
            let body = Body { fmas: u32::try_from(whole("fmas")?)?, bytes: whole("bytes")? };
            let found = match line["failed"].as_str() {
                Some(reason) => Found::Failed(reason.to_owned()),
                None => {
                    let number = |value: &Value, name| value.as_f64().ok_or_else(|| damaged(name));
                    Found::Cycles {
                        truth: number(&line["truth_cycles"], "truth_cycles")?,
                        recorded: number(&line["recorded_cycles"]["mean"], "recorded_cycles.mean")?,
                        less_cost: line["less_cost_cycles"]["mean"].as_f64(),
                    }
                }
            };
            let (profiler, mode) = (text("profiler")?, text("mode")?);
            let rows = if profiler == PROFILER {
                &mut table.ours
            } else {
                let name = format!("{profiler}, {mode}");
                let known = table.peers.iter().position(|(other, _)| *other == name);
                let index = known.unwrap_or_else(|| {
                    table.peers.push((name, BTreeMap::new()));
                    table.peers.len() - 1
                });
                &mut table.peers[index].1
            };
            rows.insert((body, whole("warps")?), found);
        }
        Ok(table)
    }

    fn markdown(&self) -> Result<String, Failure> {
        if self.ours.is_empty() {
            return Err("there is no cross-check to lay beside a peer's; `truth run cross-check` \
                        makes it"
                .into());
        }
        let mut head = vec!["body".to_owned(), "warps".to_owned()];
        head.extend(["true, here", "raw", "less cost"].map(str::to_owned));
        if !self.peers.is_empty() {
            head.push("true, peer's kernel".to_owned());
        }
        head.extend(self.peers.iter().map(|(name, _)| name.clone()));
        let mut text = row(&head);
        let align = |column| if column == 0 { "---" } else { "---:" }.to_owned();
        text += &row(&(0..head.len()).map(align).collect::<Vec<_>>());
        let mut reasons = Vec::new();
        let mut found_of = |name: &str, row: &Row, found: Option<&Found>| match found {
            Some(&Found::Cycles { truth, recorded, less_cost }) => {
                Some((truth, recorded, less_cost))
            }
            Some(Found::Failed(reason)) => {
                reasons.push(format!("- {name}, {}, warps {}: {reason}", row.0, row.1));
                None
            }
            None => None,
        };
        for (key, ours) in &self.ours {
            let mut cells = vec![key.0.to_string(), key.1.to_string()];
            let ours = found_of("here", key, Some(ours));
            cells.push(cycles(ours.map(|(truth, ..)| truth)));
            cells.push(part(ours.map(|(truth, recorded, _)| (recorded, truth))));
            cells.push(part(ours.and_then(|(truth, _, less)| Some((less?, truth)))));
            let peers = self.peers.iter().map(|(name, rows)| found_of(name, key, rows.get(key)));
            let peers: Vec<_> = peers.collect();
            if !peers.is_empty() {
                cells.push(cycles(peers.iter().flatten().map(|&(truth, ..)| truth).next()));
            }
            for peer in peers {
                cells.push(part(peer.map(|(truth, recorded, _)| (recorded, truth))));
            }
            text += &row(&cells);
        }
        if !reasons.is_empty() {
            text += "\nNot measured:\n\n";
            text += &reasons.join("\n");
            text.push('\n');
        }
        Ok(text)
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn cycles(cycles: Option<f64>) -> String {
    cycles.map_or_else(|| "-".to_owned(), |cycles| format!("{cycles:.1}"))
}

/// A mean, and what part it is of the true length where that is not nothing.
fn part(found: Option<(f64, f64)>) -> String {
    match found {
        None => "-".to_owned(),
        Some((mean, truth)) if truth < 1.0 => format!("{mean:.1}"),
        Some((mean, truth)) => format!("{mean:.1} ({:.3})", mean / truth),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(profiler: &str, mode: &str, fmas: u32, more: Value) -> Value {
        let mut line = json!({
            "test": TEST, "kind": KIND, "profiler": profiler, "mode": mode,
            "warps": 4, "fmas": fmas, "bytes": 0,
        });
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        line
    }

    fn measured(mean: f64, truth: f64) -> Value {
        json!({"recorded_cycles": {"mean": mean}, "truth_cycles": truth})
    }

    #[test]
    fn means_lie_side_by_side_and_failures_have_reasons() {
        let mut ours = measured(38.0, 32.0);
        ours["less_cost_cycles"] = json!({"mean": 32.25});
        let lines = [
            line(PROFILER, "default", 8, ours),
            line(PROFILER, "default", 0, measured(6.0, 0.0)),
            line("proton", "clock32", 8, json!({"failed": "no GPU"})),
            line("proton", "default", 8, measured(99.0, 31.0)),
            line("proton", "default", 8, measured(40.0, 32.5)),
            json!({"test": "mapping", "kind": "release"}),
        ];
        let text = Table::of(&lines).expect("whole").markdown().expect("ours are there");
        assert_eq!(
            text,
            "\
| body | warps | true, here | raw | less cost | true, peer's kernel | proton, clock32 | proton, default |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| nothing | 4 | 0.0 | 6.0 | - | - | - | - |
| 8 FMAs | 4 | 32.0 | 38.0 (1.188) | 32.2 (1.008) | 32.5 | - | 40.0 (1.231) |

Not measured:

- proton, clock32, 8 FMAs, warps 4: no GPU
"
        );
    }

    #[test]
    fn without_a_peer_there_is_no_column_and_damage_is_named() {
        let ours = line(PROFILER, "default", 8, measured(38.0, 32.0));
        let text = Table::of(&[ours]).expect("whole").markdown().expect("ours are there");
        assert!(text.contains("| 8 FMAs | 4 | 32.0 | 38.0 (1.188) | - |\n"), "{text}");
        let error = Table::default().markdown().expect_err("nothing is there");
        assert!(error.to_string().contains("truth run cross-check"), "{error}");
        let error = Table::of(&[line("proton", "default", 8, json!({}))]).expect_err("no number");
        assert!(error.to_string().contains("no truth_cycles"), "{error}");
    }
}
