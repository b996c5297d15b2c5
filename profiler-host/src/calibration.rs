//! What recording costs, told from the trace of the kernel that measures it
//! ([`profiler_wire::symbol::CALIBRATION`]).
//!
//! The kernel's outer regions hold records back to back, and as many pauses with and without records
//! between them. The latter differ by what a record costs that stands apart from others; where
//! records stand back to back, what passes between two stamps beyond that is what the second one
//! waited for the first one's store. [`RecordCost`] says what follows from what.

use profiler_trace::{
    FormCosts, RecordCost, Region, StampCost, StampWait, StampWaits, Trace, Warp,
};
use profiler_wire::symbol::{
    CALIBRATION_APART, CALIBRATION_ELECTIONS, CALIBRATION_FORMS, CALIBRATION_NEST,
    CALIBRATION_NESTED_FORMS, CALIBRATION_PAUSES, CALIBRATION_ROW, CALIBRATION_ROW_FORMS,
    CALIBRATION_WARPS,
};

use crate::error::Error;
use crate::options::{Keep, Options, Slots};

/// How often the calibration kernel repeats its regions: enough for a median that a few cache
/// misses and interruptions do not move.
pub(crate) const ROUNDS: u32 = 128;
/// The same on the emulator, which has no cache and is slow.
pub(crate) const EMULATED_ROUNDS: u32 = 32;
/// Threads of the calibration kernel's only block.
#[cfg(feature = "cuda")]
pub(crate) const THREADS: u32 = 32 * CALIBRATION_WARPS;
/// Units of a record of each of [`CALIBRATION_FORMS`].
const UNITS_OF_FORMS: [u32; CALIBRATION_FORMS.len()] = [1, 2, 1, 1];
/// Units of a round, all of which lane 0 stores.
const UNITS_OF_ROUND: u32 = {
    let of_region = UNITS_OF_FORMS[0];
    let (mut units, mut election) = (0, 0);
    while election < CALIBRATION_ELECTIONS.len() {
        // The region around pauses alone.
        units += of_region;
        let mut form = 0;
        while form < CALIBRATION_FORMS.len() {
            units += of_region + CALIBRATION_APART * UNITS_OF_FORMS[form];
            if form < CALIBRATION_ROW_FORMS.len() {
                units += of_region + CALIBRATION_ROW * UNITS_OF_FORMS[form];
            }
            if form < CALIBRATION_NESTED_FORMS.len() {
                units += of_region + CALIBRATION_NEST * UNITS_OF_FORMS[form];
            }
            form += 1;
        }
        election += 1;
    }
    units
};
/// The options of a calibration run.
pub(crate) fn options() -> Options {
    Options {
        records_per_warp: ROUNDS * UNITS_OF_ROUND,
        keep: Keep::First,
        slots: Slots::Linear,
        lane_buffers: Some(false),
        max_warps: Some(CALIBRATION_WARPS),
        ..Options::default()
    }
}

/// The part of the waits at a place that the longest one is taken from: what lies beyond are cache
/// misses and interruptions.
const USUAL_PART: f64 = 0.95;

/// What records cost on the device that made the trace, in ticks of its record clock, as
/// [`RecordCost`] describes.
///
/// # Errors
///
/// [`Error::Calibration`], where the trace is not that of a whole calibration run.
pub(crate) fn record_cost(trace: &Trace) -> Result<RecordCost, Error> {
    if trace.cost_subtracted {
        return Err(Error::Calibration(
            "the cost of records was already subtracted from this trace; calibrate on one as read"
                .to_owned(),
        ));
    }
    let lost: u64 = trace.warps.iter().map(|warp| warp.lost).sum();
    if lost > 0 {
        return Err(Error::Calibration(format!(
            "{lost} records of the calibration run were lost; give its session more room"
        )));
    }
    let run = Run::new(trace);
    Ok(RecordCost { one_lane: run.costs(Election(0))?, elected: run.costs(Election(1))? })
}

/// One of [`CALIBRATION_ELECTIONS`], by its place among them.
#[derive(Clone, Copy)]
struct Election(usize);

impl Election {
    fn name(self) -> &'static str {
        CALIBRATION_ELECTIONS[self.0]
    }
}

/// What a stamp is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Begin,
    End,
    /// The end of a region with a value.
    ValueEnd,
    Mark,
    Anchor,
}

