//! Writes the page of what the abuse cases did on a GPU.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::{Error, root};

/// The tools, in the order of the table's columns.
const TOOLS: [&str; 5] = ["none", "memcheck", "racecheck", "initcheck", "synccheck"];
/// The page, from the repository's root.
const PAGE: &str = "docs/measurements/abuse.md";
/// What stands before its table.
const TOOLS_SEE: &str = include_str!("abuse_tools.txt");

/// Makes the page of a summary that the bundle wrote.
pub(crate) fn table(arguments: &[String]) -> Result<(), Error> {
    let [summary] = arguments else {
        return Err("usage: cargo xtask abuse-table ABUSE_JSONL".into());
    };
    let text = std::fs::read_to_string(summary)
        .map_err(|error| format!("cannot read {summary}: {error}"))?;
    let page = page(&text).map_err(|error| format!("{summary}: {error}"))?;
    write(root(), &page)
}

fn write(root: &Path, page: &str) -> Result<(), Error> {
    let path = root.join(PAGE);
    std::fs::write(&path, page)
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(())
}

/// A case and what became of it without a tool and under each.
struct Row<'a> {
    case: &'a str,
    what: &'a str,
    results: [Option<&'a Value>; TOOLS.len()],
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, String> {
    value[key].as_str().ok_or_else(|| format!("`{value}` has no text `{key}`"))
}

/// The page, from the lines of the summary.
fn page(summary: &str) -> Result<String, String> {
    let lines = summary
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|error| format!("`{line}`: {error}")))
        .collect::<Result<Vec<Value>, _>>()?;
    let (machine, results) = lines.split_first().ok_or("it is empty")?;
    let mut rows = Vec::<Row<'_>>::new();
    for result in results {
        let (case, tool) = (text(result, "case")?, text(result, "tool")?);
        let column = TOOLS.iter().position(|&other| other == tool);
        let column = column.ok_or_else(|| format!("unknown tool `{tool}`"))?;
        let index = rows.iter().position(|row| row.case == case).unwrap_or(rows.len());
        if index == rows.len() {
            rows.push(Row { case, what: text(result, "what")?, results: [None; TOOLS.len()] });
        }
        if rows[index].results[column].replace(result).is_some() {
            return Err(format!("{case} is there twice with the tool {tool}"));
        }
    }
    // Cases end in any order.
    rows.sort_by_key(|row| row.case);
    let mut page = format!(
        "# Abuse on a GPU\n\n\
         {}, {}, {}.\n\n\
         ```sh\n\
         cargo xtask gpu-bundle                              # where Rust is\n\
         target/gpu-bundle/run.sh --sanitize OUT_DIR         # where the GPU is\n\
         cargo xtask abuse-table OUT_DIR/abuse/abuse.jsonl   # writes this page\n\
         ```\n\n\
         Each case ran in a process of its own with a time limit, alone and under the tools of \
         compute-sanitizer. Every session of a case has guard words before, between and behind all \
         its arrays, and in each array between what is one warp's and what is the next one's \
         (`ProfilerBuilder::guards`), but not between the lanes of a warp, whose rooms and counts lie \
         beside each other. The host checks them whenever it reads records back; every warp's block, index and counts are \
         compared with what the launch must have. The cases are in [tests/tests/abuse](../../tests/tests/abuse); those that need no GPU run \
         on the emulator in `cargo test`, with the same checks.\n\n\
         A figure is the process's time in seconds and says that it passed. In parentheses: \
         findings that the case provokes on purpose, such as the illegal write, or a call that the \
         driver refuses; the list is in `tests/tests/abuse/cases.rs`, and nothing else is \
         filtered.\n\n\
         A trap and an illegal address end the context in the middle of a kernel; memcheck must say \
         which, and the other tools may say that calls failed after it. Device memory cannot be read \
         then, guard words neither; those in memory of the host are checked. In \
         `trap_in_another_process` the tool sees this process, and not the one that fails.\n\n\
         {TOOLS_SEE}\n\
         | case | what | {} |\n|---|---|{}\n",
        text(machine, "gpu")?,
        text(machine, "driver")?,
        version(machine)?,
        TOOLS.map(|tool| if tool == "none" { "alone" } else { tool }).join(" | "),
        "---:|".repeat(TOOLS.len()),
    );
    let (mut passed, mut failed) = (0, 0);
    for row in &rows {
        let mut cells = Vec::new();
        for result in row.results {
            let Some(result) = result else {
                cells.push("-".to_owned());
                continue;
            };
            let outcome = text(result, "result")?;
            let is_passed = outcome == "passed";
            *(if is_passed { &mut passed } else { &mut failed }) += 1;
            cells.push(if is_passed { passed_cell(result)? } else { format!("**{outcome}**") });
        }
        let cells = cells.join(" | ").replace('\n', " ");
        writeln!(page, "| `{}` | {} | {cells} |", row.case, row.what)
            .map_err(|error| error.to_string())?;
    }
    write!(page, "\n{passed} passed, {failed} failed.\n").map_err(|error| error.to_string())?;
    Ok(page)
}

