//! What a warp waits for when it claims a slot, by the clock around the very code that claims one, beside
//! what it waits for a single atomic.

use std::ffi::c_void;

use cust::memory::{CopyDestination, DeviceBuffer};
use profiler_bench_kernels::MOMENTS;
use profiler_host::{Profiler, Session, Slots};

use crate::Error;
use crate::gpu::{Blocks, Gpu};
use crate::launch_cost::LaunchPoint;
use crate::statistics::median;

/// How often each launch is made and its cycles read, in turn with all others.
const ROUNDS: usize = 21;
/// The same of a quick measurement.
const QUICK_ROUNDS: usize = 5;
/// Launches for whose warps a session's shards have slots together, if warps are spread evenly; the pool has
/// about as many. Where all warps of an SM have one scheduler, the pool still has enough for the others.
const LAUNCHES_OF_SHARDS: u32 = 6;
/// Launches of a session in each round. In the first one warps find slots in the shards of their SMs; before
/// the last one the shards are used up.
const LAUNCHES: u32 = LAUNCHES_OF_SHARDS + 1;
/// Cycles that the kernel spins by which the rate of the clock is taken: 1 ms, thousands of steps of the timer.
const RATE_CYCLES: u32 = 2_000_000;
/// Counters of an SM, and bytes of each, as a session has them.
const SCHEDULERS: u32 = 4;
const COUNTER_BYTES: u32 = 128;
const SM_BYTES: u32 = SCHEDULERS * COUNTER_BYTES;
/// Numbers that a warp writes at each moment: cycles, and what it got.
const NUMBERS: usize = 2;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Nothing: what the two readings take.
    Nothing,
    /// One atomic.
    Atomic(Counters),
    /// A slot, which the shard has.
    Claim,
    /// A slot of the pool, as the shard is used up.
    ClaimFromPool,
}

/// Which counters atomics go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counters {
    /// One for each scheduler of each SM, as those of shards.
    OfScheduler,
    /// One for each SM.
    OfSm,
    /// One for all, as that of the pool.
    One,
}

impl Counters {
    /// Bytes between the counters of two SMs, and of two schedulers of an SM.
    fn bytes(self) -> (u32, u32) {
        match self {
            Self::OfScheduler => (SM_BYTES, COUNTER_BYTES),
            Self::OfSm => (SM_BYTES, 0),
            Self::One => (0, 0),
        }
    }
}

impl Wait {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Atomic(Counters::OfScheduler),
        Self::Atomic(Counters::OfSm),
        Self::Atomic(Counters::One),
        Self::Claim,
        Self::ClaimFromPool,
    ];

    /// What others are given in multiples of.
    const ROUND_TRIP: Self = Self::Atomic(Counters::OfScheduler);

    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "two clock reads",
            Self::Atomic(Counters::OfScheduler) => "one atomic, 4 counters an SM",
            Self::Atomic(Counters::OfSm) => "one atomic, 1 counter an SM",
            Self::Atomic(Counters::One) => "one atomic, 1 counter",
            Self::Claim => "claimed slot",
            Self::ClaimFromPool => "claimed slot, shard used up",
        }
    }
}

/// What the moments are called at which a kernel times what it waits for.
const MOMENT_NAMES: [&str; MOMENTS as usize] = ["at entry", "after a barrier"];

/// One warp's reading at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    cycles: u64,
    /// The slot, or what the counter was.
    number: u64,
}

/// What a kernel wrote, by moments.
fn readings(words: &[u64]) -> [Vec<Reading>; MOMENTS as usize] {
    let pairs = words.as_chunks::<NUMBERS>().0;
    std::array::from_fn(|moment| {
        let of_moment = pairs.iter().skip(moment).step_by(MOMENTS as usize);
        of_moment.map(|&[cycles, number]| Reading { cycles, number }).collect()
    })
}

/// Checks that every warp wrote a reading.
fn check_written(words: &[u64]) -> Result<(), String> {
    match words.as_chunks::<NUMBERS>().0.iter().position(|[cycles, _]| *cycles == u64::MAX) {
        None => Ok(()),
        Some(at) => Err(format!("warp {} wrote no cycles", at / MOMENTS as usize)),
    }
}

