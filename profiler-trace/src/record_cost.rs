//! What recording costs: a table by what is recorded and by who records it.

use profiler_wire::Strategy;
use profiler_wire::site::Buffer;

/// What one stamp costs its warp, by where the ticks pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StampCost {
    /// Ticks that pass ahead of the stamp and would not without it, such as those of an election.
    pub before_ticks: f64,
    /// Ticks that pass behind it, such as those of the store.
    pub after_ticks: f64,
}

impl StampCost {
    /// Nothing ahead of the stamp, `ticks` behind it.
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

/// How much longer a stamp waits than [`StampCost`] says, because of what was recorded just before
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StampWait {
    /// Ticks on average.
    pub mean_ticks: f64,
    /// The most ticks that were seen, but for rare interruptions.
    pub most_ticks: f64,
}

impl StampWait {
    /// The part of the longest wait by which others may be longer: those of other kernels, whose
    /// registers are others, and of other warps beside them.
    const FURTHER_PART: f64 = 1.0 / 3.0;
    /// The same of rare waits, where other warps record at just that time: on an H200, of four warps, 0.7 times
    /// longer than the longest wait.
    const RARE_PART: f64 = 1.0;
    /// Ticks by which a wait may be longer in any case.
    const FURTHER_TICKS: f64 = 2.0;

    /// The same where records are in memory of the host: over an idle bus waits are more even than those for memory
    /// of the GPU, but in nests deeper than the calibration kernel's longer. On an H100 stamps eight deep waited
    /// up to 71 cycles, and those of the calibration kernel up to 47.
    pub(crate) fn over_the_bus(self) -> Self {
        Self { most_ticks: self.most_ticks * 1.25, ..self }
    }

    /// Within how many ticks a stamp may have waited; `None` where none waits.
    pub(crate) fn reach_ticks(self) -> Option<f64> {
        self.longer_by(Self::FURTHER_PART)
    }

    /// Within how many ticks a stamp may have waited for once, that mostly waits as long as others.
    pub(crate) fn rare_ticks(self) -> Option<f64> {
        self.longer_by(Self::RARE_PART)
    }

    fn longer_by(self, part: f64) -> Option<f64> {
        // Less is noise.
        (self.most_ticks >= 0.5).then_some(self.most_ticks * (1.0 + part) + Self::FURTHER_TICKS)
    }

    /// Whether what passed may be a wait.
    pub(crate) fn is_within_reach(self, ticks: f64) -> bool {
        self.reach_ticks().is_some_and(|reach| ticks <= reach)
    }

    /// Whether what passed may be a rare wait, and is longer than any other.
    pub(crate) fn is_rare(self, ticks: f64) -> bool {
        !self.is_within_reach(ticks) && self.rare_ticks().is_some_and(|rare| ticks <= rare)
    }
}

/// How long a stored record, or a stamp, holds up what is recorded behind it; see [`RecordCost`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StampWaits {
    /// Whatever stamp right behind the begin of a region, with no record near before it. None of
    /// [`HostCost`]: there the begin is a record.
    pub nested: StampWait,
    /// The begin of a region behind a record.
    pub begin: StampWait,
    /// The end of a region that began behind the record: from the record to the end, so that it
    /// includes what the begin waited. Of [`HostCost`], any stamp but a begin right behind a begin,
    /// which is the record.
    pub end: StampWait,
    /// Any other stamp behind a record, which stores one of its own.
    pub record: StampWait,
}

/// What each form of a record costs, where the recording lane is chosen in one way.
///
/// The stamps' costs are those of records that stand apart from each other; `waits` comes on top of
/// them where records stand close together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FormCosts {
    /// The begin of a region.
    pub region_begin: StampCost,
    /// Its end, which stores the record.
    pub region_end: StampCost,
    /// A mark, with or without a value.
    pub mark: StampCost,
    /// What a region's value in a record of its own adds behind its end: its stamp is that of the end. (One in
    /// the region's record adds nothing, as far as [`RecordCost`] knows.)
    pub value: StampCost,
    /// A reading of both clocks.
    pub anchor: StampCost,
    /// What a record behind another one costs on top.
    pub waits: StampWaits,
}

