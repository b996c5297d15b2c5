//! What it costs to enter and leave a profiled kernel, and to launch many.
//!
//! Kernel times are those between two CUDA events around one launch, so that they include what a
//! launch takes at least; differences are what is to be read. A kernel cannot time its own entry:
//! what claiming slots adds to a launch is the difference between claimed and linear slots, and said to be
//! so. What one warp waits for its slot `claim_cost` measures, by the clock around the code that claims.

use std::ffi::c_void;
use std::time::Instant;

use cust::function::Function;
use cust::memory::DeviceBuffer;
use profiler_bench_kernels::WARP;
use profiler_host::{Profiler, Session};
use serde::{Deserialize, Serialize};

use crate::gpu::{Blocks, Gpu, microseconds};
use crate::linear_slots::LinearSlots;
use crate::statistics::{median, spread};
use crate::{Error, claim_cost};

/// How often a kernel's time is taken, in each of so many rounds through the variants.
const TIMED: usize = 20;
const ROUNDS: usize = 15;
/// The same of a quick measurement.
const QUICK_ROUNDS: usize = 2;
/// Launches in which an atomic is waited for.
const ROUND_TRIPS: usize = 21;
/// Bytes of a counter, and how many there are: for each scheduler of each SM.
const COUNTER_BYTES: usize = 128;
const SCHEDULERS: usize = 4;
/// Launches back to back, and warps of each of their blocks, of which every SM has one.
const BACK_TO_BACK: u32 = 1000;
const WARPS_BACK_TO_BACK: [u32; 2] = [1, 32];
/// Cycles that kernels spin where their time is taken.
const CYCLES: u32 = 2000;
/// The same of kernels back to back that the GPU finishes sooner than the host makes launches: what is
/// added is the host's time.
const SHORT_CYCLES: u32 = 0;
/// The same of kernels that the host is ahead of (10 µs at 1980 MHz): what is added is the gap between
/// two of them, and entry and exit.
const LONG_CYCLES: u32 = 20_000;
/// Words of a buffer: one record.
const WORDS: u32 = 2;

/// Blocks and threads of a block, of the launches whose time is taken.
const SHAPES: [(Grid, u32); 5] = [
    (Grid::OneBlock, 32),
    (Grid::OfEachSm(1), 32),
    (Grid::OfEachSm(1), 1024),
    (Grid::OfEachSm(8), 256),
    (Grid::OfEachSm(16), 1024),
];

#[derive(Clone, Copy, Debug)]
enum Grid {
    OneBlock,
    /// So many blocks of each SM.
    OfEachSm(u32),
}

impl Grid {
    fn of(self, gpu: &Gpu, threads: u32) -> Blocks {
        let count = match self {
            Self::OneBlock => 1,
            Self::OfEachSm(blocks) => gpu.sm_count * blocks,
        };
        Blocks { warps: threads / WARP, count }
    }
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// A kernel that is not annotated.
    Unannotated,
    /// A profiled kernel, and no session.
    NoSession,
    /// Slots that warps find by their index.
    Linear,
    /// The same, and one region.
    LinearRegion,
    /// A session whose warps claim their slots.
    Claimed,
}

impl Variant {
    /// In the order in which they are measured: the first once more at the end shows the drift.
    const ALL: [Self; 6] = [
        Self::Unannotated,
        Self::NoSession,
        Self::Linear,
        Self::LinearRegion,
        Self::Claimed,
        Self::Unannotated,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Unannotated => "unannotated",
            Self::NoSession => "no session",
            Self::Linear => "linear slots",
            Self::LinearRegion => "linear slots, one region",
            Self::Claimed => "claimed slots",
        }
    }

    fn kernel(self) -> &'static str {
        match self {
            Self::Unannotated => "launch_unannotated",
            Self::NoSession | Self::Linear | Self::Claimed => "launch_profiled",
            Self::LinearRegion => "launch_region",
        }
    }
}