fn passed_cell(result: &Value) -> Result<String, String> {
    let missing = |key| format!("`{result}` has no number `{key}`");
    let seconds = result["seconds"].as_f64().ok_or_else(|| missing("seconds"))?;
    let provoked = result["provoked"].as_u64().ok_or_else(|| missing("provoked"))?;
    Ok(match provoked {
        0 => format!("{seconds:.1}"),
        count => format!("{seconds:.1} ({count})"),
    })
}

/// What the program was built from.
fn version(machine: &Value) -> Result<String, String> {
    let lines = machine["version"].as_array().ok_or("its first line has no `version`")?;
    let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
    Ok(if lines.is_empty() { "not from a bundle".to_owned() } else { lines.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::{page, table};

    const MACHINE: &str =
        r#"{"gpu":"A GPU","driver":"CUDA 1.2","version":["commit: abc (clean)"]}"#;

    fn line(case: &str, tool: &str, result: &str, provoked: u32) -> String {
        serde_json::json!({
            "case": case,
            "what": "words",
            "tool": tool,
            "result": result,
            "provoked": provoked,
            "seconds": 1.25,
        })
        .to_string()
    }

    fn summary(lines: &[String]) -> String {
        std::iter::once(MACHINE.to_owned())
            .chain(lines.iter().cloned())
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn a_page_is_made_of_a_summary() {
        let page = page(&summary(&[
            line("trap", "memcheck", "passed", 3),
            line("grids", "none", "passed", 0),
            line("trap", "none", "passed", 0),
            line("grids", "initcheck", "failed with status 101", 0),
        ]))
        .expect("a page");
        assert!(page.contains("A GPU, CUDA 1.2, commit: abc (clean).\n"), "{page}");
        let head = "| case | what | alone | memcheck | racecheck | initcheck | synccheck |\n\
                    |---|---|---:|---:|---:|---:|---:|\n";
        let grids = "| `grids` | words | 1.2 | - | - | **failed with status 101** | - |\n";
        let trap = "| `trap` | words | 1.2 | 1.2 (3) | - | - | - |\n";
        assert!(page.contains(&[head, grids, trap].concat()), "{page}");
        assert!(page.ends_with("\n3 passed, 1 failed.\n"), "{page}");
    }

    #[test]
    fn what_is_no_summary_is_refused() {
        let twice = [line("trap", "none", "passed", 0), line("trap", "none", "passed", 0)];
        for (text, words) in [
            (String::new(), "empty"),
            ("{\"gpu\":1}".to_owned(), "gpu"),
            (summary(&["{".to_owned()]), "`{`"),
            (summary(&[line("trap", "lint", "passed", 0)]), "unknown tool `lint`"),
            (summary(&twice), "twice"),
        ] {
            let error = page(&text).expect_err("no summary");
            assert!(error.contains(words), "{error}");
        }
        let usage = table(&[]).expect_err("no file").to_string();
        assert!(usage.contains("ABUSE_JSONL"), "{usage}");
    }
}