impl FormCosts {
    /// Where every record costs the same: an empty region lasts `inside_ticks` and lengthens one
    /// around it by `total_ticks`; so does a mark; values and anchors cost nothing, and no record
    /// holds up another.
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let (begin, end) =
            (StampCost::after(inside_ticks), StampCost::after(total_ticks - inside_ticks));
        Self {
            region_begin: begin,
            region_end: end,
            mark: StampCost::after(total_ticks),
            value: StampCost::after(0.0),
            anchor: StampCost::after(0.0),
            waits: StampWaits {
                nested: StampWait { mean_ticks: 0.0, most_ticks: 0.0 },
                begin: StampWait { mean_ticks: 0.0, most_ticks: 0.0 },
                end: StampWait { mean_ticks: 0.0, most_ticks: 0.0 },
                record: StampWait { mean_ticks: 0.0, most_ticks: 0.0 },
            },
        }
    }

    /// The same with [such waits](StampWait::over_the_bus).
    fn over_the_bus(self) -> Self {
        let StampWaits { nested, begin, end, record } = self.waits;
        let waits = StampWaits {
            nested: nested.over_the_bus(),
            begin: begin.over_the_bus(),
            end: end.over_the_bus(),
            record: record.over_the_bus(),
        };
        Self { waits, ..self }
    }

    /// What the duration of a region is too long by, in ticks, where no record was stored just
    /// before its end.
    #[must_use]
    pub fn inside_ticks(&self) -> f64 {
        self.region_begin.after_ticks + self.region_end.before_ticks
    }

    /// Ticks by which a region lengthens one around it, where it stands apart from other records.
    #[must_use]
    pub fn total_ticks(&self) -> f64 {
        self.region_begin.total_ticks() + self.region_end.total_ticks()
    }

    /// Ticks that an empty region lasts right behind another record, on average.
    #[must_use]
    pub fn adjacent_inside_ticks(&self) -> f64 {
        let StampWaits { begin, end, .. } = self.waits;
        self.inside_ticks() + (end.mean_ticks - begin.mean_ticks).max(0.0)
    }

    /// Ticks by which each of many empty regions, one right behind the other, lengthens one around
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

/// How the lane that records is chosen, as far as it bears on the cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Election {
    /// One lane, known beforehand.
    OneLane,
    /// The active lanes elect one at every record.
    Elected,
}

impl Election {
    /// How the lane is chosen that stores a record by `strategy`.
    #[must_use]
    pub const fn of(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Elected => Self::Elected,
            _ => Self::OneLane,
        }
    }
}