/// Where the warps of a variant record.
#[derive(Debug)]
enum Slots<'g> {
    /// Nowhere.
    None,
    Linear(LinearSlots<'g>),
    Claimed(Box<Session<'g>>),
}

/// One line of results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchPoint {
    /// `kernel time`, `back to back`, `back to back, long` for kernels of which the host is ahead,
    /// `round trip`, or `claim`.
    pub measurement: String,
    /// How the kernel was launched; of `claim`, what its warps waited for.
    pub variant: String,
    /// Of `claim`: `at entry`, or `after a barrier`, where the same code runs once more, is in the
    /// instruction cache, and is come to by all warps of a block at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment: Option<String>,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Microseconds of one launch on the GPU: the median by events around each, or, back to back,
    /// the mean by events around all.
    pub gpu_us: f64,
    /// The same less that of the kernel that is not annotated, measured first.
    pub added_us: f64,
    /// The largest of the times less the smallest, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_us: Option<f64>,
    /// Microseconds that the host takes for one launch, back to back; where it is ahead of the kernels,
    /// waits for a full queue among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_us: Option<f64>,
    /// With claimed slots, the time less that with linear slots, in nanoseconds: what claiming adds
    /// to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claiming_adds_ns: Option<f64>,
    /// Cycles that a warp waits for one atomic in global memory, all warps at once: the mean over warps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_cycles: Option<f64>,
    /// The same of the warp that waits longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_cycles_longest: Option<f64>,
    /// Of `claim`: cycles between a warp's two readings of the clock, the second of which waits for the slot
    /// or number. The mean over warps, as all of these the median over launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_cycles: Option<f64>,
    /// The median over warps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_cycles_median: Option<f64>,
    /// Of the warp that waits longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_cycles_longest: Option<f64>,
    /// The three in nanoseconds, by `clock_mhz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<f64>,
    /// See `wait_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns_median: Option<f64>,
    /// See `wait_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ns_longest: Option<f64>,
    /// The rate of the SMs' clock against the GPU's timer, in MHz, the median of readings between the
    /// launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
    /// Of claimed slots, which part was of the pool: there a warp waits for two atomics, one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_pool: Option<f64>,
    /// Of claimed slots: `wait_cycles` in multiples of what one atomic takes, by as many counters, in the
    /// same shape and at the same moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<f64>,
}

/// Takes all times of launches; where it is to be `quick`, fewer of each. `push` is given the points of a
/// shape as soon as they are there.
///
/// # Errors
///
/// What the driver, a session or `push` says; warps that are missing in a session, slots that are claimed
/// twice.
pub fn measure(
    gpu: &Gpu,
    quick: bool,
    mut push: impl FnMut(Vec<LaunchPoint>) -> Result<(), Error>,
) -> Result<(), Error> {
    let rounds = if quick { QUICK_ROUNDS } else { ROUNDS };
    let shapes = SHAPES.map(|(grid, threads)| grid.of(gpu, threads));
    for blocks in shapes {
        push(compared(kernel_times(gpu, blocks, rounds)?))?;
        push(vec![round_trip(gpu, blocks)?])?;
    }
    for warps in WARPS_BACK_TO_BACK {
        let blocks = Blocks { warps, count: gpu.sm_count };
        for series in [("back to back", SHORT_CYCLES), ("back to back, long", LONG_CYCLES)] {
            let of_series: Result<_, _> = Variant::ALL
                .into_iter()
                .map(|variant| back_to_back(gpu, variant, blocks, series))
                .collect();
            push(compared(of_series?))?;
        }
    }
    for blocks in shapes {
        push(claim_cost::measure(gpu, blocks, quick)?)?;
    }
    Ok(())
}

