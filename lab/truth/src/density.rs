//! What recording does to the regions beside, and what annotations cost while nobody records.

use std::collections::BTreeMap;
use std::time::Duration;

use profiler_host::{Profiler, Session, Shape};
use serde_json::json;
use truth_kernels::{DENSITY, PARTS, THREADS};

use crate::{Failure, PTX, Report, Run, Summary};

/// Blocks on an SM.
const BLOCKS_PER_SM: u32 = 1;
/// How often each kernel is timed, in turn with the others.
const REPEATS: usize = 50;
/// Likewise on the emulator.
const REPEATS_SMALL: usize = 2;

/// For how long clocks are kept, at most: longer than a launch takes.
const KEPT: Duration = Duration::from_millis(100);

/// How many times as long a kernel is timed as well, as clocks are kept for long ones.
const LONGER: u32 = 8;

/// A kernel of [`DENSITY`].
type Kernel = (&'static str, unsafe fn(*const f32, *mut f32, u32));

/// The buffers of a launch.
struct Data<'b> {
    input: profiler_host::Buffer<'b, f32>,
    output: profiler_host::Buffer<'b, f32>,
    grid: u32,
    iterations: u32,
}

impl<'b> Data<'b> {
    fn new(run: &'b Run, iterations: u32) -> Result<Self, Failure> {
        let grid = BLOCKS_PER_SM * run.sm_count();
        let numbers = (grid * THREADS * iterations) as usize;
        let input = run.backend.upload(&vec![0.25_f32; numbers])?;
        Ok(Self { input, output: run.backend.zeroed(numbers)?, grid, iterations })
    }

    fn arguments(&mut self) -> (*const f32, *mut f32, u32) {
        (self.input.as_ptr(), self.output.as_mut_ptr(), self.iterations)
    }

    fn shape(&self) -> Shape {
        Shape::new(self.grid, THREADS, 0)
    }

    /// Whether every thread did all of its steps: each of the eight chains has an even number of
    /// steps, and two of them give the number back.
    fn check(&self) -> Result<(), Failure> {
        let wrong = self.output.read()?.iter().filter(|&&number| number != 0.25).count();
        if wrong > 0 {
            return Err(format!("{wrong} results of the kernel are wrong").into());
        }
        Ok(())
    }
}

/// Times of the same parts, with all parts in regions and with every other one.
pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let iterations = run.pick(2, 128);
    let mut data = Data::new(run, iterations)?;
    // Of each part, its lengths: of all in regions, and of half.
    let mut parts: BTreeMap<&str, [Option<Summary>; 2]> = BTreeMap::new();
    let kernels: [Kernel; 3] = DENSITY;
    for (index, (name, kernel)) in kernels.into_iter().take(2).enumerate() {
        let profiler = Profiler::builder()
            .records_per_warp(2 * iterations * PARTS.len() as u32 + 8)
            .for_grid(data.grid, THREADS, 1)
            .build()?;
        let mut session = run.backend.session(&profiler)?;
        for _ in 0..2 {
            // The first launch brings the kernel's code onto the GPU.
            session.reset()?;
            // SAFETY: a number for each thread and iteration.
            unsafe { session.launch_kernel(name, data.shape(), kernel, data.arguments()) }?;
        }
        let trace = session.finish()?;
        report.diagnostics(name, &trace)?;
        data.check()?;
        let mut lengths: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for region in trace.warps.iter().flat_map(|warp| &warp.regions) {
            let name = &trace.site(region.site).name;
            let part = PARTS.iter().find(|part| *part == name);
            let (Some(part), Some(end)) = (part, region.end) else {
                return Err(format!("an unexpected or open region \"{name}\"").into());
            };
            let ticks = end.ticks.saturating_sub(region.start.ticks);
            lengths.entry(part).or_default().push(ticks as f64);
        }
        let warps = (data.grid * THREADS / 32) as usize;
        let annotated = PARTS.iter().step_by(index + 1);
        for part in annotated.clone() {
            let count = lengths.get(part).map_or(0, Vec::len);
            report.require(count == warps * iterations as usize, || {
                format!("{name}: {count} regions \"{part}\", not {}", warps * iterations as usize)
            });
        }
        report.require(lengths.len() == annotated.count() && trace.lost() == 0, || {
            format!("{name}: {} kinds of regions, {} lost", lengths.len(), trace.lost())
        });
        for (part, lengths) in lengths {
            parts.entry(part).or_default()[index] = Summary::of(lengths);
        }
    }
    let mut rows = Vec::new();
    for (part, summaries) in parts {
        let [Some(all), Some(half)] = summaries else { continue };
        report.line("part", json!({"part": part, "all": all.json(), "half": half.json()}))?;
        let mut row = vec![part.to_owned()];
        row.extend([all, half].iter().flat_map(|summary| {
            [summary.mean, summary.median, summary.p95].map(|cycles| format!("{cycles:.1}"))
        }));
        row.push(format!("{:+.2} %", (all.mean / half.mean - 1.0) * 1e2));
        rows.push(row);
    }
    report.say(
        "cycles of the parts that both kernels annotate: beside 7 other regions, and beside 3",
    );
    report.table(
        &["part", "all: mean", "median", "p95", "half: mean", "median", "p95", "mean of all"],
        &rows,
    );
    Ok(())
}

