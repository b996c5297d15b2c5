//! The table of results, in Markdown, between two marks of a text.

use std::fmt::Write as _;

use crate::point::COMBINATIONS;
use crate::results::{Column, Results};

/// Below this the points do not lie on a line, and the slope says little.
const R2_MIN: f64 = 0.92;
/// Slopes of less than this many cycles need no straight line: what varies is noise.
const CYCLES_OF_NOISE: f64 = 3.0;
/// Schemes of a summary, where they were measured, and what they are called there.
pub const SUMMARY: [(&str, &str); 13] = [
    ("default", "this profiler"),
    ("elected", "this profiler, `by = elected`"),
    ("thread-keep-last", "this profiler, `by = thread`"),
    ("idle", "this profiler, no session"),
    ("floor", "two clock reads and nothing else"),
    ("proton-shared-clock64", "Proton, shared buffer"),
    ("proton-shared", "Proton, shared buffer, `clock32`"),
    ("proton-global", "Proton, global buffer"),
    ("nuggets-compact", "transformer_nuggets, compact record"),
    ("cute-dsl-atomic", "transformer_nuggets, CuTe DSL"),
    ("flashinfer", "FlashInfer"),
    ("triton-distributed", "Triton-distributed"),
    ("sm-profiler", "sm-profiler"),
];

/// The committed results, from the repository's root.
pub const RESULTS: &str = "lab/measurements/record-cost.jsonl";
/// The texts that show a table, likewise.
pub const TEXTS: [&str; 2] = ["README.md", "lab/measurements/record-cost.md"];
/// The text that shows the table of every combination, likewise.
pub const COMBINATIONS_TEXT: &str = "lab/measurements/record-combinations.md";
/// The picture, likewise.
pub const PICTURE: &str = "docs/images/record-cost.svg";

/// The texts that show a table of these results, from the repository's root.
#[must_use]
pub fn texts(results: &Results) -> &'static [&'static str] {
    if results.header.measurement == COMBINATIONS { &[COMBINATIONS_TEXT] } else { &TEXTS }
}

/// The picture that is drawn of these results, if one is.
#[must_use]
pub fn picture(results: &Results) -> Option<&'static str> {
    (results.header.measurement != COMBINATIONS).then_some(PICTURE)
}

/// Which table stands between two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Few schemes, short bodies, one block on an SM.
    Summary,
    /// Everything.
    All,
    /// Combinations that record in memory of the GPU.
    Global,
    /// Combinations that record in memory of the host.
    Host,
}

const EXTENTS: [(Extent, &str); 4] = [
    (Extent::Summary, "<!-- record-cost table: summary -->"),
    (Extent::All, "<!-- record-cost table: all -->"),
    (Extent::Global, "<!-- record-cost table: buffer = global -->"),
    (Extent::Host, "<!-- record-cost table: buffer = host -->"),
];
const MARK_END: &str = "<!-- record-cost table: end -->";

/// The schemes of a table that were measured, and what they are called in it.
fn schemes(results: &Results, extent: Extent) -> Vec<(&str, String)> {
    let measured = results.schemes();
    let buffer = match extent {
        Extent::Summary => {
            let of_summary = SUMMARY.iter().filter(|(scheme, _)| measured.contains(scheme));
            return of_summary.map(|(scheme, label)| (*scheme, (*label).to_owned())).collect();
        }
        Extent::All => "",
        Extent::Global => "-global",
        Extent::Host => "-host",
    };
    let of_buffer = measured.into_iter().filter(|scheme| scheme.ends_with(buffer));
    of_buffer.map(|scheme| (scheme, format!("`{scheme}`"))).collect()
}

/// The table of some results.
#[must_use]
pub fn table(results: &Results, extent: Extent) -> String {
    let schemes = schemes(results, extent);
    let columns = results.columns();
    let mut text = match extent {
        Extent::Summary => {
            let short = columns.iter().map(|column| column.1).min();
            let one_block = |column: &&Column| column.0 == 1 && Some(column.1) == short;
            part(results, &schemes, &columns.iter().filter(one_block).copied().collect::<Vec<_>>())
        }
        Extent::All | Extent::Global | Extent::Host => {
            let mut blocks: Vec<u32> = columns.iter().map(|column| column.0).collect();
            blocks.dedup();
            let mut parts = Vec::new();
            for blocks in blocks {
                let of_blocks: Vec<Column> =
                    columns.iter().filter(|column| column.0 == blocks).copied().collect();
                parts.push(part(results, &schemes, &of_blocks));
            }
            parts.join("\n")
        }
    };
    let header = &results.header;
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "\n{}, driver {}, {}, sources {}.",
        header.gpu, header.driver, header.date, header.commit
    );
    text
}