/// Fills in what is known from several variants of one shape.
fn compared(mut points: Vec<LaunchPoint>) -> Vec<LaunchPoint> {
    let [unannotated, linear] = [Variant::Unannotated, Variant::Linear].map(|variant| {
        points.iter().find(|point| point.variant == variant.name()).map(|point| point.gpu_us)
    });
    for point in &mut points {
        point.added_us = point.gpu_us - unannotated.unwrap_or(f64::NAN);
        if point.variant == Variant::Claimed.name() {
            point.claiming_adds_ns = linear.map(|linear| 1e3 * (point.gpu_us - linear));
        }
    }
    points
}

/// Options of a session for so many launches of this shape.
fn profiler(blocks: Blocks, launches: u32) -> Result<Profiler, profiler_host::Error> {
    Profiler::builder()
        .records_per_warp(WORDS / 2)
        .lane_buffers(false)
        .for_grid(blocks.count, blocks.threads(), launches)
        .build()
}

/// What a variant's launches need.
struct Launches<'g> {
    gpu: &'g Gpu,
    function: Function<'g>,
    slots: Slots<'g>,
    output: DeviceBuffer<f32>,
    blocks: Blocks,
    cycles: u32,
    /// How many were made.
    made: u32,
}

impl<'g> Launches<'g> {
    /// Makes slots for so many launches, where the variant has them.
    fn new(
        gpu: &'g Gpu,
        variant: Variant,
        blocks: Blocks,
        cycles: u32,
        launches: u32,
    ) -> Result<Self, Error> {
        let function = gpu.kernels.function(variant.kernel())?;
        let slots = match variant {
            Variant::Unannotated | Variant::NoSession => Slots::None,
            Variant::Linear | Variant::LinearRegion => {
                let slots = blocks.warps_of_grid() as u32 * launches;
                Slots::Linear(LinearSlots::new(gpu, &function, slots)?)
            }
            Variant::Claimed => {
                let profiler = profiler(blocks, launches)?;
                Slots::Claimed(Box::new(profiler.attach(&gpu.kernels.module, gpu.kernels.ptx)?))
            }
        };
        let threads = blocks.warps_of_grid() * WARP as usize;
        let output =
            DeviceBuffer::zeroed(threads).map_err(Error::cuda("taking memory for the output"))?;
        Ok(Self { gpu, function, slots, output, blocks, cycles, made: 0 })
    }

    /// Takes slots for the next launch, in the stream's order.
    fn prepare(&mut self) -> Result<(), Error> {
        match &mut self.slots {
            Slots::Linear(linear) => linear.take(self.blocks.warps_of_grid() as u32),
            Slots::None | Slots::Claimed(_) => Ok(()),
        }
    }

    /// Makes the launch.
    fn launch(&mut self) -> Result<(), Error> {
        let mut output = self.output.as_device_ptr().as_raw();
        let mut arguments = [(&raw mut output).cast::<c_void>(), (&raw mut self.cycles).cast()];
        // SAFETY: the kernels take these two; the output has a number for each thread.
        unsafe { self.gpu.launch(&self.function, self.blocks, &mut arguments) }?;
        self.made += 1;
        Ok(())
    }

    /// Checks that every warp of every launch has a slot.
    fn finish(self) -> Result<(), Error> {
        self.gpu.synchronize()?;
        let expected = self.blocks.warps_of_grid() * self.made as usize;
        let found = match self.slots {
            Slots::None => return Ok(()),
            Slots::Linear(linear) => linear.entered()?,
            Slots::Claimed(mut session) => {
                let modules = session.capture()?.modules;
                modules.iter().map(|it| (it.needed_slots() - it.lost.warps) as usize).sum()
            }
        };
        if found == expected {
            return Ok(());
        }
        Err(Error::Check(format!("{found} warps of {expected} have a slot")))
    }
}

fn point(measurement: &str, variant: Variant, blocks: Blocks) -> LaunchPoint {
    LaunchPoint {
        measurement: measurement.to_owned(),
        variant: variant.name().to_owned(),
        blocks: blocks.count,
        threads: blocks.threads(),
        ..LaunchPoint::default()
    }
}

