//! What one region costs: slopes over the number of recorded bodies.

use profiler_bench_kernels::{RECORDED, REGIONS};
use profiler_host::trace::decode;
use profiler_host::{Profiler, Session};
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::UNIT_BYTES;

use crate::Error;
use crate::check::{self, Expected};
use crate::gpu::{Blocks, Buffers, Gpu, Loaded, Memory, blocks_that_fit, microseconds, registers};
use crate::point::Point;
use crate::schemes::{Format, Kernels, Scheme, Writes};
use crate::statistics::{line, median, spread};

/// Iterations of a timed launch.
pub const ITERATIONS: u32 = 1024;
/// The least of a launch that is shortened, as it writes over the bus to the host.
const ITERATIONS_LEAST: u32 = 16;
/// So many bytes such a launch writes with all bodies recorded, as far as the iterations allow: more than
/// the 50 MB that the second-level cache of an H200 holds, so that it is the bus that is measured.
const BYTES_HOSTED: u64 = 128 << 20;
/// How often each kernel is timed.
const LAUNCHES: usize = 7;
/// So many regions, about, are checked one by one: a launch of more iterations than that takes is
/// made anew with fewer, in the same shape.
const REGIONS_CHECKED: u32 = 1 << 18;
/// The least iterations of a launch that is checked.
const ITERATIONS_CHECKED_LEAST: u32 = 32;
/// Bytes of a buffer besides its regions: counters at its begin.
const BUFFER_SPARE: usize = 64;

/// A launch that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Warps of a block.
    pub warps: u32,
    /// Blocks of an SM.
    pub blocks_per_sm: u32,
    /// FMAs of a body.
    pub body: u32,
}

/// Warps of a block, and blocks of an SM: one, and as many as fill an SM that holds 64 warps.
const SHAPES: [(u32, u32); 10] =
    [(1, 1), (4, 1), (8, 1), (16, 1), (32, 1), (32, 2), (1, 4), (4, 4), (8, 4), (16, 4)];
/// A few of them.
const SHAPES_QUICK: [(u32, u32); 3] = [(1, 1), (8, 1), (32, 1)];
/// All configurations, or a few.
#[must_use]
pub fn configurations(quick: bool) -> Vec<Configuration> {
    let (shapes, bodies): (&[(u32, u32)], &[u32]) =
        if quick { (&SHAPES_QUICK, &[8]) } else { (&SHAPES, &[8, 128]) };
    let of_body = |&body: &u32| {
        let with_body = move |&(warps, blocks_per_sm)| Configuration { warps, blocks_per_sm, body };
        shapes.iter().map(with_body)
    };
    bodies.iter().flat_map(of_body).collect()
}

/// Iterations of a timed launch of this scheme.
fn iterations(scheme: &Scheme, blocks: Blocks) -> u32 {
    let Writes::Session(plan) = scheme.writes else { return ITERATIONS };
    if scheme.kernels != Kernels::HostedCombinations {
        return ITERATIONS;
    }
    let lanes: u64 = (0..blocks.warps).map(|warp| plan.lanes_that_store(warp)).sum();
    let bytes = u64::from(8 * plan.words_of_body() * REGIONS * blocks.count) * lanes;
    u32::try_from(BYTES_HOSTED / bytes)
        .map_or(ITERATIONS, |enough| enough.clamp(ITERATIONS_LEAST, ITERATIONS))
}

/// Bytes of a buffer that takes all regions of so many iterations.
fn buffer_bytes(format: Format, iterations: u32) -> usize {
    let regions = (iterations * REGIONS) as usize;
    (regions * format.bytes_per_region() as usize + BUFFER_SPARE).next_power_of_two()
}

fn buffers(scheme: &Scheme, blocks: Blocks, iterations: u32) -> Buffers {
    match scheme.writes {
        Writes::Buffers(format) => Buffers {
            bytes: buffer_bytes(format, iterations),
            // One more for the counter of a grid.
            count: blocks.warps_of_grid() + usize::from(format == Format::GridCounter),
        },
        Writes::Nothing | Writes::Session(_) => Buffers { bytes: 0, count: 0 },
    }
}

