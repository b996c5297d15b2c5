use profiler_trace::{ClockReading, Mark, Region, RegionForm, Site, SiteIndex, Time, Warp};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use super::*;

fn site(kind: SiteKind, name: String) -> Site {
    Site {
        id: 1,
        kind,
        name,
        list: None,
        file: String::new(),
        module: String::new(),
        line: 1,
        column: 1,
        unit: None,
        strategy: None,
        symbol: None,
    }
}

/// What a record of one form takes in a made-up run.
#[derive(Clone, Copy)]
struct Ticks {
    before: u64,
    inside: u64,
    after: u64,
}

/// A run in which the records of election `e` and form `f` take what `ticks(e, f)` says, and the
/// begin of a region as long as those of a plain one.
fn trace(rounds: u32, ticks: impl Fn(usize, usize) -> Ticks) -> Trace {
    let mut trace = Trace::default();
    let mut warp = Warp {
        launch: 0,
        slot: 0,
        block: [0; 3],
        warp: 0,
        sm: 0,
        cluster_rank: None,
        strategy: Strategy::Warp,
        track: None,
        clock: Clock::Cycles,
        entry: Time { ticks: 0, ns: 0.0 },
        exit: None,
        regions: Vec::new(),
        marks: Vec::new(),
        anchors: Vec::new(),
        recorded: 0,
        lost: 0,
    };
    let mut now = 1000;
    let time = |ticks: u64| Time { ticks, ns: ticks as f64 };
    let region = |site, depth, start, end| Region {
        site,
        form: RegionForm::Block,
        track: None,
        lane: 0,
        depth,
        start: time(start),
        end: Some(time(end)),
        value: None,
    };
    for _ in 0..rounds {
        for (e, election) in CALIBRATION_ELECTIONS.into_iter().enumerate() {
            for (f, form) in CALIBRATION_FORMS.into_iter().enumerate() {
                let Ticks { before, inside, after } = ticks(e, f);
                let name = format!("{election} {form}");
                let kind = if form == "mark" { SiteKind::Mark } else { SiteKind::Region };
                let inner = index_of(&mut trace, kind, name);
                for count in CALIBRATION_COUNTS {
                    let name = around(election, form, count);
                    let outer = index_of(&mut trace, SiteKind::Region, name);
                    let start = now;
                    now += ticks(e, 0).inside;
                    for _ in 0..count {
                        now += before;
                        match form {
                            "mark" => warp.marks.push(Mark {
                                site: inner,
                                track: None,
                                lane: 0,
                                time: time(now),
                                value: None,
                            }),
                            "anchor" => {
                                warp.anchors.push(ClockReading { lane: 0, time: time(now) })
                            }
                            _ => warp.regions.push(region(inner, 1, now, now + inside)),
                        }
                        now += inside + after;
                    }
                    warp.regions.push(region(outer, 0, start, now));
                    now += 100;
                }
            }
        }
    }
    warp.recorded = (warp.regions.len() + warp.marks.len()) as u64;
    trace.warps.push(warp);
    trace
}

fn index_of(trace: &mut Trace, kind: SiteKind, name: String) -> SiteIndex {
    let known = trace.sites.iter().position(|site| site.name == name);
    SiteIndex(known.unwrap_or_else(|| {
        trace.sites.push(site(kind, name));
        trace.sites.len() - 1
    }) as u32)
}

/// Distinct figures for every election and form; marks and anchors have no inside.
fn distinct(e: usize, f: usize) -> Ticks {
    let inside = if f < 2 { 2 + f as u64 } else { 0 };
    let inside = if f == 2 { 2 } else { inside };
    let before = if f == 2 { 10 * e as u64 } else { 10 * e as u64 + u64::from(f == 3) };
    Ticks { before, inside, after: 20 + 7 * f as u64 + e as u64 }
}

fn close(cost: StampCost, before: f64, after: f64) {
    let off = (cost.before_ticks - before).abs().max((cost.after_ticks - after).abs());
    assert!(off < 1e-9, "{cost:?} is not {before} before and {after} after");
}

fn check(cost: &RecordCost) {
    for (e, costs) in [cost.one_lane, cost.elected].into_iter().enumerate() {
        let of = |f| distinct(e, f);
        for (f, begin, end) in
            [(0, costs.region_begin, costs.region_end), (1, costs.token_begin, costs.token_end)]
        {
            close(begin, of(f).before as f64, of(f).inside as f64);
            close(end, 0.0, of(f).after as f64);
        }
        close(costs.value, 0.0, (of(2).after - of(0).after) as f64);
        close(costs.mark, of(3).before as f64, of(3).after as f64);
        close(costs.anchor, 0.0, (of(4).before + of(4).after) as f64);
    }
}

#[test]
fn costs_are_medians_inside_and_slopes_outside() {
    check(&record_cost(&trace(3, distinct)).expect("a whole calibration run"));
}

#[test]
fn a_slow_first_round_changes_nothing() {
    let mut trace = trace(5, distinct);
    let round = trace.warps[0].regions.len() / 5;
    for region in &mut trace.warps[0].regions[..round] {
        region.end = Some(Time { ticks: region.start.ticks + 4000, ns: 0.0 });
    }
    check(&record_cost(&trace).expect("still whole"));
}

#[test]
fn a_trace_that_does_not_tell_is_refused() {
    let refused = |trace: &Trace| record_cost(trace).expect_err("must be refused");
    let missing = |name: &str| CalibrationError::NoRegion(name.to_owned());
    assert_eq!(refused(&Trace::default()), missing("one-lane region"));
    let mut lossy = trace(2, distinct);
    lossy.warps[0].lost = 3;
    assert_eq!(refused(&lossy), CalibrationError::Lost(3));
    let mut changed = trace(2, distinct);
    changed.cost_subtracted = true;
    assert_eq!(refused(&changed), CalibrationError::AlreadySubtracted);
    let mut renamed = trace(2, distinct);
    let outer = renamed.sites.iter_mut().find(|site| site.name == "elected value x2");
    outer.expect("the site").name = "other".into();
    assert_eq!(refused(&renamed), missing("elected value x2"));
    let mut backwards = trace(2, distinct);
    let four = backwards.sites.iter().position(|site| site.name == "one-lane region x4");
    let four = SiteIndex(four.expect("the site") as u32);
    for region in backwards.warps[0].regions.iter_mut().filter(|region| region.site == four) {
        region.end = Some(region.start);
    }
    assert!(matches!(refused(&backwards), CalibrationError::Implausible(cost) if cost < 0.0));
}

#[test]
fn open_regions_are_left_out() {
    let mut open = trace(3, distinct);
    let last_outer = open.warps[0].regions.iter_mut().rfind(|region| region.depth == 0);
    last_outer.expect("there are outer regions").end = None;
    check(&record_cost(&open).expect("the other rounds are whole"));
}
