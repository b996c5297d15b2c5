//! The cost of recording, by the form of the record and by the lane that records it.

use profiler_wire::Strategy;
use serde::{Deserialize, Serialize};

use crate::json::float;

/// The cost of one stamp, before and after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StampCost {
    /// Ticks before the stamp, such as those of an election.
    #[serde(with = "float")]
    pub before_ticks: f64,
    /// Ticks after the stamp, such as those of the store.
    #[serde(with = "float")]
    pub after_ticks: f64,
}

impl StampCost {
    /// Nothing ahead of the stamp, `ticks` after it.
    #[must_use]
    pub const fn after(ticks: f64) -> Self {
        Self { before_ticks: 0.0, after_ticks: ticks }
    }

    /// All ticks.
    #[must_use]
    pub fn total_ticks(self) -> f64 {
        self.before_ticks + self.after_ticks
    }
}

/// The additional wait of a stamp right after another record, on top of [`StampCost`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StampWait {
    /// Ticks on average.
    #[serde(with = "float")]
    pub mean_ticks: f64,
    /// The most ticks that were seen, but for rare interruptions.
    #[serde(with = "float")]
    pub most_ticks: f64,
}

impl StampWait {
    /// Ticks by which a wait may be longer in any case.
    const FURTHER_TICKS: f64 = 2.0;

    /// The most ticks that a stamp may have waited; `None` if none waits.
    ///
    /// Other kernels have other registers, and wait up to a third longer than the calibration kernel did.
    pub(crate) fn reach_ticks(self) -> Option<f64> {
        // Less is noise.
        (self.most_ticks >= 0.5).then_some(self.most_ticks * (4.0 / 3.0) + Self::FURTHER_TICKS)
    }
}

/// The time that a record or a stamp holds up the next one; see [`RecordCost`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StampWaits {
    /// Whatever stamp right after the begin of a region, with no record near before it.
    pub nested: StampWait,
    /// The begin of a region after a record.
    pub begin: StampWait,
    /// The end of a region that began after the record: from the record to the end, so that it
    /// includes the wait of the begin.
    pub end: StampWait,
    /// Any other stamp after a record, which stores one of its own.
    pub record: StampWait,
}

impl StampWaits {
    fn each(&self) -> [StampWait; 4] {
        [self.nested, self.begin, self.end, self.record]
    }
}

/// The cost of each form of a record, for one way to choose the recording lane.
///
/// The stamps' costs are those of records that stand apart from each other; `waits` comes on top of
/// them where records stand close together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FormCosts {
    /// The begin of a region.
    pub region_begin: StampCost,
    /// Its end, which stores the record.
    pub region_end: StampCost,
    /// A mark, with or without a value.
    pub mark: StampCost,
    /// The additional cost after a region's end of a value in a record of its own. Its stamp is
    /// that of the end. (A value in the region's record adds nothing, as far as [`RecordCost`]
    /// knows.)
    pub value: StampCost,
    /// A reading of both clocks.
    pub anchor: StampCost,
    /// The additional cost of a record right after another one.
    #[serde(default)]
    pub waits: StampWaits,
}

impl FormCosts {
    /// Costs that are the same for every record: an empty region lasts `inside_ticks` and lengthens
    /// one around it by `total_ticks`; so does a mark; values and anchors cost nothing, and no
    /// record holds up another.
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let (begin, end) =
            (StampCost::after(inside_ticks), StampCost::after(total_ticks - inside_ticks));
        let none = StampWait { mean_ticks: 0.0, most_ticks: 0.0 };
        Self {
            region_begin: begin,
            region_end: end,
            mark: StampCost::after(total_ticks),
            value: StampCost::after(0.0),
            anchor: StampCost::after(0.0),
            waits: StampWaits { nested: none, begin: none, end: none, record: none },
        }
    }

    /// The ticks by which the duration of a region is too long, if no record was stored just before
    /// its end.
    #[must_use]
    pub fn inside_ticks(&self) -> f64 {
        self.region_begin.after_ticks + self.region_end.before_ticks
    }

    /// Ticks by which a region lengthens one around it, if it stands apart from other records.
    #[must_use]
    pub fn total_ticks(&self) -> f64 {
        self.region_begin.total_ticks() + self.region_end.total_ticks()
    }

    /// Ticks that an empty region lasts right after another record, on average.
    #[must_use]
    pub fn adjacent_inside_ticks(&self) -> f64 {
        let StampWaits { begin, end, .. } = self.waits;
        self.inside_ticks() + (end.mean_ticks - begin.mean_ticks).max(0.0)
    }

    /// Ticks by which each of many empty regions, one right after the other, lengthens one around
    /// them, on average.
    #[must_use]
    pub fn adjacent_total_ticks(&self) -> f64 {
        self.total_ticks() + self.waits.end.mean_ticks
    }

    /// Each stamp, under a name for programs.
    #[must_use]
    pub const fn stamps(&self) -> [(&'static str, StampCost); 5] {
        [
            ("region_begin", self.region_begin),
            ("region_end", self.region_end),
            ("mark", self.mark),
            ("value", self.value),
            ("anchor", self.anchor),
        ]
    }
}