/// Checks slots that were claimed one after the other: each is one of the session's, and none was given
/// twice. `claimed` says of all slots whether they were before.
fn check_slots(claimed: &mut [bool], slots: impl IntoIterator<Item = u64>) -> Result<(), String> {
    let count = claimed.len();
    for slot in slots {
        let is_claimed = usize::try_from(slot).ok().and_then(|slot| claimed.get_mut(slot));
        let is_claimed = is_claimed.ok_or_else(|| format!("slot {slot} was claimed of {count}"))?;
        if std::mem::replace(is_claimed, true) {
            return Err(format!("slot {slot} was claimed twice"));
        }
    }
    Ok(())
}

/// Checks that counters have counted every atomic.
fn check_counters(counters: &[u64], expected: u64) -> Result<(), String> {
    let counted = counters.iter().sum::<u64>();
    if counted == expected {
        return Ok(());
    }
    Err(format!("the counters have counted {counted} atomics of {expected}"))
}

/// Of launches of one kind, at one moment: what is in the result.
#[derive(Debug, Default)]
struct Samples {
    means: Vec<f64>,
    medians: Vec<f64>,
    longest: Vec<f64>,
    /// Which part of the slots was of the pool.
    of_pool: Vec<f64>,
}

impl Samples {
    fn push(&mut self, readings: &[Reading], pool_start: u64) {
        let cycles: Vec<f64> = readings.iter().map(|reading| reading.cycles as f64).collect();
        let count = cycles.len() as f64;
        self.means.push(cycles.iter().sum::<f64>() / count);
        self.medians.extend(median(&cycles));
        self.longest.push(cycles.iter().copied().fold(0.0, f64::max));
        let of_pool = readings.iter().filter(|reading| reading.number >= pool_start).count();
        self.of_pool.push(of_pool as f64 / count);
    }
}

/// All samples of a shape.
#[derive(Debug, Default)]
struct Measured {
    samples: [[Samples; MOMENTS as usize]; Wait::ALL.len()],
    rates_mhz: Vec<f64>,
}

impl Measured {
    fn push(&mut self, wait: Wait, words: &[u64], pool_start: u64) {
        let Some(index) = Wait::ALL.iter().position(|other| *other == wait) else { return };
        for (samples, readings) in self.samples[index].iter_mut().zip(readings(words)) {
            samples.push(&readings, pool_start);
        }
    }

    /// The lines of results.
    fn points(&self, blocks: Blocks) -> Vec<LaunchPoint> {
        let clock_mhz = median(&self.rates_mhz);
        let mut points = Vec::new();
        for (wait, of_wait) in Wait::ALL.into_iter().zip(&self.samples) {
            for (moment, samples) in MOMENT_NAMES.into_iter().zip(of_wait) {
                let [mean, middle, longest] =
                    [&samples.means, &samples.medians, &samples.longest].map(|of| median(of));
                let ns = |cycles: Option<f64>| Some(1e3 * cycles? / clock_mhz?);
                let is_claim = matches!(wait, Wait::Claim | Wait::ClaimFromPool);
                points.push(LaunchPoint {
                    measurement: "claim".to_owned(),
                    variant: wait.name().to_owned(),
                    moment: Some(moment.to_owned()),
                    blocks: blocks.count,
                    threads: blocks.threads(),
                    wait_cycles: mean,
                    wait_cycles_median: middle,
                    wait_cycles_longest: longest,
                    wait_ns: ns(mean),
                    wait_ns_median: ns(middle),
                    wait_ns_longest: ns(longest),
                    clock_mhz,
                    of_pool: median(&samples.of_pool).filter(|_| is_claim),
                    ..LaunchPoint::default()
                });
            }
        }
        fill_round_trips(&mut points);
        points
    }
}

/// Gives the means of claims in multiples of one atomic's at the same moment.
fn fill_round_trips(points: &mut [LaunchPoint]) {
    let round_trips: Vec<_> = points
        .iter()
        .filter(|point| point.variant == Wait::ROUND_TRIP.name())
        .map(|point| (point.moment.clone(), point.wait_cycles))
        .collect();
    for point in points.iter_mut().filter(|point| point.of_pool.is_some()) {
        let of_moment = round_trips.iter().find(|(moment, _)| *moment == point.moment);
        point.round_trips = of_moment.and_then(|(_, cycles)| Some(point.wait_cycles? / (*cycles)?));
    }
}

