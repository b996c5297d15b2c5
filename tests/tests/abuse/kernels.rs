//! The kernels that record by each strategy, and what they must have recorded.

use std::collections::BTreeMap;

use profiler_host::trace::{Value, Warp};
use profiler_host::{Error, Session, Trace, launch};
use profiler_wire::header::Clock;
use test_kernels::abuse as kernels;

/// Blocks of a grid and threads of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
}

impl Shape {
    pub(crate) fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self { grid, block }
    }

    pub(crate) fn blocks(self) -> u32 {
        self.grid.iter().product()
    }

    pub(crate) fn threads_of_block(self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn threads(self) -> usize {
        self.blocks() as usize * self.threads_of_block() as usize
    }

    pub(crate) fn warps_of_block(self) -> u32 {
        self.threads_of_block().div_ceil(32)
    }

    pub(crate) fn warps(self) -> u32 {
        self.blocks() * self.warps_of_block()
    }

    /// Lanes of a warp of each block.
    pub(crate) fn lanes(self, warp: u32) -> u32 {
        (self.threads_of_block() - 32 * warp).min(32)
    }

    /// The index of a block of which the last is in z.
    fn block(self, index: u32) -> [u32; 3] {
        let [width, height, _] = self.grid;
        [index % width, index / width % height, index / width / height]
    }
}

/// What values the rounds of a kernel have, as the kernels take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    None,
    /// Of 16 bits, which are in the record of their region, but for those of all lanes.
    Short,
    /// Of 32 bits, which are a record more.
    Long,
}

/// Launches a kernel with its output, rounds, and which values they have.
type Launch = fn(&mut Session<'_>, Shape, *mut u32, u32, Values) -> Result<(), Error>;

/// A kernel that records `rounds` regions in each thread that its strategy takes.
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    launch: Launch,
    /// How many lanes of a warp record, by the warp's index and the number of its lanes.
    lanes: fn(u32, u32) -> u32,
    /// Whether hardware that splits a warp makes more lanes record.
    is_least: bool,
}

macro_rules! kernel {
    ($name:ident, $lanes:expr, $is_least:expr) => {
        Kernel {
            name: stringify!($name),
            launch: |session, Shape { grid, block }, output, rounds, values| {
                let values = values as u32;
                // SAFETY: the callers of `Kernel::launch` give one number a thread, or null.
                unsafe { launch!(session, kernels::$name<<<grid, block>>>(output, rounds, values)) }
            },
            lanes: $lanes,
            is_least: $is_least,
        }
    };
}

macro_rules! kernels_of_both_clocks {
    ($($cycles:ident $globaltimer:ident $lanes:expr, $is_least:expr;)*) => {
        [$(
            kernel!($cycles, $lanes, $is_least),
            kernel!($globaltimer, $lanes, $is_least),
        )*]
    };
}

/// Every strategy with both clocks.
pub(crate) const KERNELS: [Kernel; 14] = kernels_of_both_clocks! {
    block_cycles block_globaltimer |warp, _| u32::from(warp == 0), false;
    warp_cycles warp_globaltimer |_, _| 1, false;
    warp_1_cycles warp_1_globaltimer |warp, _| u32::from(warp == 1), false;
    warp_group_cycles warp_group_globaltimer |warp, _| u32::from(warp % 4 == 0), false;
    elected_cycles elected_globaltimer |_, _| 1, true;
    thread_cycles thread_globaltimer |_, lanes| lanes, false;
    when_cycles when_globaltimer |warp, lanes| {
        (32 * warp..32 * warp + lanes).filter(|rank| rank % kernels::WHEN_STEP == 0).count() as u32
    }, false;
};

/// The kernel of this name.
pub(crate) fn kernel(name: &str) -> &'static Kernel {
    KERNELS.iter().find(|kernel| kernel.name == name).expect("a kernel of the list")
}

/// What each recording lane was asked to record, and how much of it fits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) rounds: u32,
    /// Whether each region has its round as its value.
    pub(crate) values: Values,
    /// Units that a lane keeps.
    pub(crate) capacity: u32,
    /// Whether those are the last.
    pub(crate) last: bool,
}

impl Rounds {
    /// Regions without values, of which all fit.
    pub(crate) fn all(rounds: u32) -> Self {
        Self { rounds, values: Values::None, capacity: u32::MAX, last: false }
    }

    /// Regions that a lane keeps; `None` where a buffer ends in the middle of a record.
    fn kept(self) -> Option<u32> {
        let units = match self.values {
            Values::None | Values::Short => 1,
            Values::Long => 2,
        };
        let whole = self.capacity.is_multiple_of(units) || self.capacity >= units * self.rounds;
        whole.then(|| self.rounds.min(self.capacity / units))
    }
}