/// Memory that takes every launch of these schemes in these configurations.
///
/// # Errors
///
/// Too little memory.
pub fn memory(
    gpu: &Gpu,
    schemes: &[&Scheme],
    configurations: &[Configuration],
) -> Result<Memory, Error> {
    let (mut warps, mut bytes, mut buffer) = (0, 0, 0);
    for configuration in configurations {
        for scheme in schemes {
            let blocks = blocks(gpu, configuration);
            warps = warps.max(blocks.warps_of_grid());
            let buffers = buffers(scheme, blocks, ITERATIONS);
            bytes = bytes.max(buffers.bytes * buffers.count);
            buffer = buffer.max(buffers.bytes);
        }
    }
    Memory::new(warps, bytes, buffer)
}

fn blocks(gpu: &Gpu, configuration: &Configuration) -> Blocks {
    Blocks { warps: configuration.warps, count: gpu.sm_count * configuration.blocks_per_sm }
}

/// Whether an SM holds as many blocks of the scheme's kernel as the configuration has.
///
/// # Errors
///
/// What the driver says.
pub fn fits(gpu: &Gpu, scheme: &Scheme, configuration: &Configuration) -> Result<bool, Error> {
    let busiest = gpu.kernel(scheme, configuration.body, REGIONS)?;
    let blocks = blocks(gpu, configuration);
    Ok(blocks_that_fit(&busiest, blocks)? >= configuration.blocks_per_sm)
}

/// Measures a scheme in a configuration. What goes wrong is in the point, never lost.
pub fn measure(
    gpu: &Gpu,
    memory: &mut Memory,
    scheme: &Scheme,
    configuration: &Configuration,
) -> Point {
    let mut point = Point {
        scheme: scheme.name.to_owned(),
        warps: configuration.warps,
        body: configuration.body,
        blocks_per_sm: configuration.blocks_per_sm,
        ..Point::default()
    };
    if let Err(error) = fill(gpu, memory, scheme, configuration, &mut point) {
        point.failed = Some(error.to_string());
    }
    point
}

fn fill(
    gpu: &Gpu,
    memory: &mut Memory,
    scheme: &Scheme,
    configuration: &Configuration,
    point: &mut Point,
) -> Result<(), Error> {
    let blocks = blocks(gpu, configuration);
    let busiest = gpu.kernel(scheme, configuration.body, REGIONS)?;
    point.registers = Some(registers(&busiest)?);
    let iterations = iterations(scheme, blocks);
    let (begin, end) = (gpu.event()?, gpu.event()?);
    let mut times = Vec::new();
    {
        let mut session = session(gpu, scheme, blocks, iterations)?;
        for recorded in RECORDED {
            let function = gpu.kernel(scheme, configuration.body, recorded)?;
            let buffers = buffers(scheme, blocks, iterations);
            let mut of_launches = Times { recorded, ..Times::default() };
            // Once more than is timed: the first launch fetches the kernel's code.
            for launch in 0..=LAUNCHES {
                if let Some(session) = &mut session {
                    session.reset()?;
                }
                memory.zero(gpu, buffers)?;
                gpu.record(&begin)?;
                // SAFETY: a kernel of the template; the buffers are for so many iterations.
                unsafe { memory.launch(gpu, &function, blocks, buffers, iterations) }?;
                gpu.record(&end)?;
                if launch > 0 {
                    of_launches.push(iterations, &memory.cycles(gpu, blocks.warps_of_grid())?);
                    let nanoseconds = 1000.0 * microseconds(&begin, &end)?;
                    of_launches.kernels.push(nanoseconds / f64::from(iterations));
                }
            }
            times.push(of_launches);
        }
    }
    summarise(&times, point);
    point.bytes_per_region = check_all(gpu, memory, scheme, configuration, blocks)?;
    Ok(())
}

/// Times of the launches of one kernel, in cycles of an iteration.
#[derive(Debug, Default)]
struct Times {
    /// Recorded bodies of an iteration.
    recorded: u32,
    /// Means over warps.
    means: Vec<f64>,
    /// The longest of each launch.
    longest: Vec<f64>,
    /// Of each launch the whole kernel, in nanoseconds of an iteration.
    kernels: Vec<f64>,
}