/// Measures what warps of this shape wait for, all variants in turn.
///
/// # Errors
///
/// What the driver or a session says; a slot that is claimed twice or is none; counts that are wrong.
pub(crate) fn measure(gpu: &Gpu, blocks: Blocks, quick: bool) -> Result<Vec<LaunchPoint>, Error> {
    let rounds = if quick { QUICK_ROUNDS } else { ROUNDS };
    let mut launches = Launches::new(gpu, blocks)?;
    let mut claims = Claims::new(gpu, blocks)?;
    let mut counters = Vec::new();
    for wait in Wait::ALL {
        if let Wait::Atomic(layout) = wait {
            let words = gpu.sm_count as usize * (SM_BYTES / 8) as usize;
            let memory = DeviceBuffer::<u64>::zeroed(words);
            counters.push((layout, memory.map_err(Error::cuda("taking memory for counters"))?));
        }
    }
    let mut measured = Measured::default();
    // The first round fetches the kernels' code.
    for round in 0..=rounds {
        let is_first = round == 0;
        let mut push = |wait, words: &[u64], pool_start| {
            if !is_first {
                measured.push(wait, words, pool_start);
            }
        };
        push(Wait::Nothing, &launches.clock_reads()?, u64::MAX);
        for (layout, memory) in &counters {
            push(Wait::Atomic(*layout), &launches.atomic(*layout, memory)?, u64::MAX);
        }
        for (wait, words) in claims.round(&mut launches)? {
            push(wait, &words, claims.pool_start);
        }
        let rate = launches.clock_mhz()?;
        if !is_first {
            measured.rates_mhz.push(rate);
        }
    }
    let expected = blocks.warps_of_grid() as u64 * u64::from(MOMENTS) * (rounds as u64 + 1);
    for (_, memory) in &counters {
        let counted = memory.as_host_vec().map_err(Error::cuda("reading counters"))?;
        check_counters(&counted, expected).map_err(Error::Check)?;
    }
    Ok(measured.points(blocks))
}

/// Launches of the kernels that time what a warp waits for.
struct Launches<'g> {
    gpu: &'g Gpu,
    blocks: Blocks,
    /// Cycles and a number, for each moment of each warp.
    output: DeviceBuffer<u64>,
    /// By how much the two clocks went on.
    passed: DeviceBuffer<u64>,
}

impl<'g> Launches<'g> {
    fn new(gpu: &'g Gpu, blocks: Blocks) -> Result<Self, Error> {
        let words = blocks.warps_of_grid() * MOMENTS as usize * NUMBERS;
        let zeroed =
            |words| DeviceBuffer::zeroed(words).map_err(Error::cuda("taking memory for cycles"));
        Ok(Self { gpu, blocks, output: zeroed(words)?, passed: zeroed(NUMBERS)? })
    }

    /// Launches a kernel that takes the output and then these arguments, and gives what it wrote.
    ///
    /// # Safety
    ///
    /// It must be one that writes the readings of each warp, and takes these arguments.
    unsafe fn run(&mut self, name: &str, others: &mut [*mut c_void]) -> Result<Vec<u64>, Error> {
        let function = self.gpu.kernels.function(name)?;
        // SAFETY: whatever reads or writes the memory is in the same stream, or waits for it.
        unsafe { self.output.set_8_async(u8::MAX, &self.gpu.stream) }
            .map_err(Error::cuda("filling the output"))?;
        let mut address = self.output.as_device_ptr().as_raw();
        let mut arguments = vec![(&raw mut address).cast::<c_void>()];
        arguments.extend_from_slice(others);
        // SAFETY: the caller's; the output has numbers for each moment of each warp.
        unsafe { self.gpu.launch(&function, self.blocks, &mut arguments) }?;
        self.gpu.synchronize()?;
        let mut words = vec![0; self.output.len()];
        self.output.copy_to(&mut words).map_err(Error::cuda("reading cycles"))?;
        check_written(&words).map_err(|wrong| Error::Check(format!("{name}: {wrong}")))?;
        Ok(words)
    }

    fn clock_reads(&mut self) -> Result<Vec<u64>, Error> {
        // SAFETY: it writes readings and takes nothing else.
        unsafe { self.run("launch_clock_reads", &mut []) }
    }