/// The times of all variants. They take turns, as the clock changes in the course of time; each attaches a
/// session of its own in its turn, since a module has one at a time.
fn kernel_times(gpu: &Gpu, blocks: Blocks, rounds: usize) -> Result<Vec<LaunchPoint>, Error> {
    let mut all = Variant::ALL.map(|variant| (variant, Vec::new()));
    for _ in 0..rounds {
        for (variant, times) in &mut all {
            take_times(gpu, *variant, blocks, times)?;
        }
    }
    let point = |(variant, times): (Variant, Vec<f64>)| LaunchPoint {
        gpu_us: median(&times).unwrap_or(f64::NAN),
        spread_us: Some(spread(&times)),
        ..point("kernel time", variant, blocks)
    };
    Ok(all.into_iter().map(point).collect())
}

fn take_times(
    gpu: &Gpu,
    variant: Variant,
    blocks: Blocks,
    times: &mut Vec<f64>,
) -> Result<(), Error> {
    let mut launches = Launches::new(gpu, variant, blocks, CYCLES, TIMED as u32 + 1)?;
    let (begin, end) = (gpu.event()?, gpu.event()?);
    // Once more than is timed: the first launch fetches the kernel's code.
    for launch in 0..=TIMED {
        launches.prepare()?;
        gpu.record(&begin)?;
        launches.launch()?;
        gpu.record(&end)?;
        let time = microseconds(&begin, &end)?;
        if launch > 0 {
            times.push(time);
        }
    }
    launches.finish()
}

/// What each warp waits for one atomic.
fn round_trip(gpu: &Gpu, blocks: Blocks) -> Result<LaunchPoint, Error> {
    let memory = "taking memory for counters";
    let counters = gpu.sm_count as usize * SCHEDULERS * COUNTER_BYTES;
    let counters = DeviceBuffer::<u8>::zeroed(counters).map_err(Error::cuda(memory))?;
    let warps = blocks.warps_of_grid();
    let output = DeviceBuffer::<f32>::zeroed(warps).map_err(Error::cuda(memory))?;
    let function = gpu.kernels.function("launch_round_trip")?;
    let (mut output_address, mut counters_address) =
        (output.as_device_ptr().as_raw(), counters.as_device_ptr().as_raw());
    let (mut means, mut longest) = (Vec::new(), Vec::new());
    // The first launch fetches the kernel's code.
    for launch in 0..=ROUND_TRIPS {
        let mut arguments =
            [(&raw mut output_address).cast::<c_void>(), (&raw mut counters_address).cast()];
        // SAFETY: the kernel takes these two; there is a number for each warp, and a counter for each
        // scheduler of each SM.
        unsafe { gpu.launch(&function, blocks, &mut arguments) }?;
        gpu.synchronize()?;
        let cycles = output.as_host_vec().map_err(Error::cuda("reading cycles"))?;
        if launch > 0 {
            let cycles = cycles.into_iter().map(f64::from);
            means.push(cycles.clone().sum::<f64>() / warps as f64);
            longest.push(cycles.fold(0.0, f64::max));
        }
    }
    Ok(LaunchPoint {
        measurement: "round trip".to_owned(),
        variant: "one atomic that is waited for".to_owned(),
        blocks: blocks.count,
        threads: blocks.threads(),
        round_trip_cycles: median(&means),
        round_trip_cycles_longest: median(&longest),
        ..LaunchPoint::default()
    })
}

