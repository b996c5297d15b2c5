//! A profiler: the options of its sessions.

use std::ops::RangeBounds;

use profiler_trace::{Capture, RecordCost};

use crate::capacity::Capacity;
use crate::error::Error;
use crate::host_spans::HostRecorder;
use crate::launch::Extent;
use crate::options::{Cost, Keep, Options, Slots, WARPS_MAX};

/// Slots of a counting session whose profiler does not say how many warps to expect. A slot that
/// keeps nothing takes 144 bytes, so that this is little memory.
const COUNTING_WARPS: u32 = 1 << 17;

/// The options of sessions, checked. Made by [`Profiler::builder`].
#[derive(Clone, Debug, PartialEq)]
pub struct Profiler {
    pub(crate) options: Options,
}

/// Collects the options of a [`Profiler`], in any order. Their defaults suit most kernels. An option given twice has
/// the later value, so that a program may go on from a builder of its own.
#[derive(Clone, Debug, Default)]
pub struct ProfilerBuilder {
    options: Options,
    /// The methods that were called of those that may exclude others.
    given: Vec<&'static str>,
    /// The launches of [`for_grid`](Self::for_grid): grid, block, and their number.
    grid: Option<(Extent, Extent, u32)>,
}

/// Options that say the same in two ways.
const EXCLUSIVE: [[&str; 2]; 3] =
    [["warps", "warp_mask"], ["max_warps", "for_grid"], ["record_cost", "measure_record_cost"]];

impl Profiler {
    /// Begins with the defaults: buffers for the first 512 records of each warp, all warps of all
    /// blocks, at most 256 MiB and 16 384 warps.
    #[must_use]
    pub fn builder() -> ProfilerBuilder {
        ProfilerBuilder::default()
    }

    /// The same profiler with buffers of size zero: its sessions keep nothing and count everything.
    fn counting(&self) -> Self {
        let mut options = self.options.clone();
        (options.records_per_warp, options.records_per_lane) = (0, 0);
        options.max_warps = options.max_warps.or(Some(COUNTING_WARPS));
        options.record_cost = Cost::Unknown;
        options.subtract_record_cost = false;
        options.host = None;
        Self { options }
    }

    /// Infers the capacity from a first run: calls `run` with a profiler whose sessions keep nothing and
    /// count everything, and gives this profiler with exactly the buffer that the launches in it needed.
    ///
    /// A second run may record more of what depends on time: marks of a loop that polls, and
    /// `profile_anchor!(every = ..)`. Its trace says what it lost, and which `records_per_warp` keeps all.
    ///
    /// ```no_run
    /// # use profiler_host::{Backend, BackendChoice, Error, Profiler};
    /// # fn launch_all(session: &mut profiler_host::Session<'_>) -> Result<(), Error> { Ok(()) }
    /// # fn main() -> Result<(), Error> {
    /// # let backend = Backend::choose(BackendChoice::Auto, None)?;
    /// let profiler = Profiler::builder().build()?.infer_capacity(|counting| {
    ///     let mut session = backend.session(counting)?;
    ///     launch_all(&mut session)?;
    ///     session.capture()
    /// })?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `run`; [`Error::Capacity`] if its capture does not tell.
    pub fn infer_capacity(
        &self,
        run: impl FnOnce(&Self) -> Result<Capture, Error>,
    ) -> Result<Self, Error> {
        let capacity = Capacity::needed(&run(&self.counting())?)?;
        let mut options = self.options.clone();
        options.records_per_warp = capacity.records_per_warp;
        options.records_per_lane = capacity.records_per_lane;
        options.max_warps = Some(capacity.max_warps);
        Ok(Self { options })
    }
}

impl ProfilerBuilder {
    /// The buffer of each warp (of its lane 0) in records of 16 bytes; one with a value of more than 16
    /// bits takes two. 0 is legal: everything is counted and nothing kept. Default: 512.
    #[must_use]
    pub fn records_per_warp(mut self, records: u32) -> Self {
        self.options.records_per_warp = records;
        self
    }

    /// The buffer of each of the other 31 lanes in records of 16 bytes, if they have buffers; not beside
    /// `lane_buffers(false)`. Default: 32.
    #[must_use]
    pub fn records_per_lane(mut self, records: u32) -> Self {
        self.given.push("records_per_lane");
        self.options.records_per_lane = records;
        self
    }

    /// Whether the other 31 lanes have buffers; without, their records are counted as lost. Default: if a
    /// site of the module may record by them. (The emulator learns of sites only when they run, so there
    /// the default is that they have.)
    #[must_use]
    pub fn lane_buffers(mut self, lane_buffers: bool) -> Self {
        self.options.lane_buffers = Some(lane_buffers);
        self
    }

