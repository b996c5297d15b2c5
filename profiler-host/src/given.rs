//! Which options a builder was given, so that none of them does nothing beside another.
//!
//! An option given twice is none of this: the later one holds, so that a program may go on from a
//! builder of its own. Nor is a number at its limit: of a buffer of no records it does not matter which
//! records it keeps, and from a single block on no stride is taken.

use crate::error::OptionsError;
use crate::options::LaneBuffers;

/// Options of which the later one takes the place of the earlier one.
const EXCLUSIVE: [[&str; 2]; 3] =
    [["warps", "warp_mask"], ["max_warps", "for_grid"], ["record_cost", "measure_record_cost"]];

/// What `for_grid` counts the warps of.
const SELECTION: [&str; 4] = ["blocks", "block_stride", "warps", "warp_mask"];

/// The methods of a builder that were called, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenOptions(Vec<&'static str>);

impl GivenOptions {
    pub(crate) fn add(&mut self, method: &'static str) {
        self.0.push(method);
    }

    /// Refuses options that do nothing beside the others.
    pub(crate) fn check(&self, lane_buffers: LaneBuffers) -> Result<(), OptionsError> {
        if lane_buffers == LaneBuffers::Never && self.last("records_per_lane").is_some() {
            return Err(OptionsError::RecordsOfNoBuffer);
        }
        for pair in EXCLUSIVE {
            if let [Some(one), Some(other)] = pair.map(|method| self.last(method)) {
                let [idle, used] = if one < other { pair } else { [pair[1], pair[0]] };
                return Err(OptionsError::Replaced { idle, used });
            }
        }
        let Some(counted) = self.last("for_grid") else { return Ok(()) };
        match self.0[counted..].iter().find(|method| SELECTION.contains(method)) {
            Some(late) => Err(OptionsError::SelectedLate(late)),
            None => Ok(()),
        }
    }

    /// Where a method was called last.
    fn last(&self, method: &str) -> Option<usize> {
        self.0.iter().rposition(|given| *given == method)
    }
}

#[cfg(test)]
mod tests {
    use profiler_trace::RecordCost;

    use super::*;
    use crate::{Profiler, ProfilerBuilder};

    fn refused(builder: ProfilerBuilder) -> String {
        builder.build().expect_err("an option that does nothing").to_string()
    }

    fn for_grid(builder: ProfilerBuilder) -> ProfilerBuilder {
        builder.for_grid(4, 64, 2).expect("warps are selected")
    }

    #[test]
    fn records_of_buffers_that_are_not_there_are_refused() {
        let builder = Profiler::builder;
        let text = refused(builder().records_per_lane(10).lane_buffers(LaneBuffers::Never));
        assert_eq!(
            text,
            "records_per_lane(..) does nothing where lane_buffers(LaneBuffers::Never) leaves the buffers of \
             all lanes but lane 0 out; leave one of the two options out"
        );
        assert_eq!(refused(builder().lane_buffers(LaneBuffers::Never).records_per_lane(0)), text);
        for buffers in [LaneBuffers::Always, LaneBuffers::WhereNeeded] {
            let kept = builder()
                .lane_buffers(LaneBuffers::Never)
                .records_per_lane(10)
                .lane_buffers(buffers);
            assert!(kept.build().is_ok(), "the later of two holds");
        }
        assert!(builder().lane_buffers(LaneBuffers::Never).build().is_ok());
    }

    #[test]
    fn options_that_take_each_others_place_are_refused_together() {
        let builder = Profiler::builder;
        let cost = RecordCost::default();
        let replaced = |idle: &str, used: &str| {
            format!("{idle}(..) does nothing where {used}(..) follows; leave one of the two out")
        };
        for (both, idle, used) in [
            (builder().warps(0..2).warp_mask(6), "warps", "warp_mask"),
            (builder().warp_mask(6).warps(0..2), "warp_mask", "warps"),
            (for_grid(builder().max_warps(9)), "max_warps", "for_grid"),
            (for_grid(builder()).max_warps(9), "for_grid", "max_warps"),
            (
                builder().record_cost(cost).measure_record_cost(),
                "record_cost",
                "measure_record_cost",
            ),
            (
                builder().measure_record_cost().record_cost(cost),
                "measure_record_cost",
                "record_cost",
            ),
        ] {
            assert_eq!(refused(both), replaced(idle, used));
        }
    }

    #[test]
    fn what_is_selected_after_the_count_of_its_warps_is_refused() {
        let builder = Profiler::builder;
        for (late, method) in [
            (for_grid(builder()).blocks(1..), "blocks"),
            (for_grid(builder()).block_stride(2), "block_stride"),
            (for_grid(builder()).warps(..1), "warps"),
            (for_grid(builder().warp_mask(3)).warp_mask(1), "warp_mask"),
        ] {
            let text = format!(
                "for_grid(..) has counted the warps of another selection than {method}(..) after \
                 it makes; give {method}(..) before for_grid(..)"
            );
            assert_eq!(refused(late), text);
        }
        let before = builder().blocks(1..).block_stride(2).warps(..1);
        assert!(for_grid(for_grid(before).records_per_warp(2)).build().is_ok());
    }

    #[test]
    fn what_goes_with_each_other_is_taken() {
        let twice = Profiler::builder().max_warps(9).max_warps(5).warps(..3).warps(..2);
        assert!(twice.build().is_ok(), "the later of two holds");
        let known = Profiler::builder().record_cost(RecordCost::default());
        assert!(known.subtract_record_cost(true).build().is_ok());
        let counting = Profiler::builder().records_per_warp(0).keep(crate::Keep::Last);
        let profiler = counting.records_per_lane(0).build().expect("a session that only counts");
        // What a run tells takes the place of what was given.
        assert_eq!(profiler.counting().options.records_per_lane, 0);
    }
}
