//! Diagnostics for programs: the same members wherever a command writes them.

use profiler_trace::{Diagnostic, Place};
use serde_json::{Map, Value, json};

use crate::console::severity;

/// What is known of a diagnostic, to which a command adds what is its own.
pub(crate) fn members(diagnostic: &Diagnostic) -> Map<String, Value> {
    [
        ("kind", json!(diagnostic.kind.name())),
        ("severity", json!(severity(diagnostic.severity()).0)),
        ("count", json!(diagnostic.count)),
        ("number", json!(diagnostic.number)),
        ("first", json!(diagnostic.place.map(first))),
        ("text", json!(diagnostic.to_string())),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// Where it was seen first.
fn first(place: Place) -> Value {
    json!({
        "module": place.module,
        "slot": place.slot,
        "lane": place.lane,
        "unit": place.unit,
    })
}