    /// Which records to keep of more than a buffer takes; of a buffer of 0 records, none. Default: the
    /// first.
    #[must_use]
    pub fn keep(mut self, keep: Keep) -> Self {
        self.options.keep = keep;
        self
    }

    /// Which blocks record, by their linear index (x runs fastest). Default: all.
    #[must_use]
    pub fn blocks(mut self, blocks: impl RangeBounds<u32>) -> Self {
        self.options.select_blocks(&blocks);
        self
    }

    /// Of the blocks from the first selected one on, only every `stride`-th records; a range given
    /// to [`blocks`](Self::blocks) then says how many record. A stride above 1 takes none of
    /// the blocks beyond the first 2³² from there on: no record is made in them, and none counts as
    /// lost. Default: 1.
    #[must_use]
    pub fn block_stride(mut self, stride: u32) -> Self {
        self.options.block_stride = stride;
        self
    }

    /// Which warps of a block record. Default: all.
    #[must_use]
    pub fn warps(mut self, warps: impl RangeBounds<u32>) -> Self {
        self.given.push("warps");
        self.options.select_warps(&warps);
        self
    }

    /// Which warps of a block record, bit i for warp i; in place of [`warps`](Self::warps).
    #[must_use]
    pub fn warp_mask(mut self, mask: u32) -> Self {
        self.given.push("warp_mask");
        self.options.warp_mask = mask;
        self
    }

    /// How a warp finds its slot. Default: [`Slots::Auto`].
    #[must_use]
    pub fn slots(mut self, slots: Slots) -> Self {
        self.options.slots = slots;
        self
    }

    /// The number of warps that find a slot, over all launches of a session up to a reset. If slots are
    /// claimed, a few more may find one. In place of [`for_grid`](Self::for_grid). Default: as many as
    /// 256 MiB hold, at most 16 384.
    #[must_use]
    pub fn max_warps(mut self, warps: u32) -> Self {
        self.given.push("max_warps");
        self.options.max_warps = Some(warps);
        self
    }

    /// Gives a slot to each selected warp of `launches` launches of this shape. [`Slots::Auto`] depends on
    /// the number of launches. In place of [`max_warps`](Self::max_warps).
    #[must_use]
    pub fn for_grid(
        mut self,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        launches: u32,
    ) -> Self {
        self.given.push("for_grid");
        self.grid = Some((grid.into(), block.into(), launches));
        self
    }

    /// The cost of a record, if it is known. It is stored in the trace. In place of
    /// [`measure_record_cost`](Self::measure_record_cost).
    #[must_use]
    pub fn record_cost(mut self, cost: RecordCost) -> Self {
        self.given.push("record_cost");
        self.options.record_cost = Cost::Known(cost);
        self
    }

    /// Measures the cost of a record when a session begins, on its device, and stores it in the trace. On a
    /// GPU a module of the profiler's own does this; the driver compiles it once.
    #[must_use]
    pub fn measure_record_cost(mut self) -> Self {
        self.given.push("measure_record_cost");
        self.options.record_cost = Cost::Measure;
        self
    }

    /// Subtracts the cost of recording from the times of the trace. It is measured when a session begins,
    /// unless it was given.
    #[must_use]
    pub fn subtract_record_cost(mut self, subtract: bool) -> Self {
        self.options.subtract_record_cost = subtract;
        self
    }

    /// Shows the host on the timeline too: the spans of this recorder, and the launches of a backend's session.
    /// Default: no.
    #[must_use]
    pub fn host(mut self, recorder: &HostRecorder) -> Self {
        self.options.host = Some(recorder.clone());
        self
    }

    /// Puts guard words before, between and after the arrays of a session. They are checked whenever records
    /// are read back. An overwritten one is [`Error::GuardsOverwritten`]: a kernel wrote to memory that is
    /// not its own. After a failed kernel only those in host memory are left to check, and its error says
    /// the result. A [`Watch`](crate::Watch) does not check them. For debugging: buffers take twice the
    /// memory, all of it is copied at each reading, and a reset waits for the device. Default: no.
    #[must_use]
    pub fn guards(mut self, guards: bool) -> Self {
        self.options.guards = guards;
        self
    }

    /// Checks the options.
    ///
    /// # Errors
    ///
    /// [`Error::Options`], which names the option and its limits, or the other option beside which it does
    /// nothing.
    pub fn build(mut self) -> Result<Profiler, Error> {
        let is_given = |method: &str| self.given.contains(&method);
        for [one, other] in EXCLUSIVE {
            if is_given(one) && is_given(other) {
                return Err(Error::Options(format!(
                    "{one}(..) and {other}(..) say the same; leave one of the two out"
                )));
            }
        }
        if self.options.lane_buffers == Some(false) && is_given("records_per_lane") {
            return Err(Error::Options(
                "records_per_lane(..) does nothing where lane_buffers(false) leaves the buffers of \
                 all lanes but lane 0 out; leave one of the two options out"
                    .to_owned(),
            ));
        }
        self.options.check()?;
        if let Some((grid, block, launches)) = self.grid {
            let of_each = self.options.selected_warps(grid.0, block.0);
            let warps = of_each.saturating_mul(u64::from(launches));
            self.options.warps_of_each = (launches > 1).then_some(of_each);
            match u32::try_from(warps) {
                Ok(slots @ 1..=WARPS_MAX) => self.options.max_warps = Some(slots),
                _ => return Err(warps_of_grid_refused(warps)),
            }
        }
        if self.options.subtract_record_cost && self.options.record_cost == Cost::Unknown {
            self.options.record_cost = Cost::Measure;
        }
        Ok(Profiler { options: self.options })
    }
}

