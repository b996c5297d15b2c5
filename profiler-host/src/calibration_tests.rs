use profiler_trace::{ClockReading, Launch, Mark, Region, Site, SiteIndex, Time, Value, Warp};
use profiler_wire::header::Clock;
use profiler_wire::{SiteKind, Strategy};

use super::*;

fn site(kind: SiteKind, name: String) -> Site {
    Site {
        buffer: profiler_trace::Buffer::Global,
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

/// What the stamps of a form take in a made-up run, in ticks: ahead of a record, after its begin,
/// and after its end.
#[derive(Clone, Copy)]
struct Ticks {
    before: u64,
    inside: u64,
    after: u64,
}

/// What a stamp waits at least from the record stored before it, beyond what both cost apart.
#[derive(Clone, Copy)]
struct Held {
    nested: u64,
    begin: u64,
    end: u64,
    record: u64,
}

const PAUSE: u64 = 100;

/// A made-up warp, as the calibration kernel runs it.
struct Machine<T> {
    trace: Trace,
    warp: Warp,
    now: u64,
    /// By election and form.
    ticks: T,
    held: Held,
    /// When the last record was stored, what all stamps since cost apart, and whether one was a
    /// begin.
    stored: (u64, u64, bool),
    /// Where the last stamp was a begin: when, and what it costs after it.
    begun: Option<(u64, u64)>,
    election: usize,
}

/// Places in [`CALIBRATION_FORMS`].
const VALUE: usize = 1;
const MARK: usize = 2;
const ANCHOR: usize = 3;
const OUTER: usize = usize::MAX;

impl<T: Fn(usize, usize) -> Ticks> Machine<T> {
    /// The stamps of a region around others are those of a plain region.
    fn ticks(&self, form: usize) -> Ticks {
        (self.ticks)(self.election, if form == OUTER { 0 } else { form })
    }

    fn name(&mut self, form: usize, around: &str) -> SiteIndex {
        let election = CALIBRATION_ELECTIONS[self.election];
        let kind = if form == MARK { SiteKind::Mark } else { SiteKind::Region };
        let name = match CALIBRATION_FORMS.get(form) {
            Some(form) => format!("{election} {form}"),
            None => format!("{election} {around}"),
        };
        index_of(&mut self.trace, kind, name)
    }

    fn stamp(&mut self, before: u64, after: u64, is_begin: bool) -> Time {
        let (at, apart, begun) = self.stored;
        let held = match (is_begin, begun) {
            (true, _) => self.held.begin,
            (false, true) => self.held.end,
            (false, false) => self.held.record,
        };
        let stores = !is_begin;
        let apart = apart + before;
        self.now = (self.now + before).max(at + apart + held);
        if let Some((at, after)) = self.begun {
            self.now = self.now.max(at + after + before + self.held.nested);
        }
        self.begun = (!stores).then_some((self.now, after));
        let time = Time { ticks: self.now, ns: self.now as f64 };
        self.stored = if stores { (self.now, after, false) } else { (at, apart + after, true) };
        self.now += after;
        time
    }

    /// Records of a form around what is done in them.
    fn record(&mut self, form: usize, around: &str, inner: &mut dyn FnMut(&mut Self)) {
        let Ticks { before, inside, after } = self.ticks(form);
        let site = self.name(form, around);
        match form {
            MARK => {
                let time = self.stamp(before, after, false);
                self.warp.marks.push(Mark { site, track: None, lane: 0, time, value: None });
                inner(self);
            }
            ANCHOR => {
                let time = self.stamp(before, after, false);
                self.warp.anchors.push(ClockReading { lane: 0, time });
                inner(self);
            }
            _ => {
                let start = self.stamp(before, inside, true);
                inner(self);
                let end = Some(self.stamp(0, after, false));
                self.warp.regions.push(Region {
                    site,
                    track: None,
                    lane: 0,
                    value_in_record: false,
                    depth: u16::from(form != OUTER),
                    start,
                    end,
                    value: (form == VALUE).then_some(Value::Unsigned(1)),
                });
            }
        }
    }

    fn enclose(&mut self, around: &str, inner: &mut dyn FnMut(&mut Self)) {
        self.now += PAUSE;
        self.record(OUTER, around, inner);
    }

    fn nest(&mut self, form: usize, depth: u32) {
        if depth > 0 {
            self.record(form, "", &mut |machine| machine.nest(form, depth - 1));
        }
    }

    fn round(&mut self) {
        let pause = |machine: &mut Self| machine.now += PAUSE;
        for election in 0..CALIBRATION_ELECTIONS.len() {
            self.election = election;
            for (form, name) in CALIBRATION_FORMS.into_iter().enumerate() {
                if form < CALIBRATION_ROW_FORMS.len() {
                    self.enclose(&format!("{name} row"), &mut |machine| {
                        for _ in 0..CALIBRATION_ROW {
                            machine.record(form, "", &mut |_| ());
                        }
                    });
                }
                if form < CALIBRATION_NESTED_FORMS.len() {
                    let depth = CALIBRATION_NEST;
                    self.enclose(&format!("{name} nest"), &mut |machine| machine.nest(form, depth));
                }
                self.enclose(&format!("{name} apart"), &mut |machine| {
                    for _ in 0..CALIBRATION_APART {
                        pause(machine);
                        machine.record(form, "", &mut { pause });
                    }
                    pause(machine);
                });
            }
            self.enclose("apart", &mut |machine| {
                (0..CALIBRATION_PAUSES).for_each(|_| pause(machine))
            });
        }
    }
}

/// A run in which the records of election `e` and form `f` take what `ticks(e, f)` says.
fn trace(rounds: u32, held: Held, ticks: impl Fn(usize, usize) -> Ticks) -> Trace {
    let mut trace = Trace::default();
    let kernel = index_of(&mut trace, SiteKind::Kernel, "kernel".to_owned());
    let warp = Warp {
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
    let mut machine = Machine {
        trace,
        warp,
        now: 1000,
        ticks,
        held,
        stored: (0, 0, false),
        begun: None,
        election: 0,
    };
    for _ in 0..rounds {
        machine.round();
    }
    let Machine { mut trace, mut warp, .. } = machine;
    warp.recorded = (warp.regions.len() + warp.marks.len()) as u64;
    trace.launches.push(Launch {
        kernel,
        grid_id: 0,
        replay: 0,
        grid_dim: [1; 3],
        block_dim: [32, 1, 1],
        warps: 0..1,
        start_ns: 0.0,
        end_ns: 0.0,
    });
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

/// Distinct figures for every election and form; a region with a value differs from one without by
/// what passes after its end.
fn distinct(e: usize, f: usize) -> Ticks {
    let of_begin = if f == VALUE { 0 } else { f as u64 };
    let (e, mark) = (e as u64, u64::from(f == MARK));
    Ticks { before: 10 * e + mark, inside: 2 + of_begin, after: 20 + 7 * f as u64 + e }
}

const HELD: Held = Held { nested: 3, begin: 5, end: 12, record: 31 };

fn close(cost: StampCost, before: u64, after: u64) {
    let off =
        (cost.before_ticks - before as f64).abs().max((cost.after_ticks - after as f64).abs());
    assert!(off < 1e-9, "{cost:?} is not {before} before and {after} after");
}

/// Of a machine that holds up stamps for just so long, the waits are that long.
fn check(cost: &RecordCost, held: Held) {
    for (e, (_, costs)) in cost.elections().into_iter().enumerate() {
        let of = |f| distinct(e, f);
        close(costs.region_begin, of(0).before, of(0).inside);
        close(costs.region_end, 0, of(0).after);
        close(costs.value, 0, of(VALUE).after - of(0).after);
        close(costs.mark, of(MARK).before, of(MARK).after);
        close(costs.anchor, of(ANCHOR).before, of(ANCHOR).after);
        let StampWaits { nested, begin, end, record } = costs.waits;
        for (wait, held) in
            [(nested, held.nested), (begin, held.begin), (end, held.end), (record, held.record)]
        {
            let held = held as f64;
            assert!((wait.mean_ticks - held).abs() < 1e-9, "{wait:?} is not {held}");
            assert!((wait.most_ticks - held).abs() < 1e-9, "{wait:?} is not {held}");
        }
    }
}

#[test]
fn costs_are_told_from_pauses_and_waits_from_rows_and_nests() {
    check(&record_cost(&trace(3, HELD, distinct)).expect("a whole calibration run"), HELD);
    let none = Held { nested: 0, begin: 0, end: 0, record: 0 };
    check(&record_cost(&trace(3, none, distinct)).expect("a whole calibration run"), none);
}

#[test]
fn a_slow_round_in_twenty_changes_nothing() {
    let mut slow = trace(40, HELD, distinct);
    let round = slow.warps[0].regions.len() / 40;
    // The ends of the outer regions of the first round: nothing lies after them within a region.
    for region in slow.warps[0].regions[..round].iter_mut().filter(|region| region.depth == 0) {
        region.end = region.end.map(|end| Time { ticks: end.ticks + 90, ..end });
    }
    check(&record_cost(&slow).expect("still whole"), HELD);
}

#[test]
fn waits_that_differ_have_a_mean_and_a_longest_one() {
    let mut uneven = trace(20, HELD, distinct);
    let name = |name: &str| {
        let site = uneven.sites.iter().position(|site| site.name == name);
        SiteIndex(site.expect("the site") as u32)
    };
    let row = name("one-lane region row");
    for region in uneven.warps[0].regions.iter_mut().filter(|region| region.site == row) {
        region.end = region.end.map(|end| Time { ticks: end.ticks + 40, ..end });
    }
    let waits = record_cost(&uneven).expect("still whole").one_lane.waits;
    assert!((waits.record.most_ticks - 71.0).abs() < 1e-9, "{waits:?}");
    assert!(waits.record.mean_ticks > 31.0 && waits.record.mean_ticks < 40.0, "{waits:?}");
    assert!((waits.end.most_ticks - 12.0).abs() < 1e-9, "{waits:?}");
}

fn refused(trace: &Trace) -> String {
    record_cost(trace).expect_err("must be refused").to_string()
}

/// The error where a region is missing.
fn missing(name: &str) -> String {
    format!(
        "the trace has no complete region \"{name}\" with its records, so it is not that of the calibration \
         kernel, or its buffer was too small"
    )
}

#[test]
fn a_trace_that_does_not_tell_is_refused() {
    assert_eq!(refused(&Trace::default()), missing("one-lane apart"));
    let whole = trace(2, HELD, distinct);
    let mut lossy = whole.clone();
    lossy.warps[0].lost = 3;
    assert!(refused(&lossy).starts_with("3 records of the calibration run were lost; "));
    let mut changed = whole.clone();
    changed.cost_subtracted = true;
    assert!(refused(&changed).starts_with("the cost of records was already subtracted "));
    let mut renamed = whole.clone();
    for name in ["elected value nest", "one-lane value nest"] {
        let outer = renamed.sites.iter_mut().find(|site| site.name == name);
        outer.expect("the site").name = "other".into();
        assert_eq!(refused(&renamed), missing(name));
    }
    let mut without_marks = whole.clone();
    without_marks.warps[0].marks.clear();
    assert_eq!(refused(&without_marks), missing("one-lane mark apart"));
    let mut backwards = whole;
    let apart = backwards.sites.iter().position(|site| site.name == "one-lane apart");
    let apart = SiteIndex(apart.expect("the site") as u32);
    for region in backwards.warps[0].regions.iter_mut().filter(|region| region.site == apart) {
        region.start.ticks -= 90;
    }
    assert!(refused(&backwards).starts_with("the measurement gave a cost of -"));
}

#[test]
fn open_regions_are_left_out() {
    let mut open = trace(3, HELD, distinct);
    let last_outer = open.warps[0].regions.iter_mut().rfind(|region| region.depth == 0);
    last_outer.expect("there are outer regions").end = None;
    check(&record_cost(&open).expect("the other rounds are whole"), HELD);
}

#[test]
fn a_round_fits_its_buffer() {
    // By what symbol.rs says of the kernel: regions take 1 + 2, 1 + 3 and 1 + 4 units apart, in a row
    // and in a nest, with values 1 + 4, 1 + 6 and 1 + 8; marks 1 + 2 and 1 + 3; anchors 1 + 2.
    let (regions, marks, anchors) = (12 + 21, 7, 3);
    assert_eq!(UNITS_OF_ROUND, 2 * (1 + regions + marks + anchors));
}
