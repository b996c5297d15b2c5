//! Bodies of known length in regions, to be laid beside what a peer records of the same bodies.

mod table;

use profiler_host::{Buffer, Profiler, Shape, Trace};
use serde_json::json;
use truth_kernels::{COPIED_BYTES, CROSS_CHECK, CrossCheckKernel, Line};

use crate::{Failure, Report, Run, Summary};

pub use table::table;

/// Lines of the file of findings are of this test, here and in proton.py.
const TEST: &str = "cross-check";
/// One of them is a body, for a number of warps, under a profiler.
const KIND: &str = "body";
/// The profiler of this project's lines, in which there is one mode.
const PROFILER: &str = "this";

/// Blocks of the grid.
const GRID: u32 = 16;
/// Warps of a block.
const WARPS: [u32; 3] = [1, 4, 8];
/// Regions of a warp in the recorded launch: Proton's default ring has room for as many.
const REGIONS: u32 = 32;
/// The first of them bring code and data into the caches.
const WARM_UP: usize = 8;
/// Iterations of the two launches whose difference is the true length.
const ITERATIONS: [u32; 2] = [32, 1056];
const TRUTH_LAUNCHES: usize = 5;
/// What the mean region may be wrong by: this part of its length, or so many cycles.
const PART_MAX: f64 = 0.01;
const CYCLES_MAX: f64 = 8.0;
/// Likewise of the body that copies, the length of which is the memory's affair.
const PART_MAX_COPY: f64 = 0.02;

/// How much of it is run.
#[derive(Clone, Copy, Debug)]
struct Amount {
    grid: u32,
    regions: u32,
    warm_up: usize,
    iterations: [u32; 2],
    truth_launches: usize,
}

const FULL: Amount = Amount {
    grid: GRID,
    regions: REGIONS,
    warm_up: WARM_UP,
    iterations: ITERATIONS,
    truth_launches: TRUTH_LAUNCHES,
};
const SMALL: Amount =
    Amount { grid: 1, regions: 4, warm_up: 1, iterations: [1, 3], truth_launches: 1 };

/// A kernel's memory, for blocks of so many warps.
struct Memory<'b> {
    run: &'b Run,
    amount: Amount,
    warps: u32,
    results: Buffer<'b, [u64; 3]>,
    from: Buffer<'b, [u32; 4]>,
    to: Buffer<'b, [u32; 4]>,
}

impl<'b> Memory<'b> {
    fn new(run: &'b Run, amount: Amount, warps: u32) -> Result<Self, Failure> {
        let threads = (amount.grid * warps * 32) as usize;
        let lines = threads * COPIED_BYTES / size_of::<Line>();
        let numbers: Vec<[u32; 4]> =
            (0..lines as u32).map(|line| [0, 1, 2, 3].map(|word| line * 4 + word)).collect();
        Ok(Self {
            run,
            amount,
            warps,
            results: run.backend.zeroed(threads)?,
            from: run.backend.upload(&numbers)?,
            to: run.backend.zeroed(lines)?,
        })
    }

    fn shape(&self) -> Shape {
        Shape::new(self.amount.grid, self.warps * 32, 0)
    }

    fn arguments(&mut self, iterations: u32) -> (*mut [u64; 3], *const Line, *mut Line, u32, u32) {
        let (from, to) = (self.from.as_ptr().cast(), self.to.as_mut_ptr().cast());
        (self.results.as_mut_ptr(), from, to, iterations, 0)
    }

    /// Cycles of the loop, the mean over warps, if the kernel did what it should.
    fn cycles(&self, kernel: &CrossCheckKernel) -> Result<f64, Failure> {
        let results = self.results.read()?;
        let threads = self.warps as usize * 32;
        let wrong = |(thread, numbers): (usize, &[u64; 3])| {
            numbers[2] != u64::from(((thread % threads) as f32).to_bits())
        };
        if results.iter().enumerate().any(wrong) {
            return Err(format!("{}: a result is wrong", kernel.name).into());
        }
        if kernel.bytes > 0 && self.to.read()? != self.from.read()? {
            return Err(format!("{}: the copy is not what was copied", kernel.name).into());
        }
        let cycles = results.iter().step_by(32).map(|[begin, end, _]| end.wrapping_sub(*begin));
        Ok(Summary::of(cycles.map(|cycles| cycles as f64)).ok_or("no results")?.mean)
    }

    /// Cycles of an iteration without a session.
    fn loop_cycles(&mut self, kernel: &CrossCheckKernel) -> Result<f64, Failure> {
        let mut totals = [0.0; 2];
        let counts = self.amount.iterations;
        for (total, iterations) in totals.iter_mut().zip(counts) {
            let mut means = Vec::new();
            // The first launch brings the code onto the GPU.
            for _ in 0..=self.amount.truth_launches {
                let (shape, arguments) = (self.shape(), self.arguments(iterations));
                // SAFETY: there is memory for the threads of the shape, and the zero is one.
                unsafe {
                    self.run.backend.launch_kernel(kernel.name, shape, kernel.function, arguments)
                }?;
                self.run.backend.synchronize()?;
                means.push(self.cycles(kernel)?);
            }
            *total = Summary::of(means.split_off(1)).ok_or("no launches")?.median;
        }
        Ok((totals[1] - totals[0]) / f64::from(counts[1] - counts[0]))
    }