impl Kernel {
    /// Launches it in a session. `output` must be null or have a number for each thread, which the
    /// callers see to.
    #[track_caller]
    pub(crate) fn launch(
        &self,
        session: &mut Session<'_>,
        shape: Shape,
        output: *mut u32,
        rounds: Rounds,
    ) {
        (self.launch)(session, shape, output, rounds.rounds, rounds.values)
            .unwrap_or_else(|error| panic!("{} in {shape:?}: {error}", self.name));
    }

    /// Checks one warp of a launch.
    #[track_caller]
    pub(crate) fn check_warp(&self, trace: &Trace, warp: &Warp, shape: Shape, rounds: Rounds) {
        let name = self.name;
        let lanes = (self.lanes)(warp.warp, shape.lanes(warp.warp));
        let emitted = u64::from(lanes * rounds.rounds);
        let sum = warp.recorded + warp.lost;
        // How often lanes that part elect one, only the hardware knows.
        let is_least = self.is_least && !trace.device.emulated;
        let right = if is_least { sum >= emitted } else { sum == emitted };
        assert!(right, "{name}: {sum} of {emitted} records in {warp:?} {}", trace.diagnostics);
        let Some(kept) = rounds.kept() else { return };
        let expected = u64::from(lanes * kept);
        let right = if is_least { warp.recorded >= expected } else { warp.recorded == expected };
        assert!(right, "{name}: {rounds:?}, {expected} of {warp:?} {}", trace.diagnostics);
        assert_eq!(warp.regions.len() as u64, warp.recorded, "{name}: {}", trace.diagnostics);
        assert!(warp.exit.is_some(), "{name}: a warp that left is not known to have left");
        if rounds.values != Values::None && !is_least {
            self.check_values(warp, kept, rounds);
        }
    }

    /// Checks that what each lane kept are its first rounds, or its last, in order where they have
    /// one.
    fn check_values(&self, warp: &Warp, kept: u32, rounds: Rounds) {
        let mut lanes = BTreeMap::<u8, Vec<_>>::new();
        for region in &warp.regions {
            lanes.entry(region.lane).or_default().push(region.value);
        }
        let first = if rounds.last { rounds.rounds - kept } else { 0 };
        let expected: Vec<_> =
            (first..first + kept).map(|round| Some(Value::Unsigned(u64::from(round)))).collect();
        for (lane, mut values) in lanes {
            if warp.clock == Clock::GlobalTimer {
                // Regions within one step of this clock have no order.
                values.sort_by_key(|value| match value {
                    Some(Value::Unsigned(round)) => Some(*round),
                    _ => None,
                });
            }
            assert_eq!(values, expected, "{}: lane {lane} with {rounds:?}", self.name);
        }
    }

    /// Checks the only launch of a trace, of which all warps were selected and found slots.
    #[track_caller]
    pub(crate) fn check(&self, trace: &Trace, shape: Shape, rounds: Rounds) {
        assert_eq!(trace.launches.len(), 1, "{}: {}", self.name, trace.diagnostics);
        check_identity(trace, &trace.launches[0], shape, |_, _| true);
        for warp in &trace.warps {
            self.check_warp(trace, warp, shape, rounds);
        }
        assert_eq!(trace.lost_unplaced, 0, "{}: {}", self.name, trace.diagnostics);
    }
}

/// Checks that a launch has exactly the warps of its grid that `selected` takes, by their block's
/// linear index and their own: each once, in a slot of its own.
#[track_caller]
pub(crate) fn check_identity(
    trace: &Trace,
    launch: &profiler_host::trace::Launch,
    shape: Shape,
    selected: impl Fn(u32, u32) -> bool,
) {
    let grid_and_block = [launch.grid_dim, launch.block_dim];
    assert_eq!(grid_and_block, [shape.grid, shape.block], "{}", trace.diagnostics);
    let warps = &trace.warps[launch.warps.clone()];
    let of_block = |block| (0..shape.warps_of_block()).map(move |warp| (block, warp));
    let expected = (0..shape.blocks())
        .flat_map(of_block)
        .filter(|&(block, warp)| selected(block, warp))
        .map(|(block, warp)| (shape.block(block), warp));
    let mut count = 0;
    for (index, expected) in expected.enumerate() {
        let warp = warps.get(index).unwrap_or_else(|| panic!("{shape:?}: {expected:?} is missing"));
        assert_eq!((warp.block, warp.warp), expected, "{shape:?}, the {index}th warp");
        count += 1;
    }
    assert_eq!(warps.len(), count, "{shape:?}: there are more warps than were selected");
    let mut slots: Vec<u32> = warps.iter().map(|warp| warp.slot).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), count, "{shape:?}: two warps in one slot");
}