/// The cost of recording, in ticks of the SM's cycle counter (`%clock64`), as the calibration
/// kernel measured it on the device in use.
///
/// # The model
///
/// Each stamp, a reading of the clock that a record holds, costs a constant: some ticks ahead of it
/// and some after it ([`StampCost`]). These are cut out of the warp's time.
///
/// On top of that a stamp may wait. A record's store reads its registers some time after it is
/// issued, and an instruction that writes one of them meanwhile waits. The wait depends on the
/// registers that the compiler took: from nothing to [`StampWait::most_ticks`]. A stamp right after
/// a begin waits a few ticks as well ([`StampWaits::nested`]). So a stamp is compared with the
/// warp's nearest record before it: with the last that was stored, and with a begin right before
/// it. If it came within the reach of the wait (the longest of the calibration and a third more), it is moved to the place of the stamp before it. If not,
/// nothing held it up, and the constants alone are cut: exact.
///
/// So work of a few dozen cycles between two records cannot be told from none, and is cut. Lengths are
/// then too short, never too long.
///
/// # What it does not know
///
/// * The records of other warps. The calibration has four warps of an SM
///   ([`CALIBRATION_WARPS`](profiler_wire::symbol::CALIBRATION_WARPS)), and that many are covered. Where more record
///   at once, they wait for each other, and that stays in the times
///   ([`DiagnosticKind::CostIsRough`](crate::DiagnosticKind::CostIsRough)).
/// * The stores of several lanes, as by `thread`. The instructions are those of one lane and are
///   subtracted. The memory takes the stores one after the other, which stays in the times (the same diagnostic).
/// * Records to host memory (`buffer = host`), whose cost depends on what else is on the bus, and records by
///   `%globaltimer`, whose steps are longer than a record takes. Nothing is subtracted there
///   ([`DiagnosticKind::CostUnknown`](crate::DiagnosticKind::CostUnknown)).
/// * The kernel's own instructions, which may wait for a record's registers as well.
/// * A value in the region's own record ([`Region::value_in_record`](crate::Region::value_in_record)), taken
///   for free, and the record of a region that nobody ended, which has no time.
/// * Work that waits for its own results hides a part of what a record costs. Beside work that leaves no
///   issue slot free, a record costs some ten cycles more.
///
/// # How it is measured
///
/// In a region of known work `a` (a pause, see
/// [`CALIBRATION`](profiler_wire::symbol::CALIBRATION)) and in regions around several such:
///
/// * `region_begin.after_ticks`: what a region around one pause lasts less `a`, all of it taken to
///   pass after its begin, so that `region_end.before_ticks` is 0;
/// * `before_ticks` of a begin, a mark or an anchor: from the begin of the region around it to it,
///   less the pause and what passes after that begin;
/// * `after_ticks` of an end, a mark or an anchor: what remains of what the record adds to the region
///   around it;
/// * the waits: what passes from a stamp to one right after it, less `apart`; of many places the mean
///   and the longest.
///
/// No figure may be negative: a difference below zero is noise, and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordCost {
    /// Records of one lane that is known beforehand: all strategies but `elected`. By `thread` each
    /// lane stores a record, and this is the least cost.
    pub one_lane: FormCosts,
    /// Records of a lane that is elected.
    pub elected: FormCosts,
}

impl RecordCost {
    /// Costs that are the same for every record; see [`FormCosts::uniform`].
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let costs = FormCosts::uniform(inside_ticks, total_ticks);
        Self { one_lane: costs, elected: costs }
    }

    /// The costs of records by a strategy.
    #[must_use]
    pub const fn of(&self, strategy: Strategy) -> &FormCosts {
        match strategy {
            Strategy::Elected => &self.elected,
            _ => &self.one_lane,
        }
    }

    /// The costs by each way in which the recording lane is chosen, under a name for programs.
    #[must_use]
    pub const fn elections(&self) -> [(&'static str, &FormCosts); 2] {
        [("one_lane", &self.one_lane), ("elected", &self.elected)]
    }

    /// Whether every figure is one that can be subtracted.
    pub(crate) fn is_usable(&self) -> bool {
        self.elections().into_iter().all(|(_, costs)| {
            let stamps = costs.stamps().map(|(_, cost)| [cost.before_ticks, cost.after_ticks]);
            let waits = costs.waits.each().map(|wait| [wait.mean_ticks, wait.most_ticks]);
            let mut ticks = stamps.iter().chain(&waits).flatten();
            ticks.all(|ticks| ticks.is_finite() && *ticks >= 0.0)
        })
    }
}