    fn atomic(
        &mut self,
        layout: Counters,
        counters: &DeviceBuffer<u64>,
    ) -> Result<Vec<u64>, Error> {
        let mut address = counters.as_device_ptr().as_raw();
        let mut sm_count = self.gpu.sm_count;
        let (mut sm_bytes, mut scheduler_bytes) = layout.bytes();
        let mut arguments = [
            (&raw mut address).cast::<c_void>(),
            (&raw mut sm_count).cast(),
            (&raw mut sm_bytes).cast(),
            (&raw mut scheduler_bytes).cast(),
        ];
        // SAFETY: it writes readings and takes these; there are counters for each scheduler of so many SMs.
        unsafe { self.run("launch_atomic", &mut arguments) }
    }

    fn claim(&mut self) -> Result<Vec<u64>, Error> {
        // SAFETY: it writes readings and takes nothing else; the session attached has claimed slots.
        unsafe { self.run("launch_claim", &mut []) }
    }

    /// What the clock's rate is now.
    fn clock_mhz(&mut self) -> Result<f64, Error> {
        let function = self.gpu.kernels.function("launch_clock_rate")?;
        let mut address = self.passed.as_device_ptr().as_raw();
        let mut cycles = RATE_CYCLES;
        let mut arguments =
            [(&raw mut address).cast::<c_void>(), (&raw mut cycles).cast::<c_void>()];
        let one_warp = Blocks { warps: 1, count: 1 };
        // SAFETY: it takes these two, and writes two numbers.
        unsafe { self.gpu.launch(&function, one_warp, &mut arguments) }?;
        self.gpu.synchronize()?;
        let mut pair = [0; NUMBERS];
        self.passed.copy_to(&mut pair).map_err(Error::cuda("reading the clocks"))?;
        rate_mhz(pair).map_err(Error::Check)
    }
}

/// The rate of a clock that went on by so many cycles in so many nanoseconds.
fn rate_mhz([cycles, nanoseconds]: [u64; NUMBERS]) -> Result<f64, String> {
    if cycles < u64::from(RATE_CYCLES) || nanoseconds == 0 {
        return Err(format!("the clocks went on by {cycles} cycles and {nanoseconds} ns"));
    }
    Ok(1e3 * cycles as f64 / nanoseconds as f64)
}

/// A session whose slots warps claim.
struct Claims<'g> {
    session: Session<'g>,
    slot_count: u32,
    /// The first slot of the pool.
    pool_start: u64,
}

impl<'g> Claims<'g> {
    fn new(gpu: &'g Gpu, blocks: Blocks) -> Result<Self, Error> {
        let profiler = Profiler::builder()
            .records_per_warp(1)
            .lane_buffers(false)
            .slots(Slots::Claimed)
            .max_warps(capacity(blocks.warps_of_grid() as u32, gpu.sm_count))
            .build()?;
        let mut session = profiler.attach(&gpu.kernels.module, gpu.kernels.ptx)?;
        let capture = session.capture()?;
        let descriptor = capture.modules.first().map(|module| module.descriptor);
        let descriptor = descriptor.filter(|descriptor| descriptor.slots_per_shard > 0);
        let descriptor =
            descriptor.ok_or_else(|| Error::Check("the session has no shards".to_owned()))?;
        let (slot_count, pool_start) = (descriptor.slot_count, u64::from(descriptor.pool_start));
        Ok(Self { session, slot_count, pool_start })
    }

    /// The launches of one session; gives what was written by the first and by the last.
    fn round(&mut self, launches: &mut Launches<'_>) -> Result<[(Wait, Vec<u64>); 2], Error> {
        self.session.reset()?;
        let mut claimed = vec![false; self.slot_count as usize];
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for launch in 0..LAUNCHES {
            let words = launches.claim()?;
            let slots = words.as_chunks::<NUMBERS>().0.iter().map(|[_, slot]| *slot);
            check_slots(&mut claimed, slots).map_err(Error::Check)?;
            if launch == 0 {
                first = words;
            } else {
                last = words;
            }
        }
        Ok([(Wait::Claim, first), (Wait::ClaimFromPool, last)])
    }
}

/// For how many warps a session has slots. At the least a warp finds one in its shard at each moment of the
/// first launch.
fn capacity(warps: u32, sm_count: u32) -> u32 {
    (LAUNCHES_OF_SHARDS * MOMENTS * warps).max(MOMENTS * SCHEDULERS * sm_count)
}

#[cfg(test)]
#[path = "claim_cost_tests.rs"]
mod tests;