impl Times {
    fn push(&mut self, iterations: u32, cycles: &[u64]) {
        let iterations = f64::from(iterations);
        let sum: f64 = cycles.iter().map(|&cycles| cycles as f64).sum();
        self.means.push(sum / cycles.len() as f64 / iterations);
        self.longest.push(cycles.iter().max().map_or(0.0, |&cycles| cycles as f64) / iterations);
    }
}

/// Puts the lines through the medians into the point.
fn summarise(times: &[Times], point: &mut Point) {
    let medians = |of: fn(&Times) -> &Vec<f64>| -> Vec<(f64, f64)> {
        times
            .iter()
            .filter_map(|times| Some((f64::from(times.recorded), median(of(times))?)))
            .collect()
    };
    let means = medians(|times| &times.means);
    if let Some(line) = line(&means) {
        point.cycles_per_region = Some(line.slope);
        point.r2 = line.r2;
    }
    point.cycles_per_region_longest = line(&medians(|times| &times.longest)).map(|line| line.slope);
    point.kernel_ns_per_region = line(&medians(|times| &times.kernels)).map(|line| line.slope);
    point.baseline_cycles = means.first().map(|point| point.1);
    point.iteration_cycles = means;
    point.spread = times.iter().map(|times| spread(&times.means)).reduce(f64::max);
}

/// A session for launches of so many iterations, where the scheme needs one.
fn session<'g>(
    gpu: &'g Gpu,
    scheme: &Scheme,
    blocks: Blocks,
    iterations: u32,
) -> Result<Option<Session<'g>>, Error> {
    let Writes::Session(plan) = scheme.writes else { return Ok(None) };
    let words = plan.words.unwrap_or(iterations * REGIONS * plan.words_of_body());
    let mut builder = Profiler::builder().lane_buffers(plan.lane_buffers());
    if plan.lane_buffers() {
        builder = builder.records_per_lane(words / 2);
    }
    let profiler = builder
        .records_per_warp(words / 2)
        .keep(plan.keep)
        .for_grid(blocks.count, blocks.threads(), 1)
        .build()?;
    let Loaded { module, ptx } = gpu.loaded(scheme);
    Ok(Some(profiler.attach(module, ptx)?))
}

