//! The tables of the document.

use std::fmt::Write;

use serde_json::Value;

use super::large;
use crate::Error;

/// Puts the tables between their marks, which are comments of the document; all of them, or `only` the
/// one of this name.
pub(crate) fn fill(document: &str, lines: &[Value], only: &str) -> Result<String, Error> {
    let tables = [
        ("machine", machine(lines)),
        ("steps", processes(lines, false)),
        ("peers", processes(lines, true)),
        ("library", library(lines)),
        ("rates", rates(lines)),
        ("large", large::table(lines)),
    ];
    let mut text = document.to_owned();
    for (name, table) in tables {
        // What was not measured this time stays as it is.
        if table.is_empty() || (!only.is_empty() && only != name) {
            continue;
        }
        let begin = format!("<!-- host-bench: {name} -->\n");
        let missing = || format!("the document lacks {} or its end", begin.trim());
        let from = text.find(&begin).ok_or_else(missing)? + begin.len();
        let to = from + text[from..].find("<!-- host-bench: end -->").ok_or_else(missing)?;
        text.replace_range(from..to, &format!("\n{table}\n"));
    }
    Ok(text)
}

fn of<'l>(lines: &'l [Value], kind: &str) -> impl Iterator<Item = &'l Value> + use<'l> {
    let kind = kind.to_owned();
    lines.iter().filter(move |line| line["kind"] == kind.as_str())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("unknown")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn machine(lines: &[Value]) -> String {
    let Some(machine) = of(lines, "machine").next() else { return String::new() };
    let end = of(lines, "end").next().map_or(f64::NAN, |line| number(&line["load"]));
    format!(
        "{}, {} cores of {}, {} of memory, {}. Load before {}, after {end}.\n",
        text(&machine["date"]),
        machine["cores"],
        text(&machine["processor"]),
        text(&machine["memory"]),
        text(&machine["rustc"]),
        number(&machine["load"]),
    )
}

/// Of some lines, the steps and the numbers of records, in their order.
fn axes(lines: &[&Value]) -> (Vec<String>, Vec<u64>) {
    let (mut steps, mut sizes) = (Vec::new(), Vec::new());
    for line in lines {
        let step = text(&line["step"]).to_owned();
        if !steps.contains(&step) {
            steps.push(step);
        }
        let records = line["records"].as_u64().unwrap_or(0);
        if !sizes.contains(&records) {
            sizes.push(records);
        }
    }
    sizes.sort_unstable();
    (steps, sizes)
}

/// The median of a figure over the runs of a step.
fn median(lines: &[&Value], step: &str, records: u64, figure: &str) -> Option<f64> {
    let runs = lines.iter().filter(|line| line["step"] == step && line["records"] == records);
    let mut figures: Vec<f64> = runs.map(|line| number(&line[figure])).collect();
    figures.sort_by(f64::total_cmp);
    let (low, high) = (figures.len().checked_sub(1)? / 2, figures.len() / 2);
    Some(f64::midpoint(figures[low], figures[high]))
}

fn processes(lines: &[Value], peers: bool) -> String {
    let lines: Vec<&Value> = of(lines, "process").filter(|line| line["is_peer"] == peers).collect();
    let (steps, sizes) = axes(&lines);
    let mut table = head("step", &sizes, &["growth", "peak memory", "bytes a region"]);
    for step in &steps {
        let times: Vec<Option<f64>> =
            sizes.iter().map(|size| median(&lines, step, *size, "seconds")).collect();
        let peaks: Vec<String> = sizes
            .iter()
            .filter_map(|size| median(&lines, step, *size, "peak_bytes"))
            .map(|bytes| format!("{:.0}", bytes / f64::from(1 << 20)))
            .collect();
        let largest = sizes
            .iter()
            .rev()
            .find_map(|size| Some((size, median(&lines, step, *size, "written_bytes")?)));
        let each = largest.map_or(0.0, |(size, bytes)| bytes / *size as f64);
        let _ = writeln!(
            table,
            "| {step} | {} | {} | {} MiB | {} |",
            cells(&times),
            growth(&sizes, &times),
            peaks.join(", "),
            if each < 0.05 { "-".to_owned() } else { format!("{each:.1}") },
        );
    }
    if steps.is_empty() { String::new() } else { table }
}

/// Times as cells of a row.
fn cells(times: &[Option<f64>]) -> String {
    let texts = times.iter().map(|time| time.map_or("-".to_owned(), seconds));
    texts.collect::<Vec<_>>().join(" | ")
}

fn library(lines: &[Value]) -> String {
    let lines: Vec<&Value> = of(lines, "library").collect();
    let (steps, sizes) = axes(&lines);
    let mut table = head("step", &sizes, &["growth", "MiB beside the capture"]);
    for step in &steps {
        let times: Vec<Option<f64>> =
            sizes.iter().map(|size| median(&lines, step, *size, "seconds")).collect();
        let beside = |size: &u64| {
            let peak = median(&lines, step, *size, "peak_bytes")?;
            let capture = median(&lines, step, *size, "capture_resident_bytes")?;
            Some(format!("{:.0}", (peak - capture) / f64::from(1 << 20)))
        };
        let _ = writeln!(
            table,
            "| `{step}` | {} | {} | {} |",
            cells(&times),
            growth(&sizes, &times),
            sizes.iter().filter_map(beside).collect::<Vec<_>>().join(", "),
        );
    }
    if steps.is_empty() { String::new() } else { table }
}

fn rates(lines: &[Value]) -> String {
    let lines: Vec<&Value> = of(lines, "rate").collect();
    let (steps, sizes) = axes(&lines);
    let mut table = head("million records a second", &sizes, &[]);
    for step in &steps {
        let rates = sizes.iter().map(|size| {
            let rate = median(&lines, step, *size, "million_records_per_second");
            rate.map_or("-".to_owned(), three_digits)
        });
        let _ = writeln!(table, "| {step} | {} |", rates.collect::<Vec<_>>().join(" | "));
    }
    if steps.is_empty() { String::new() } else { table }
}

fn head(first: &str, sizes: &[u64], rest: &[&str]) -> String {
    let sizes = sizes.iter().map(|size| power(*size));
    let columns: Vec<String> = sizes.chain(rest.iter().map(|name| (*name).to_owned())).collect();
    format!("| {first} | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len()))
}

/// The exponents by which time grows from each size to the next.
fn growth(sizes: &[u64], times: &[Option<f64>]) -> String {
    let measured: Vec<(f64, f64)> =
        sizes.iter().zip(times).filter_map(|(size, time)| Some((*size as f64, (*time)?))).collect();
    let exponents = measured.windows(2).map(|pair| {
        let exponent = (pair[1].1 / pair[0].1).ln() / (pair[1].0 / pair[0].0).ln();
        format!("{exponent:.2}")
    });
    exponents.collect::<Vec<_>>().join(", ")
}

/// A power of ten as one, anything else as it is.
fn power(number: u64) -> String {
    let exponent = number.checked_ilog10().unwrap_or(0);
    if 10_u64.pow(exponent) == number { format!("10^{exponent}") } else { number.to_string() }
}

fn seconds(time: f64) -> String {
    if time < 1.0 { format!("{} ms", three_digits(time * 1e3)) } else { format!("{time:.2} s") }
}

fn three_digits(number: f64) -> String {
    let decimals = if number < 10.0 {
        2
    } else if number < 100.0 {
        1
    } else {
        0
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn process(step: &str, is_peer: bool, records: u64, seconds: f64) -> Value {
        json!({
            "kind": "process", "step": step, "is_peer": is_peer, "records": records,
            "seconds": seconds, "processor_seconds": seconds, "peak_bytes": records << 10,
            "written_bytes": records * 25,
        })
    }

    #[test]
    fn tables_stand_between_their_marks() {
        let document = "a\n<!-- host-bench: steps -->\nold\n<!-- host-bench: end -->\nb\n";
        let lines = [
            process("stats", false, 1_000, 0.002),
            process("stats", false, 1_000, 0.004),
            process("stats", false, 1_000, 0.003),
            process("stats", false, 100_000, 0.3),
        ];
        let filled = fill(document, &lines, "").expect("marks");
        let expected = "a\n<!-- host-bench: steps -->\n\n\
            | step | 10^3 | 10^5 | growth | peak memory | bytes a region |\n\
            |---|---:|---:|---:|---:|---:|\n\
            | stats | 3.00 ms | 300 ms | 1.00 | 1, 98 MiB | 25.0 |\n\n\
            <!-- host-bench: end -->\nb\n";
        assert_eq!(filled, expected);
        assert_eq!(fill(&filled, &lines, "steps").expect("marks"), filled);
        let error = fill("no marks", &lines, "").expect_err("no marks").to_string();
        assert!(error.contains("host-bench: steps"), "{error}");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!((power(10_000), power(250)), ("10^4".to_owned(), "250".to_owned()));
        assert_eq!((seconds(0.01234), seconds(2.345)), ("12.3 ms".to_owned(), "2.35 s".to_owned()));
        let half = [Some(1.0), None, Some(100.0)];
        assert_eq!(growth(&[1, 10, 10_000], &half), "0.50");
    }
}