impl Kind {
    /// The stamps of a record of one of [`CALIBRATION_FORMS`].
    fn of_form(form: &str) -> &'static [Self] {
        match form {
            "value" => &[Self::Begin, Self::ValueEnd],
            "mark" => &[Self::Mark],
            "anchor" => &[Self::Anchor],
            _ => &[Self::Begin, Self::End],
        }
    }

    /// What it costs apart from others.
    fn cost(self, costs: &FormCosts) -> StampCost {
        match self {
            Self::Begin => costs.region_begin,
            Self::End => costs.region_end,
            Self::ValueEnd => StampCost {
                after_ticks: costs.region_end.after_ticks + costs.value.total_ticks(),
                ..costs.region_end
            },
            Self::Mark => costs.mark,
            Self::Anchor => costs.anchor,
        }
    }
}

/// The stamps of a region around records of a form: one after the other, or each in the one before.
fn pattern(form: &str, count: u32, nested: bool) -> Vec<Kind> {
    let record = Kind::of_form(form);
    let inner = record.repeat(count as usize);
    let mut kinds = vec![Kind::Begin];
    if nested {
        let (begins, ends): (Vec<Kind>, Vec<Kind>) =
            inner.into_iter().partition(|kind| *kind == record[0]);
        kinds.extend(begins.into_iter().chain(ends));
    } else {
        kinds.extend(inner);
    }
    kinds.push(Kind::End);
    kinds
}

/// A warp's stamps in order.
fn stamps(warp: &Warp) -> Vec<(u64, Kind)> {
    let mut stamps = Vec::new();
    for region in &warp.regions {
        let end = if region.value.is_some() { Kind::ValueEnd } else { Kind::End };
        stamps.push((region.start.ticks, Kind::Begin));
        stamps.extend(region.end.map(|time| (time.ticks, end)));
    }
    stamps.extend(warp.marks.iter().map(|mark| (mark.time.ticks, Kind::Mark)));
    stamps.extend(warp.anchors.iter().map(|anchor| (anchor.time.ticks, Kind::Anchor)));
    stamps.sort_by_key(|stamp| stamp.0);
    stamps
}

/// What the calibration kernel recorded.
struct Run<'t> {
    trace: &'t Trace,
    /// Its warps, and the stamps of each.
    warps: Vec<(&'t Warp, Vec<(u64, Kind)>)>,
}

impl<'t> Run<'t> {
    fn new(trace: &'t Trace) -> Self {
        Self { trace, warps: trace.warps.iter().map(|warp| (warp, stamps(warp))).collect() }
    }

    /// What each form costs if the lane is chosen so.
    fn costs(&self, election: Election) -> Result<FormCosts, Error> {
        let [region, value, mark, anchor] = CALIBRATION_FORMS;
        let name = election.name();
        let apart = |form: &str| {
            self.places(&format!("{name} {form} apart"), &pattern(form, CALIBRATION_APART, false))
        };
        let pauses = self.places(&format!("{name} apart"), &pattern(region, 0, false))?;
        let of_regions = apart(region)?;
        // A region around all pauses lasts that much longer than one around a single pause.
        let pauses_ticks = pauses.between(0, 1);
        let pause = (pauses_ticks - of_regions.between(1, 2)) / f64::from(CALIBRATION_PAUSES - 1);
        let after_begin = (of_regions.between(1, 2) - pause).max(0.0);
        let total = |places: &Places| -> Result<f64, Error> {
            let more = places.between(0, places.kinds.len() - 1) - pauses_ticks;
            let total = more / f64::from(CALIBRATION_APART);
            if total >= 0.0 {
                return Ok(total);
            }
            Err(Error::Calibration(format!(
                "the measurement gave a cost of {total} ticks a record; repeat it on an idle GPU"
            )))
        };
        let ahead = |places: &Places| (places.between(0, 1) - pause - after_begin).max(0.0);
        let pair = |places: &Places| -> Result<_, Error> {
            let begin = StampCost {
                before_ticks: ahead(places),
                after_ticks: (places.between(1, 2) - pause).max(0.0),
            };
            let after = total(places)? - begin.total_ticks();
            Ok((begin, StampCost::after(after.max(0.0))))
        };
        let (region_begin, region_end) = pair(&of_regions)?;
        let single = |form: &str| -> Result<_, Error> {
            let places = apart(form)?;
            let total = total(&places)?;
            let before = ahead(&places).min(total);
            Ok(StampCost { before_ticks: before, after_ticks: total - before })
        };
        let beyond = (total(&apart(value)?)? - total(&of_regions)?).max(0.0);
        let mark = single(mark)?;
        let anchor = single(anchor)?;
        let mut costs = FormCosts {
            region_begin,
            region_end,
            mark,
            value: StampCost::after(beyond),
            anchor,
            waits: StampWaits::default(),
        };
        costs.waits = self.waits(election, &costs)?;
        Ok(costs)
    }