/// The error of a shape of which the selection takes no warp, or more than any session has slots for.
fn warps_of_grid_refused(warps: u64) -> Error {
    let help = if warps == 0 {
        "select blocks and warps that the launches have, and give at least one launch"
    } else {
        "select fewer blocks or warps (block_stride(..) takes a sample), or reset the session between launches \
         and count fewer of them"
    };
    Error::Options(format!(
        "for_grid(..) asks for slots for {warps} warps, and a session has 1 to {WARPS_MAX}; {help}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(builder: ProfilerBuilder) -> String {
        builder.build().expect_err("it cannot work").to_string()
    }

    #[test]
    fn records_of_buffers_that_are_not_there_are_refused() {
        let builder = Profiler::builder;
        let text = refused(builder().records_per_lane(10).lane_buffers(false));
        assert_eq!(
            text,
            "records_per_lane(..) does nothing where lane_buffers(false) leaves the buffers of \
             all lanes but lane 0 out; leave one of the two options out"
        );
        assert_eq!(refused(builder().lane_buffers(false).records_per_lane(0)), text);
        let kept = builder().lane_buffers(false).records_per_lane(10).lane_buffers(true);
        assert!(kept.build().is_ok(), "the later of two holds");
        assert!(builder().lane_buffers(false).build().is_ok());
    }

    #[test]
    fn options_that_say_the_same_are_refused_together_in_any_order() {
        let builder = Profiler::builder;
        let cost = RecordCost::default();
        for (both, one, other) in [
            (builder().warps(0..2).warp_mask(6), "warps", "warp_mask"),
            (builder().warp_mask(6).warps(0..2), "warps", "warp_mask"),
            (builder().max_warps(9).for_grid(4, 64, 2), "max_warps", "for_grid"),
            (builder().for_grid(4, 64, 2).max_warps(9), "max_warps", "for_grid"),
            (
                builder().record_cost(cost).measure_record_cost(),
                "record_cost",
                "measure_record_cost",
            ),
        ] {
            assert_eq!(
                refused(both),
                format!("{one}(..) and {other}(..) say the same; leave one of the two out")
            );
        }
    }

    #[test]
    fn the_order_of_options_does_not_matter() {
        let first = Profiler::builder().for_grid(4, 64, 2).blocks(1..).block_stride(2).warps(..1);
        let last = Profiler::builder().warps(..1).block_stride(2).blocks(1..).for_grid(4, 64, 2);
        let [first, last] = [first, last].map(|builder| builder.build().expect("options"));
        assert_eq!(first, last);
        // Blocks 1 and 3 of four, a warp of each, in two launches.
        assert_eq!(first.options.max_warps, Some(4));
    }

    #[test]
    fn a_grid_without_warps_or_with_too_many_is_refused() {
        let for_grid = |builder: ProfilerBuilder, launches| {
            refused(builder.for_grid([u32::MAX, 1, 1], 64, launches))
        };
        let builder = Profiler::builder;
        let too_many = for_grid(builder(), 3);
        assert!(too_many.contains("for 25769803770 warps"), "{too_many}");
        assert!(too_many.ends_with("count fewer of them"), "{too_many}");
        let none = for_grid(builder().warps(2..), 1);
        assert!(none.ends_with("give at least one launch"), "{none}");
        assert_eq!(for_grid(builder(), 0), none);
        // What is wrong with the selection itself says more.
        assert!(for_grid(builder().warps(2..2), 1).starts_with("no warp is selected: "));
    }

    #[test]
    fn what_goes_with_each_other_is_taken() {
        let twice = Profiler::builder().max_warps(9).max_warps(5).warps(..3).warps(..2);
        assert!(twice.build().is_ok(), "the later of two holds");
        let known = Profiler::builder().record_cost(RecordCost::default());
        assert!(known.subtract_record_cost(true).build().is_ok());
        let counting = Profiler::builder().records_per_warp(0).keep(Keep::Last);
        let profiler = counting.records_per_lane(0).build().expect("a session that only counts");
        // What a run tells takes the place of what was given.
        assert_eq!(profiler.counting().options.records_per_lane, 0);
    }
}
