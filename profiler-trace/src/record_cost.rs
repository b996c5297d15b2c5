//! What recording costs: a table by what is recorded and by who records it.

use profiler_wire::Strategy;

use crate::model::RegionForm;

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

/// What each form of a record costs, where the recording lane is chosen in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FormCosts {
    /// The begin of a region that becomes one record.
    pub region_begin: StampCost,
    /// Its end, which stores the record.
    pub region_end: StampCost,
    /// The begin of a token's region, a record of its own.
    pub token_begin: StampCost,
    /// Its end, another one.
    pub token_end: StampCost,
    /// A mark, with or without a value.
    pub mark: StampCost,
    /// What a region's value adds behind its end: its stamp is that of the end.
    pub value: StampCost,
    /// A reading of both clocks.
    pub anchor: StampCost,
}

impl FormCosts {
    /// Where every record costs the same: an empty region lasts `inside_ticks` and lengthens one
    /// around it by `total_ticks`; so does a mark; values and anchors cost nothing.
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let (begin, end) =
            (StampCost::after(inside_ticks), StampCost::after(total_ticks - inside_ticks));
        Self {
            region_begin: begin,
            region_end: end,
            token_begin: begin,
            token_end: end,
            mark: StampCost::after(total_ticks),
            value: StampCost::after(0.0),
            anchor: StampCost::after(0.0),
        }
    }

    /// Begin and end of a region of this form.
    #[must_use]
    pub const fn of_region(&self, form: RegionForm) -> (StampCost, StampCost) {
        match form {
            RegionForm::Block => (self.region_begin, self.region_end),
            RegionForm::Token => (self.token_begin, self.token_end),
        }
    }

    /// Ticks that an empty region of this form lasts: what its own duration is too long by.
    #[must_use]
    pub fn inside_ticks(&self, form: RegionForm) -> f64 {
        let (begin, end) = self.of_region(form);
        begin.after_ticks + end.before_ticks
    }

    /// Ticks by which a region of this form lengthens one around it.
    #[must_use]
    pub fn total_ticks(&self, form: RegionForm) -> f64 {
        let (begin, end) = self.of_region(form);
        begin.total_ticks() + end.total_ticks()
    }

    /// Each stamp, under a name for programs.
    #[must_use]
    pub const fn stamps(&self) -> [(&'static str, StampCost); 7] {
        [
            ("region_begin", self.region_begin),
            ("region_end", self.region_end),
            ("token_begin", self.token_begin),
            ("token_end", self.token_end),
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
    /// Every lane records, which takes as long as it takes the memory.
    AllLanes,
}

impl From<Strategy> for Election {
    fn from(strategy: Strategy) -> Self {
        match strategy {
            Strategy::Elected => Self::Elected,
            Strategy::Thread => Self::AllLanes,
            Strategy::Warp
            | Strategy::Block
            | Strategy::WarpIndex(_)
            | Strategy::WarpGroup
            | Strategy::When => Self::OneLane,
        }
    }
}

/// What recording costs, in ticks of the SM's cycle counter (`%clock64`), as the calibration kernel
/// measured it on the device in use.
///
/// # How it is measured
///
/// All figures follow from what surrounds an empty region (or a mark) in a region around it whose
/// own begin is known, `outer { inner }`:
///
/// * `region_begin.after_ticks`: what an empty region lasts, all of it taken to pass behind its
///   begin, so that `region_end.before_ticks` is 0; likewise for tokens;
/// * `before_ticks` of the inner begin, or of the mark: from the outer begin to the inner one, less
///   the outer begin's `after_ticks`;
/// * `after_ticks` of the inner end, or of the mark: from it to the outer end.
///
/// No figure may be negative: a difference below zero is noise, and 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordCost {
    /// Records of one lane that is known beforehand: all strategies but `elected` and `thread`.
    pub one_lane: FormCosts,
    /// Records of a lane that is elected.
    pub elected: FormCosts,
}

impl RecordCost {
    /// Where every record costs the same, whoever records; see [`FormCosts::uniform`].
    #[must_use]
    pub const fn uniform(inside_ticks: f64, total_ticks: f64) -> Self {
        let costs = FormCosts::uniform(inside_ticks, total_ticks);
        Self { one_lane: costs, elected: costs }
    }

    /// The costs of records whose lane is chosen so; `None` where they are not known.
    #[must_use]
    pub const fn of(&self, election: Election) -> Option<&FormCosts> {
        match election {
            Election::OneLane => Some(&self.one_lane),
            Election::Elected => Some(&self.elected),
            Election::AllLanes => None,
        }
    }

    /// Whether every figure is one that can be subtracted.
    pub(crate) fn is_usable(&self) -> bool {
        let usable = |ticks: f64| ticks.is_finite() && ticks >= 0.0;
        [self.one_lane, self.elected]
            .iter()
            .flat_map(FormCosts::stamps)
            .all(|(_, cost)| usable(cost.before_ticks) && usable(cost.after_ticks))
    }
}