fn back_to_back(
    gpu: &Gpu,
    variant: Variant,
    blocks: Blocks,
    (measurement, cycles): (&str, u32),
) -> Result<LaunchPoint, Error> {
    let mut launches = Launches::new(gpu, variant, blocks, cycles, BACK_TO_BACK + 1)?;
    let (begin, end) = (gpu.event()?, gpu.event()?);
    launches.prepare()?;
    launches.launch()?;
    gpu.synchronize()?;
    let start = Instant::now();
    gpu.record(&begin)?;
    for _ in 0..BACK_TO_BACK {
        launches.prepare()?;
        launches.launch()?;
    }
    gpu.record(&end)?;
    let host = start.elapsed();
    let time = microseconds(&begin, &end)?;
    launches.finish()?;
    Ok(LaunchPoint {
        gpu_us: time / f64::from(BACK_TO_BACK),
        host_us: Some(host.as_secs_f64() * 1e6 / f64::from(BACK_TO_BACK)),
        ..point(measurement, variant, blocks)
    })
}

/// A line of the table on standard output.
#[must_use]
pub fn row(point: &LaunchPoint) -> String {
    if let Some(moment) = &point.moment {
        return claim_row(point, moment);
    }
    let mut row = format!(
        "{:<18} {:>5} x {:>4} {:<25} {:>9.2} us  {:>+8.2} us",
        point.measurement, point.blocks, point.threads, point.variant, point.gpu_us, point.added_us
    );
    if let Some(host) = point.host_us {
        row += &format!("  host {host:.2} us a launch");
    }
    if let Some((cycles, longest)) = point.round_trip_cycles.zip(point.round_trip_cycles_longest) {
        return format!(
            "{:<18} {:>5} x {:>4} {:<25} {cycles:>9.0} cycles, {longest:.0} of the warp that waits longest",
            point.measurement, point.blocks, point.threads, point.variant
        );
    }
    if let Some(claiming) = point.claiming_adds_ns {
        row += &format!("  claiming adds {claiming:.0} ns");
    }
    row
}

/// The line of what a warp waits for.
fn claim_row(point: &LaunchPoint, moment: &str) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.0}"));
    let mut row = format!(
        "{:<18} {:>5} x {:>4} {:<28} {moment:<16} mean {} cycles ({} ns), median {} ({}), longest {} ({})",
        point.measurement,
        point.blocks,
        point.threads,
        point.variant,
        number(point.wait_cycles),
        number(point.wait_ns),
        number(point.wait_cycles_median),
        number(point.wait_ns_median),
        number(point.wait_cycles_longest),
        number(point.wait_ns_longest),
    );
    if let Some((round_trips, of_pool)) = point.round_trips.zip(point.of_pool) {
        row += &format!(", {round_trips:.2} round trips, {:.0} % of the pool", 100.0 * of_pool);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::{
        BACK_TO_BACK, Blocks, LaunchPoint, Variant, WARPS_BACK_TO_BACK, compared, profiler, row,
    };

    #[test]
    fn a_session_has_slots_for_all_launches_back_to_back() {
        for warps in WARPS_BACK_TO_BACK {
            let built = profiler(Blocks { warps, count: 132 }, BACK_TO_BACK + 1);
            assert!(built.is_ok(), "{warps} warps: {built:?}");
        }
    }

    #[test]
    fn differences_are_to_the_first_of_a_shape() {
        let times = [10.0, 10.2, 10.5, 10.75, 11.0, 10.5];
        let of_shape = Variant::ALL.into_iter().zip(times);
        let of_shape = of_shape.map(|(variant, gpu_us)| {
            let variant = variant.name().to_owned();
            LaunchPoint { variant, gpu_us, ..LaunchPoint::default() }
        });
        let points = compared(of_shape.collect());
        let added: Vec<f64> = points.iter().map(|point| point.added_us).collect();
        assert_eq!(added[0], 0.0);
        assert!((added[4] - 1.0).abs() < 1e-9 && (added[5] - 0.5).abs() < 1e-9, "{added:?}");
        let claiming = points[4].claiming_adds_ns.expect("slots are claimed");
        assert!((claiming - 500.0).abs() < 1e-6, "{claiming}");
        assert!(row(&points[4]).ends_with("+1.00 us  claiming adds 500 ns"));
    }
}