/// Launches each kernel that records once more, checks every region that it left, and gives the
/// bytes that a region took.
fn check_all(
    gpu: &Gpu,
    memory: &mut Memory,
    scheme: &Scheme,
    configuration: &Configuration,
    blocks: Blocks,
) -> Result<Option<f64>, Error> {
    let regions_of_iteration = blocks.warps_of_grid() as u32 * REGIONS;
    let most = iterations(scheme, blocks).max(ITERATIONS_CHECKED_LEAST);
    let iterations = (REGIONS_CHECKED / regions_of_iteration).clamp(ITERATIONS_CHECKED_LEAST, most);
    let mut bytes = None;
    let mut session = session(gpu, scheme, blocks, iterations)?;
    for recorded in RECORDED.into_iter().filter(|&recorded| recorded > 0) {
        let expected = Expected { warps: blocks.warps, blocks: blocks.count, iterations, recorded };
        let function = gpu.kernel(scheme, configuration.body, recorded)?;
        let buffers = buffers(scheme, blocks, iterations);
        if let Some(session) = &mut session {
            session.reset()?;
        }
        memory.zero(gpu, buffers)?;
        // SAFETY: a kernel of the template; the buffers are for so many iterations.
        unsafe { memory.launch(gpu, &function, blocks, buffers, iterations) }?;
        let wrong = |wrong| Error::Check(format!("{recorded} bodies recorded: {wrong}"));
        match (scheme.writes, &mut session) {
            (Writes::Buffers(format), _) => {
                let content = memory.read(gpu, buffers)?;
                check::buffers(&content, buffers.bytes, format, &expected).map_err(wrong)?;
                bytes = Some(f64::from(format.bytes_per_region()));
            }
            (Writes::Session(plan), Some(session)) => {
                let capture = session.capture()?;
                check::trace(&decode(&capture), &plan, &expected).map_err(wrong)?;
                let headers = capture
                    .modules
                    .iter()
                    .flat_map(|module| module.headers.as_chunks::<{ header::BYTES }>().0);
                let exits = headers.filter_map(|bytes| ExitHeader::unpack(&header::words(bytes)));
                let most = exits.map(|exit| exit.units).max().unwrap_or(0);
                let regions = f64::from(iterations) * f64::from(recorded);
                bytes = Some(f64::from(UNIT_BYTES) * f64::from(most) / regions);
            }
            _ => gpu.synchronize()?,
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Configuration, Point, Times, buffer_bytes, configurations, summarise};
    use crate::schemes::{Format, SCHEMES, Scheme, combinations};

    #[test]
    fn no_configuration_has_more_warps_than_an_sm_holds() {
        let all = configurations(false);
        assert_eq!(all.len(), 2 * (5 + 1 + 4));
        assert!(all.iter().all(|one| one.warps * one.blocks_per_sm <= 64));
        for warps in [16, 32] {
            let fill = |one: &&Configuration| one.warps == warps && one.blocks_per_sm == 64 / warps;
            assert_eq!(all.iter().filter(fill).count(), 2, "blocks of {warps} warps fill an SM");
        }
        assert!(configurations(true).iter().all(|one| all.contains(one)));
    }

    #[test]
    fn buffers_take_all_regions() {
        assert_eq!(buffer_bytes(Format::Tagged, 1024), 128 << 10);
        assert_eq!(buffer_bytes(Format::Compact8, 1024), 64 << 10);
        assert!(buffer_bytes(Format::Events40, 32) >= 40 + 40 * 128);
    }

    #[test]
    fn the_slope_is_that_of_the_medians() {
        let times = [
            (0, [200.0, 201.0, 250.0]),
            (1, [221.0, 221.0, 221.0]),
            (2, [241.0, 240.0, 300.0]),
            (4, [281.0, 281.0, 280.0]),
        ]
        .map(|(recorded, means)| Times {
            recorded,
            means: means.to_vec(),
            longest: means.map(|mean| 2.0 * mean).to_vec(),
            kernels: means.map(|mean| 4.0 * mean).to_vec(),
        });
        let mut point = Point::default();
        summarise(&times, &mut point);
        assert!((point.cycles_per_region.expect("a slope") - 20.0).abs() < 1e-9, "{point:?}");
        let longest = point.cycles_per_region_longest.expect("a slope");
        assert!((longest - 40.0).abs() < 1e-9, "{point:?}");
        let kernel = point.kernel_ns_per_region.expect("a slope");
        assert!((kernel - 80.0).abs() < 1e-9, "{point:?}");
        assert_eq!((point.baseline_cycles, point.spread), (Some(201.0), Some(60.0)));
        assert_eq!(point.iteration_cycles.first(), Some(&(0.0, 201.0)));
    }

    #[test]
    fn launches_over_the_bus_are_shorter() {
        let iterations = |all: &[Scheme], name: &str, warps| {
            let scheme = all.iter().find(|scheme| scheme.name == name).expect(name);
            super::iterations(scheme, Blocks { warps, count: 128 })
        };
        assert_eq!(iterations(SCHEMES, "default", 32), 1024);
        assert_eq!(iterations(SCHEMES, "floor", 32), 1024);
        assert_eq!(iterations(SCHEMES, "host-keep-last", 32), 1024);
        assert_eq!(iterations(combinations(), "thread-cycles-value-global", 32), 1024);
        assert_eq!(iterations(combinations(), "block-cycles-region-host", 32), 1024);
        // A warp's region: 32 bytes, four an iteration.
        assert_eq!(iterations(combinations(), "warp-cycles-region-host", 8), 1024);
        assert_eq!(iterations(combinations(), "warp-cycles-region-host", 32), 256);
        // Each lane stores its own.
        assert_eq!(iterations(combinations(), "thread-cycles-region-host", 1), 256);
        assert_eq!(iterations(combinations(), "thread-cycles-region-host", 8), 32);
    }

    #[test]
    fn times_are_those_of_an_iteration() {
        let mut times = Times::default();
        times.push(512, &[512, 1024, 1536]);
        assert_eq!((times.means, times.longest), (vec![2.0], vec![3.0]));
    }
}