    /// How long records hold up what is right after them.
    fn waits(&self, election: Election, costs: &FormCosts) -> Result<StampWaits, Error> {
        let rows = CALIBRATION_ROW_FORMS.iter();
        let nests = CALIBRATION_NESTED_FORMS.iter();
        let rows = rows.map(|form| (*form, "row", CALIBRATION_ROW));
        let nests = nests.map(|form| (*form, "nest", CALIBRATION_NEST));
        let [mut nested, mut begins, mut ends, mut records] = [const { Vec::new() }; 4];
        for (form, shape, count) in rows.chain(nests) {
            let kinds = pattern(form, count, shape == "nest");
            let places = self.places(&format!("{} {form} {shape}", election.name()), &kinds)?;
            // The last stamp that stored a record, what all since cost, and whether a region began since.
            let mut stored: Option<(usize, f64, bool)> = None;
            for (place, kind) in kinds.iter().enumerate() {
                let cost = kind.cost(costs);
                let before = place.checked_sub(1).map(|place| (place, kinds[place]));
                if let (None, Some((begin, Kind::Begin))) = (stored, before) {
                    let apart = costs.region_begin.after_ticks + cost.before_ticks;
                    nested.push(places.wait(begin, place, apart));
                }
                if let Some((since, apart, begun)) = &mut stored {
                    *apart += cost.before_ticks;
                    let wait = places.wait(*since, place, *apart);
                    match kind {
                        Kind::Begin => begins.push(wait),
                        _ if *begun => ends.push(wait),
                        _ => records.push(wait),
                    }
                    *begun |= *kind == Kind::Begin;
                    *apart += cost.after_ticks;
                }
                if *kind != Kind::Begin {
                    stored = Some((place, cost.after_ticks, false));
                }
            }
        }
        Ok(StampWaits {
            nested: of_all(&nested),
            begin: of_all(&begins),
            end: of_all(&ends),
            record: of_all(&records),
        })
    }

    /// What the regions of this name show that hold just these stamps.
    fn places(&self, name: &str, kinds: &[Kind]) -> Result<Places, Error> {
        let mut ticks = Vec::new();
        for (warp, stamps) in &self.warps {
            let is = |region: &&Region| self.trace.site(region.site).name == name;
            for region in warp.regions.iter().filter(is) {
                let Some(end) = region.end else { continue };
                let from = stamps.partition_point(|stamp| stamp.0 < region.start.ticks);
                let to = stamps.partition_point(|stamp| stamp.0 <= end.ticks);
                let within = &stamps[from..to];
                if within.iter().map(|stamp| &stamp.1).eq(kinds) {
                    ticks.push(within.iter().map(|stamp| stamp.0).collect());
                }
            }
        }
        if ticks.is_empty() {
            return Err(Error::Calibration(format!(
                "the trace has no complete region \"{name}\" with its records, so it is not that of the \
                 calibration kernel, or its buffer was too small"
            )));
        }
        Ok(Places { kinds: kinds.to_vec(), ticks })
    }
}

/// The stamps of all regions around the same pattern of records.
struct Places {
    kinds: Vec<Kind>,
    /// Region by region; never empty.
    ticks: Vec<Vec<u64>>,
}

impl Places {
    /// What passes from one place to a later one, in order of length.
    fn sorted(&self, from: usize, to: usize) -> Vec<u64> {
        let mut ticks: Vec<u64> = self.ticks.iter().map(|ticks| ticks[to] - ticks[from]).collect();
        ticks.sort_unstable();
        ticks
    }

    /// The median of what passes from one place to a later one: of two in the middle, their mean.
    fn between(&self, from: usize, to: usize) -> f64 {
        let ticks = self.sorted(from, to);
        (ticks[(ticks.len() - 1) / 2] as f64 + ticks[ticks.len() / 2] as f64) / 2.0
    }

    /// What passes beyond what the stamps cost apart from each other: the median, and the most.
    fn wait(&self, from: usize, to: usize, apart: f64) -> StampWait {
        let ticks = self.sorted(from, to);
        let usual = ((ticks.len() as f64 * USUAL_PART).ceil() as usize).clamp(1, ticks.len());
        let most = ticks[usual - 1] as f64 - apart;
        let mean = self.between(from, to) - apart;
        StampWait { mean_ticks: mean.max(0.0), most_ticks: most.max(mean).max(0.0) }
    }
}

/// The mean of all places, and the longest of all.
fn of_all(waits: &[StampWait]) -> StampWait {
    let mean = waits.iter().map(|wait| wait.mean_ticks).sum::<f64>() / waits.len().max(1) as f64;
    let most = waits.iter().map(|wait| wait.most_ticks).fold(0.0, f64::max);
    StampWait { mean_ticks: mean, most_ticks: most }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