    /// The trace of one launch of each kernel.
    fn record(&mut self) -> Result<Trace, Failure> {
        let profiler = Profiler::builder()
            .records_per_warp(2 * self.amount.regions + 8)
            .for_grid(self.amount.grid, self.warps * 32, CROSS_CHECK.len() as u32)
            .measure_record_cost()
            .build()?;
        let mut session = self.run.backend.session(&profiler)?;
        for kernel in CROSS_CHECK {
            let (shape, arguments) = (self.shape(), self.arguments(self.amount.regions));
            // SAFETY: as above.
            unsafe { session.launch_kernel(kernel.name, shape, kernel.function, arguments) }?;
            self.run.backend.synchronize()?;
            self.cycles(kernel)?;
        }
        Ok(session.finish()?)
    }
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let amount = run.pick(SMALL, FULL);
    let mut rows = Vec::new();
    for warps in WARPS {
        let mut memory = Memory::new(run, amount, warps)?;
        let trace = memory.record()?;
        report.diagnostics(&format!("{warps} warps"), &trace)?;
        let mut subtracted = trace.clone();
        subtracted.subtract_record_cost();
        let mut empty_loop = None;
        for (launch, kernel) in CROSS_CHECK.iter().enumerate() {
            let body = Body { fmas: kernel.fmas, bytes: kernel.bytes as u64 * 32 };
            let of_loop = memory.loop_cycles(kernel)?;
            let truth = of_loop - *empty_loop.get_or_insert(of_loop);
            let [raw, less_cost] =
                [&trace, &subtracted].map(|trace| lengths(trace, launch, &amount, warps));
            let (raw, less_cost) = (raw?, less_cost?);
            let limit = body.limit(truth);
            let off = less_cost.mean - truth;
            report.require(off.abs() <= limit, || {
                format!(
                    "{body}, {warps} warps: {off:+.1} cycles off after subtraction (true length \
                     {truth:.1}, limit {limit:.1})"
                )
            });
            report.line(
                KIND,
                json!({
                    "profiler": PROFILER,
                    "mode": "default",
                    "warps": warps,
                    "fmas": body.fmas,
                    "bytes": body.bytes,
                    "recorded_cycles": raw.json(),
                    "less_cost_cycles": less_cost.json(),
                    "truth_cycles": truth,
                    "limit_cycles": limit,
                }),
            )?;
            let mut row = vec![body.to_string(), warps.to_string()];
            row.extend([truth, raw.mean, less_cost.mean].map(|cycles| format!("{cycles:.1}")));
            row.push(format!("{off:+.1}"));
            row.push(format!("{limit:.1}"));
            rows.push(row);
        }
    }
    report.say("cycles of a body: true, and the mean region around it");
    report.table(&["body", "warps", "true", "raw", "less cost", "off by", "limit"], &rows);
    Ok(())
}

/// What lies in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Body {
    /// Bytes that a warp copies; where there are any, there are no FMAs.
    bytes: u64,
    fmas: u32,
}

impl Body {
    /// What the mean region may be wrong by.
    fn limit(self, truth: f64) -> f64 {
        let part = if self.bytes > 0 { PART_MAX_COPY } else { PART_MAX };
        (part * truth).max(CYCLES_MAX)
    }
}

impl std::fmt::Display for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self { bytes: 0, fmas: 0 } => f.write_str("nothing"),
            Self { bytes: 0, fmas } => write!(f, "{fmas} FMAs"),
            Self { bytes, .. } => write!(f, "copy of {bytes} bytes"),
        }
    }
}

/// The lengths in cycles of the regions "body" of a launch but for the first ones of each warp, if all
/// are there.
fn lengths(trace: &Trace, launch: usize, amount: &Amount, warps: u32) -> Result<Summary, Failure> {
    let expected = (amount.grid * warps) as usize;
    let mut lengths = Vec::new();
    let mut recorders = 0;
    let launch = trace.launches.get(launch).ok_or("a launch is not in the trace")?;
    for warp in &trace.warps[launch.warps.clone()] {
        let of_warp: Vec<f64> = warp
            .regions
            .iter()
            .filter(|region| trace.site(region.site).name == "body")
            .filter_map(|region| Some(region.end?.ticks.saturating_sub(region.start.ticks) as f64))
            .collect();
        if of_warp.len() != amount.regions as usize {
            let count = of_warp.len();
            return Err(format!("a warp has {count} regions, not {}", amount.regions).into());
        }
        recorders += 1;
        lengths.extend_from_slice(&of_warp[amount.warm_up..]);
    }
    if recorders != expected {
        return Err(format!("{recorders} warps recorded, not {expected}").into());
    }
    Ok(Summary::of(lengths).ok_or("nothing was recorded")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_names_and_limits() {
        let body = |fmas, bytes| Body { fmas, bytes };
        assert_eq!(
            [body(0, 0), body(8, 0), body(0, 4096)].map(|body| body.to_string()),
            ["nothing", "8 FMAs", "copy of 4096 bytes"]
        );
        assert_eq!(
            [body(8, 0), body(2048, 0), body(0, 4096)].map(|body| body.limit(2000.0)),
            [20.0, 20.0, 40.0]
        );
        assert_eq!(body(8, 0).limit(32.0), 8.0);
    }
}
