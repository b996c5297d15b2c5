//! What a reader of a comparison must know.

use super::options::{Measure, Unit};
use super::side::{DiffSide, SideFacts};
use super::units::FEWEST_TO_BATCH;
use super::{DiffRow, ENOUGH_UNITS, Figures, Subject, Verdict};
use crate::export::text::counted;
use crate::units::digits;

pub(super) fn notes(
    a: &DiffSide,
    b: &DiffSide,
    rows: &[DiffRow],
    devices_differ: bool,
) -> Vec<String> {
    let mut notes = vec![made_of("A", &a.facts), made_of("B", &b.facts)];
    if devices_differ {
        notes.push(
            "the devices are not the same, so differences are those of the devices, too: compare \
             captures of one device"
                .to_owned(),
        );
    }
    if a.options.query.is_filtered() {
        notes.push(format!("compared is only: {}", a.options.query));
    }
    for (name, side) in [("A", &a.facts), ("B", &b.facts)] {
        if side.lost > 0 {
            notes.push(format!(
                "side {name} LOST {} of {}: what is missing may have been longer or \
                 shorter than what is there; give its session more room",
                side.lost,
                counted(side.recorded.saturating_add(side.lost), "record")
            ));
        }
        if side.unfinished > 0 {
            notes.push(format!(
                "side {name}: in {} a kernel failed or was still running, and what it had yet to do is \
                 in no figure",
                counted(side.unfinished, "capture")
            ));
        }
        notes.extend(side.errors.iter().map(|error| format!("side {name}, {error}")));
        notes.extend(side.unmet.iter().map(|unmet| format!("side {name}, {unmet}")));
        if side.cost_subtracted > 0 && side.cost_subtracted < side.captures {
            notes.push(format!(
                "the cost of recording was subtracted from some captures of side {name} only; \
                 subtract it from all or from none"
            ));
        }
    }
    if (a.facts.cost_subtracted > 0) != (b.facts.cost_subtracted > 0) {
        notes.push(
            "the cost of recording was subtracted on one side only; subtract it on both or on none"
                .to_owned(),
        );
    }
    if let (Some(of_a), Some(of_b)) = (clock(&a.facts), clock(&b.facts)) {
        let ratio = of_b / of_a - 1.0;
        if ratio.abs() > 0.01 {
            let cycles = match a.options.measure {
                Measure::RecordClock => "rows in cycles do not show it, those in nanoseconds do",
                Measure::Nanoseconds => "measured by the record clock, cycles would not show it",
            };
            notes.push(format!(
                "the SM clock ran at {} MHz on side A and at {} MHz on side B: {cycles}",
                digits(of_a),
                digits(of_b)
            ));
        }
    }
    for (name, figures) in [("A", &|row: &DiffRow| row.a), ("B", &|row: &DiffRow| row.b)]
        as [(&str, &dyn Fn(&DiffRow) -> Option<Figures>); 2]
    {
        let open = |is_counted: fn(&Subject) -> bool| -> u64 {
            let rows = rows.iter().filter(|row| is_counted(&row.subject));
            rows.filter_map(figures).map(|of| of.open).sum()
        };
        let launches = open(|of| matches!(of, Subject::Launch { .. }));
        if launches > 0 {
            notes.push(match launches {
                1 => format!("side {name}: 1 launch did not end and is in no figure"),
                several => {
                    format!("side {name}: {several} launches did not end and are in no figure")
                }
            });
        }
        let regions = open(|of| matches!(of, Subject::Region { .. }));
        let warps = open(|of| matches!(of, Subject::Kernel { .. }));
        for (open, one, lack) in
            [(regions, "region", ["has no end", "have no end"]), (warps, "warp", ["never left"; 2])]
        {
            let (lack, are) = if open == 1 { (lack[0], "is") } else { (lack[1], "are") };
            if open > 0 {
                let open = counted(open, one);
                notes.push(format!("side {name}: {open} {lack} and {are} in no figure"));
            }
        }
    }
    notes.extend(scope(a, b, rows));
    notes.extend(alike(rows));
    notes
}

/// Where units that may depend on each other were taken as if they did not.
fn alike(rows: &[DiffRow]) -> Option<String> {
    let count = rows.iter().filter(|row| row.is_alike).count();
    (count > 0).then(|| {
        format!(
            "`alike?` in {}: units that follow each other in time look alike, and with fewer than \
             {FEWEST_TO_BATCH} on a side they are not put together; if they are alike, noise is found \
             there more often than the false discovery rate says: give each side more launches or \
             captures",
            counted(count as u64, "row")
        )
    })
}

/// What a side was made of, in a line.
fn made_of(name: &str, facts: &SideFacts) -> String {
    let launches = if facts.launches == 1 { "launch" } else { "launches" };
    let mut devices: Vec<&str> = facts.devices.iter().map(String::as_str).collect();
    for device in &mut devices {
        if device.is_empty() {
            *device = "an unknown device";
        }
    }
    let emulated = if facts.emulated { "; the emulator's times are not GPU times" } else { "" };
    format!(
        "side {name}: {}, {} {launches}, {}, {}{emulated}",
        counted(facts.captures, "capture"),
        facts.launches,
        counted(facts.recorded, "record"),
        if devices.is_empty() { "no device".to_owned() } else { devices.join(" and ") },
    )
}

fn clock(facts: &SideFacts) -> Option<f64> {
    let count = facts.clock_mhz.len() as f64;
    (count > 0.0).then(|| facts.clock_mhz.iter().sum::<f64>() / count)
}

/// What the units that there were can tell.
fn scope(a: &DiffSide, b: &DiffSide, rows: &[DiffRow]) -> Option<String> {
    if rows.is_empty() {
        return Some("there is nothing to compare: no region is on either side".to_owned());
    }
    let finest = rows.iter().filter_map(|row| row.units).max();
    let few = || {
        format!(
            "give each side {ENOUGH_UNITS} captures or more, taken in turns (or launches in one \
             capture, which tell less)"
        )
    };
    match finest {
        Some(Unit::Capture) => None,
        Some(Unit::Launch) => Some(
            "where launches are compared, what differs from one run of the program to the next by \
             itself is not in the numbers"
                .to_owned(),
        ),
        Some(unit) => Some(format!(
            "where {} are compared (of {} and {} launches), a change is one between these \
             launches, and what differs from launch to launch by itself is not in the numbers; {}",
            unit.plural(),
            a.facts.launches,
            b.facts.launches,
            few()
        )),
        None if rows.iter().any(|row| row.verdict == Verdict::TooFew) => {
            Some(format!("there are too few units for any test; {}", few()))
        }
        None => None,
    }
}