/// The table of launches with the same number of blocks.
fn part(results: &Results, schemes: &[(&str, String)], columns: &[Column]) -> String {
    let blocks = columns.first().map_or(0, |column| column.0);
    let mut text = match blocks {
        1 => "| cycles a region, 1 block an SM |".to_owned(),
        _ => format!("| cycles a region by the time of whole kernels, {blocks} blocks an SM |"),
    };
    for (_, body, warps) in columns {
        let plural = if *warps == 1 { "" } else { "s" };
        let _ = write!(text, " {warps} warp{plural}, {body} FMAs |");
    }
    text += " bytes | registers |\n|---|";
    text += &"---:|".repeat(columns.len() + 2);
    text += "\n";
    for (scheme, label) in schemes {
        let of_scheme: Vec<_> =
            columns.iter().map(|column| results.point(scheme, *column)).collect();
        if of_scheme.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(text, "| {label} |");
        for point in &of_scheme {
            let cell = match point {
                None => "-".to_owned(),
                Some(point) if point.failed.is_some() => "failed".to_owned(),
                // R2 is that of the means.
                Some(point) => cell(results.figure(point), point.r2.filter(|_| blocks == 1)),
            };
            let _ = write!(text, " {cell} |");
        }
        let bytes = of_scheme.iter().flatten().find_map(|point| point.bytes_per_region);
        let registers = || of_scheme.iter().flatten().filter_map(|point| point.registers);
        let registers = match (registers().min(), registers().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
            (Some(registers), _) => registers.to_string(),
            _ => "-".to_owned(),
        };
        let _ = writeln!(
            text,
            " {} | {registers} |",
            bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0}")),
        );
    }
    if text.contains("\\*") {
        let _ = writeln!(text, "\n\\* The points do not lie on a line: R² below {R2_MIN}.");
    }
    text
}

fn cell(cycles: Option<f64>, r2: Option<f64>) -> String {
    let Some(cycles) = cycles else { return "-".to_owned() };
    let doubtful = cycles > CYCLES_OF_NOISE && r2.is_some_and(|r2| r2 < R2_MIN);
    // A negative number that rounds to zero would be written as -0.
    let rounded = cycles.round() + 0.0;
    format!("{rounded:.0}{}", if doubtful { "\\*" } else { "" })
}

/// The text with the tables of these results between their marks. A table of which the results have no scheme
/// is left as it is.
///
/// # Errors
///
/// A text without a mark of a table of these results, or with a mark that has no end: which lines it must hold.
pub fn insert(text: &str, results: &Results) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut inserted = 0;
    while let Some((extent, mark, at)) = EXTENTS
        .iter()
        .filter_map(|(extent, mark)| rest.find(mark).map(|at| (*extent, *mark, at)))
        .min_by_key(|(_, _, at)| *at)
    {
        let after = at + mark.len();
        let end = rest[after..]
            .find(MARK_END)
            .ok_or_else(|| format!("after `{mark}` the line `{MARK_END}` is missing"))?;
        if schemes(results, extent).is_empty() {
            out += &rest[..after + end];
        } else {
            out += &rest[..after];
            out += "\n\n";
            out += &table(results, extent);
            out += "\n";
            inserted += 1;
        }
        rest = &rest[after + end..];
    }
    if inserted == 0 {
        let fitting = EXTENTS.iter().filter(|(extent, _)| !schemes(results, *extent).is_empty());
        let marks: Vec<String> = fitting.map(|(_, mark)| format!("`{mark}`")).collect();
        if marks.is_empty() {
            return Err("the results have no point to put into a table".to_owned());
        }
        return Err(format!(
            "there is no place for the table: put a line of {}, and `{MARK_END}`, where it belongs",
            marks.join(" or ")
        ));
    }
    Ok(out + rest)
}