/// What recording costs, in ticks of the SM's cycle counter (`%clock64`), as the calibration kernel
/// measured it on the device in use.
///
/// # The model
///
/// A stamp `s` behind a stamp `p` comes at `p + work + apart`: `apart` is what passes behind `p` and
/// ahead of `s` for their own sake ([`StampCost`]). But a record's store reads its registers some
/// time after it is issued, and what is to write one of them meanwhile waits. So where a record was
/// stored at `q`, no later than `p`, the stamp comes at the later of that time and
/// `q + apart + held`, with all that is recorded in between in `apart`. How large `held` is depends
/// on the registers that the compiler took: from nothing to [`StampWait::most_ticks`]. A stamp right
/// behind the begin of a region waits a few ticks, too ([`StampWaits::nested`]), which others find hidden
/// behind the latency of the work around them.
///
/// What is seen is the stamps. Where `s` lies beyond the reach of `q` (the longest wait and a third
/// more, for other registers and other warps; two thirds more over the bus to the host), nothing held it up, and
/// the work is what passed less `apart`: exact. Where it lies within, the work was anything from nothing to that, and nothing is
/// assumed, since records that close mostly stand back to back: the error is at most the reach, and
/// as work it is always too short, never too long. Work of a few dozen cycles between records can
/// therefore not be told from none.
///
/// Now and then several warps of an SM record at just the same time, and one of them waits longer. So where a
/// warp came from the one place to the other at least 8 times, and in at least three of four of them within
/// reach, the reach is twice the longest wait: that one time was hardly work. (Work that is done between
/// two records now and then, of a few dozen cycles, is taken for a wait as well.)
///
/// The longest waits are those of few warps
/// ([`CALIBRATION_WARPS`](profiler_wire::symbol::CALIBRATION_WARPS)). Where more of an SM record at once, a stamp waits
/// for their records, too, as the SM takes one after the other. When they stored is in the trace: each unit that
/// others stored from shortly before `q` until the wait is over makes it longer. So the reach is as long as with few
/// warps where others are there and do not record.
///
/// Stamps of `%globaltimer` come in steps that are longer than a wait: two readings say of 1 ns mostly nothing
/// and now and then a whole step. Where a warp stamped at the same two places, one right behind the other, at
/// least 8 times, so near to each other that recording alone may have taken that long, and hardly anything
/// else near to either of them, what is cut is worked out from the mean of that; stamps between which no time
/// passed on average lie together, where they were read on average. Single readings bear it out to a step, or
/// are followed instead. So regions that a loop passes hundreds of times are cut as exactly as by cycles, if
/// each time is like the others.
///
/// Where marks are read at one time with something else, their order is not known, and no mean is taken.
/// There, and at all other places, costs are cut as exactly as a step tells: a stamp counts as within reach up
/// to a step further, and no more than the reach is taken off.
///
/// # What it does not know
///
/// * What the records of other warps hold up (see the model) is not calibrated, but taken from an H200: 4 cycles a
///   unit. Of 8 warps that record at once it covers what is waited, of 16 nearly all; at 32 warps, up to some
///   hundred cycles stay in the times.
///   Of warps that are not in the trace nothing is known, nor of those whose records' clock is another.
/// * The kernel's own instructions may wait for a record's registers as well: up to as long as a
///   stamp does, behind each stored record. Only where a stamp is next is that told apart from work.
/// * A value in the region's own record ([`RegionRecord::WithValue`](crate::RegionRecord::WithValue)) is taken
///   for free. It takes 0.1 to 2.5 cycles up to 8 warps of a block and 4 to 9 at 16 and 32, as measured on an
///   H200, which stay in the times.
/// * The record of a region that nobody ended is written when its token is dropped, which no time of the
///   trace tells: it is not subtracted. With `buffer = host` that of its begin is, after the stamp; if some lanes of a
///   warp left a region open and others ended it, twice.
/// * Lanes that record at once, as by `thread`, store
///   to rooms of their own, and the memory takes their stores one after the other. The instructions,
///   which are those of one lane, are subtracted; what the memory takes beyond that depends on how much it
///   has to do, is none where records are rare, and stays in the times.
/// * By `%globaltimer`, a loop whose turns last a whole number of steps reads each of its places at the same
///   part of a step again and again, and means of such readings are off by up to a step. Then less may be
///   cut than recording took.
/// * `apart` is what a record adds to work that waits for its own results, which hides a part of it.
///   Beside work that leaves no issue slot free, a record adds all of its instructions, some ten
///   cycles more.
///
/// # How it is measured
///
/// In a region of known work `a` (a pause, see
/// [`CALIBRATION`](profiler_wire::symbol::CALIBRATION)) and in regions around several such:
///
/// * `region_begin.after_ticks`: what a region around one pause lasts less `a`, all of it taken to
///   pass behind its begin, so that `region_end.before_ticks` is 0;
/// * `before_ticks` of a begin, a mark or an anchor: from the begin of the region around it to it,
///   less the pause and what passes behind that begin;
/// * `after_ticks` of an end, a mark or an anchor: what remains of what the record adds to the region
///   around it;
/// * the waits: what passes from a stamp to one right behind it, less `apart`; of many places the mean
///   and the longest.
///
/// No figure may be negative: a difference below zero is noise, and 0.
///
/// # Records to memory of the host
///
/// With `buffer = host` a region is two records. What the one at its begin takes passes ahead of the begin, and
/// it holds up others, too; each form costs something else: [`RecordCost::host`]. The model is the same, and so is what measures it.
/// It is measured while the bus to the host is idle. A bus that is full holds stores up for longer than
/// any measurement beforehand tells, and that stays in the times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordCost {
    /// Records of one lane that is known beforehand: all strategies but `elected`. By `thread`, where each
    /// lane stores a record, this is the least that it costs.
    pub one_lane: FormCosts,
    /// Records of a lane that is elected.
    pub elected: FormCosts,
    /// Records to memory of the host, where those were measured.
    pub host: Option<HostCost>,
}