/// What [`idle`] times.
#[derive(Clone, Copy, Debug)]
struct Timed {
    kernel: Kernel,
    /// Whether with [`LONGER`] times as many iterations.
    is_longer: bool,
    /// Whether a session keeps the clocks beside it.
    clocks_kept: bool,
}

impl Timed {
    const fn new(kernel: Kernel) -> Self {
        Self { kernel, is_longer: false, clocks_kept: false }
    }

    fn text(self) -> String {
        let longer =
            if self.is_longer { format!(", {LONGER} times as long") } else { String::new() };
        let kept = if self.clocks_kept { ", clocks kept" } else { "" };
        format!("{}{longer}{kept}", self.kernel.0)
    }
}

/// Times by CUDA events, without a session that the kernels know of; and registers.
pub(crate) fn idle(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let iterations = run.pick(2, 128);
    let mut data = [Data::new(run, iterations)?, Data::new(run, LONGER * iterations)?];
    let registers = registers_of(run, &DENSITY)?;
    let [all, half, off] = DENSITY.map(Timed::new);
    let longer = Timed { is_longer: true, ..off };
    let kept = |timed| Timed { clocks_kept: true, ..timed };
    let timed = [all, half, off, kept(off), longer, kept(longer)];
    // Clocks are kept by a session of another module, as the back end launches nothing past one of its own. On
    // the emulator there is nothing to keep.
    let ptx = PTX.filter(|_| run.backend.is_gpu());
    let other = ptx.map(|ptx| cust::module::Module::from_ptx(ptx, &[])).transpose()?;
    let profiler = Profiler::builder().build()?;
    let session = ptx.zip(other.as_ref()).map(|(ptx, module)| profiler.attach(module, ptx));
    let mut session = session.transpose()?;
    let mut times: [Vec<Duration>; 6] = Default::default();
    let repeats = run.pick(REPEATS_SMALL, REPEATS);
    for _ in 0..=repeats {
        for (timed, times) in timed.into_iter().zip(&mut times) {
            let data = &mut data[usize::from(timed.is_longer)];
            let (shape, arguments) = (data.shape(), data.arguments());
            let (name, kernel) = timed.kernel;
            if let (true, Some(session)) = (timed.clocks_kept, &mut session) {
                session.keep_clocks(KEPT)?;
            }
            // SAFETY: a number for each thread and iteration.
            let ((), time) = run
                .backend
                .time(|| unsafe { run.backend.launch_kernel(name, shape, kernel, arguments) })?;
            session.as_mut().map(Session::reset).transpose()?;
            times.push(time);
        }
        data.iter().try_for_each(Data::check)?;
    }
    let microseconds = times.map(|times| {
        // The first launch brings the kernel's code onto the GPU.
        Summary::of(times.into_iter().skip(1).map(|time| time.as_secs_f64() * 1e6))
    });
    let mut rows = Vec::new();
    for (timed, summary) in timed.into_iter().zip(microseconds) {
        let summary = summary.ok_or("nothing was measured")?;
        let off =
            microseconds[if timed.is_longer { 4 } else { 2 }].ok_or("nothing was measured")?;
        let part = summary.median / off.median - 1.0;
        let registers = registers.get(timed.kernel.0);
        report.line(
            "kernel",
            json!({
                "kernel": timed.kernel.0,
                "is_longer": timed.is_longer,
                "clocks_kept": timed.clocks_kept,
                "microseconds": summary.json(),
                "more_than_off": part,
                "registers": registers,
            }),
        )?;
        rows.push(vec![
            timed.text(),
            format!("{:.2}", summary.median),
            format!("{:.2}", summary.min),
            format!("{:.2}", summary.p95),
            format!("{:+.2} %", part * 1e2),
            registers.map_or("-".to_owned(), u32::to_string),
        ]);
    }
    report.say(&format!("time of {repeats} launches each, by CUDA events, without a session"));
    report.table(&["kernel", "median µs", "min", "p95", "median more", "registers"], &rows);
    Ok(())
}

/// Registers of a thread, as the driver compiled the kernels; none on the emulator.
fn registers_of(run: &Run, kernels: &[Kernel]) -> Result<BTreeMap<&'static str, u32>, Failure> {
    use cust::function::FunctionAttribute::NumRegisters;

    let mut registers = BTreeMap::new();
    let Some(ptx) = PTX.filter(|_| run.backend.is_gpu()) else { return Ok(registers) };
    // The back end keeps its module to itself; a second one of the same PTX is the same code.
    let module = cust::module::Module::from_ptx(ptx, &[])?;
    for &(name, _) in kernels {
        let count = module.get_function(name)?.get_attribute(NumRegisters)?;
        registers.insert(name, u32::try_from(count)?);
    }
    Ok(registers)
}
