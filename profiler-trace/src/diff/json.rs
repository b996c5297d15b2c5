//! A comparison as JSON.

use serde_json::{Value, json};

use super::{Diff, DiffRow, Outcome, Part, ThresholdReport};
use crate::stats::GroupBy;

impl Diff {
    /// The comparison as JSON. Its `schema` is `profiler-diff-1`; a later one may have more members,
    /// and one that has others by these names is called otherwise. Times are in the row's `unit`,
    /// relative changes are shares (0.01 is 1 %), what is not known is null.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "schema": "profiler-diff-1",
            "a": self.a,
            "b": self.b,
            "notes": self.notes,
            "devices_differ": self.devices_differ,
            "is_damaged": self.is_damaged,
            "options": {
                "only": self.options.query.to_string(),
                "matched_by": match self.options.query.group_by() {
                    GroupBy::Path => "path",
                    _ => "name",
                },
                "false_discovery_rate": self.options.false_discovery_rate,
                "min_effect": self.options.min_effect,
            },
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

impl ThresholdReport {
    /// The outcome and its reasons as JSON, to stand beside [`Diff::to_json`].
    #[must_use]
    pub fn to_json(&self) -> Value {
        let reason = |(outcome, reason): &(Outcome, String)| json!({ "outcome": outcome.name(), "reason": reason });
        json!({
            "outcome": self.outcome.name(),
            "reasons": self.reasons.iter().map(reason).collect::<Vec<_>>(),
        })
    }
}

fn row(row: &DiffRow) -> Value {
    let (subject, path) = match &row.subject.part {
        Part::Launches => ("launch", &[][..]),
        Part::Warps => ("kernel", &[][..]),
        Part::Region(path) => ("region", &path[..]),
    };
    json!({
        "subject": subject,
        "kernel": row.subject.kernel,
        "path": path,
        "unit": if row.in_cycles { "cycles" } else { "ns" },
        "a": row.a,
        "b": row.b,
        "change": {
            "absolute": row.absolute,
            "relative": row.relative,
            "p": row.p,
            "q": row.q,
            "is_change": row.is_change,
        },
        "units": row.units().map(|kind| json!({
            "kind": kind,
            "a": row.unit_counts.0,
            "b": row.unit_counts.1,
            "neighbours_together": row.group,
        })),
        "verdict": row.verdict,
    })
}