/// What recording with `buffer = host` costs, measured as [`RecordCost`] says, on an idle bus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostCost {
    /// Records of one lane that is known beforehand, as in [`RecordCost::one_lane`].
    pub one_lane: FormCosts,
    /// Records of a lane that is elected.
    pub elected: FormCosts,
}

impl HostCost {
    /// The costs by each way in which the recording lane is chosen, under a name for programs.
    #[must_use]
    pub const fn elections(&self) -> [(&'static str, &FormCosts); 2] {
        [("one_lane", &self.one_lane), ("elected", &self.elected)]
    }
}

impl RecordCost {
    /// Where every record to memory of the GPU costs the same, whoever records; see
    /// [`FormCosts::uniform`].
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let costs = FormCosts::uniform(inside_ticks, total_ticks);
        Self { one_lane: costs, elected: costs, host: None }
    }

    /// The table for records that go there, if it is known: that of memory of the host is in the place of
    /// that of the GPU's.
    pub(crate) fn of_buffer(&self, buffer: Buffer) -> Option<Self> {
        match buffer {
            Buffer::Global => Some(*self),
            Buffer::Host => self.host.map(|HostCost { one_lane, elected }| Self {
                one_lane: one_lane.over_the_bus(),
                elected: elected.over_the_bus(),
                host: None,
            }),
        }
    }

    /// The costs of records to memory of the GPU whose lane is chosen so.
    #[must_use]
    pub const fn of(&self, election: Election) -> &FormCosts {
        match election {
            Election::OneLane => &self.one_lane,
            Election::Elected => &self.elected,
        }
    }

    /// The costs of records to memory of the GPU by each way in which the recording lane is chosen, under
    /// a name for programs.
    #[must_use]
    pub const fn elections(&self) -> [(&'static str, &FormCosts); 2] {
        [("one_lane", &self.one_lane), ("elected", &self.elected)]
    }

    /// The same in another unit, of which `factor` are a tick.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let stamp = |cost: StampCost| StampCost {
            before_ticks: cost.before_ticks * factor,
            after_ticks: cost.after_ticks * factor,
        };
        let wait = |wait: StampWait| StampWait {
            mean_ticks: wait.mean_ticks * factor,
            most_ticks: wait.most_ticks * factor,
        };
        let costs = |costs: &FormCosts| FormCosts {
            region_begin: stamp(costs.region_begin),
            region_end: stamp(costs.region_end),
            mark: stamp(costs.mark),
            value: stamp(costs.value),
            anchor: stamp(costs.anchor),
            waits: StampWaits {
                nested: wait(costs.waits.nested),
                begin: wait(costs.waits.begin),
                end: wait(costs.waits.end),
                record: wait(costs.waits.record),
            },
        };
        Self {
            one_lane: costs(&self.one_lane),
            elected: costs(&self.elected),
            host: self.host.map(|host| HostCost {
                one_lane: costs(&host.one_lane),
                elected: costs(&host.elected),
            }),
        }
    }

    /// Whether every figure is one that can be subtracted.
    pub(crate) fn is_usable(&self) -> bool {
        let usable = |ticks: f64| ticks.is_finite() && ticks >= 0.0;
        let host = self.host.iter().flat_map(HostCost::elections);
        self.elections().into_iter().chain(host).all(|(_, costs)| {
            let StampWaits { nested, begin, end, record } = costs.waits;
            costs
                .stamps()
                .into_iter()
                .all(|(_, cost)| usable(cost.before_ticks) && usable(cost.after_ticks))
                && [nested, begin, end, record]
                    .into_iter()
                    .all(|wait| usable(wait.mean_ticks) && usable(wait.most_ticks))
        })
    }
}
