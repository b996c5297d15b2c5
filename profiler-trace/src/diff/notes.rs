//! The notes of a comparison.

use super::options::Unit;
use super::side::{DiffSide, SideFacts};
use super::{DiffRow, ENOUGH_UNITS, Figures, Part, Verdict};
use crate::display::counted;
use crate::units::digits;

pub(super) fn notes(
    a: &DiffSide,
    b: &DiffSide,
    rows: &[DiffRow],
    devices_differ: bool,
) -> Vec<String> {
    let mut notes = vec![made_of("A", &a.facts), made_of("B", &b.facts)];
    if devices_differ {
        notes.push("the devices differ: compare captures of one device".to_owned());
    }
    if a.options.query.is_filtered() {
        notes.push(format!("compared is only: {}", a.options.query));
    }
    of_side("A", &a.facts, rows, |row| row.a, &mut notes);
    of_side("B", &b.facts, rows, |row| row.b, &mut notes);
    if (a.facts.cost_subtracted > 0) != (b.facts.cost_subtracted > 0) {
        notes.push(
            "the cost of recording was subtracted on one side only; subtract it on both or on none"
                .to_owned(),
        );
    }
    if let (Some(of_a), Some(of_b)) = (clock(&a.facts), clock(&b.facts))
        && (of_b / of_a - 1.0).abs() > 0.01
    {
        let (of_a, of_b) = (digits(of_a), digits(of_b));
        notes.push(format!(
            "the SM clock ran at {of_a} MHz on side A and at {of_b} MHz on side B: rows in cycles do not \
             show it, those in nanoseconds do"
        ));
    }
    notes.extend(scope(a, b, rows));
    notes
}

/// The contents of a side, in a line.
fn made_of(name: &str, facts: &SideFacts) -> String {
    let launches = if facts.launches == 1 { "launch" } else { "launches" };
    let named = |device: &String| match device.as_str() {
        "" => "an unknown device".to_owned(),
        name => name.to_owned(),
    };
    let devices: Vec<String> = facts.devices.iter().map(named).collect();
    format!(
        "side {name}: {}, {} {launches}, {}, {}{}",
        counted(facts.captures, "capture"),
        facts.launches,
        counted(facts.recorded, "record"),
        if devices.is_empty() { "no device".to_owned() } else { devices.join(" and ") },
        if facts.emulated { "; the emulator's times are not GPU times" } else { "" },
    )
}

/// Notes about losses, oddities and missing ends of a side.
fn of_side(
    name: &str,
    facts: &SideFacts,
    rows: &[DiffRow],
    figures: fn(&DiffRow) -> Option<Figures>,
    notes: &mut Vec<String>,
) {
    if facts.lost > 0 {
        notes.push(format!(
            "side {name} LOST {} of {}: they may have been longer or shorter than the others; give \
             its session more room",
            facts.lost,
            counted(facts.recorded.saturating_add(facts.lost), "record")
        ));
    }
    if facts.unfinished > 0 {
        let captures = counted(facts.unfinished, "capture");
        notes.push(format!("side {name}: in {captures} a kernel failed or was still running"));
    }
    notes.extend(facts.errors.iter().map(|error| format!("side {name}, {error}")));
    notes.extend(facts.unmet.iter().map(|unmet| format!("side {name}, {unmet}")));
    if facts.cost_subtracted > 0 && facts.cost_subtracted < facts.captures {
        notes.push(format!(
            "the cost of recording was subtracted from some captures of side {name} only; subtract \
             it from all or from none"
        ));
    }
    let open = |is_counted: fn(&Part) -> bool| -> u64 {
        let rows = rows.iter().filter(|row| is_counted(&row.subject.part));
        rows.filter_map(figures).map(|of| of.open).sum()
    };
    for (open, one, several, lack) in [
        (open(|of| matches!(of, Part::Launches)), "launch", "launches", "did not end"),
        (open(|of| matches!(of, Part::Region(_))), "region", "regions", "did not end"),
        (open(|of| matches!(of, Part::Warps)), "warp", "warps", "never left"),
    ] {
        match open {
            0 => {}
            1 => notes.push(format!("side {name}: 1 {one} {lack} and is in no figure")),
            _ => notes.push(format!("side {name}: {open} {several} {lack} and are in no figure")),
        }
    }
}

fn clock(facts: &SideFacts) -> Option<f64> {
    let count = facts.clock_mhz.len() as f64;
    (count > 0.0).then(|| facts.clock_mhz.iter().sum::<f64>() / count)
}

/// The note about the units that were compared.
fn scope(a: &DiffSide, b: &DiffSide, rows: &[DiffRow]) -> Option<String> {
    let more = format!("give each side {ENOUGH_UNITS} captures or more, taken in turns");
    match rows.iter().filter_map(|row| row.units).max() {
        _ if rows.is_empty() => {
            Some("there is nothing to compare: no region is on either side".to_owned())
        }
        Some(Unit::Capture) => None,
        Some(Unit::Launch) => Some(format!(
            "launches are compared: changes from run to run are not in the numbers; \
             {more}"
        )),
        Some(unit) => Some(format!(
            "{} of {} and {} launches are compared: changes from launch to launch are not in \
             the numbers; {more}",
            unit.plural(),
            a.facts.launches,
            b.facts.launches,
        )),
        None => rows
            .iter()
            .any(|row| row.verdict == Verdict::TooFew)
            .then(|| format!("there are too few units for any test; {more}")),
    }
}
