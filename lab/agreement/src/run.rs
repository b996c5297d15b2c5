//! Runs random programs one after another until the time is up, on the GPU and on the emulator.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the output of the program")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use profiler_host::{Backend, BackendChoice, Error, include_ptx};
use profiler_wire::site::Buffer;
use proptest::prop_oneof;
use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::case::{Case, Outcome, cases};
use crate::check::{Compared, Times, check};
use crate::kernels::{HOSTED, KERNELS};
use crate::plant::Plant;

/// Anything that ends a run early; its text is shown to the user.
pub type Failure = Box<dyn std::error::Error>;

/// [`KERNELS`], where there was a compiler for them.
const PTX: Option<&str> = include_ptx!("programs");
/// [`HOSTED`], likewise.
const HOSTED_PTX: Option<&str> = include_ptx!("hosted_programs");
/// Stack of a thread on the GPU: programs call a recursive function some ten deep.
const STACK_BYTES: usize = 16 << 10;
/// How long one program may take before it counts as hung. It takes some milliseconds.
const HUNG: Duration = Duration::from_secs(60);
/// How long a program that shows a difference is made smaller, and in how many steps at most.
const SHRINKING: (Duration, u32) = (Duration::from_secs(20), 2000);
/// Lines of a result that are shown.
const LINES_SHOWN: usize = 400;

/// Runs random programs of regions on the GPU and on the emulator, and holds both against a reference.
/// Exits with 1 at the first disagreement, which it prints.
#[derive(Clone, Debug, Parser)]
#[command(name = "agreement")]
pub struct Arguments {
    /// How long
    #[arg(long, default_value_t = 60)]
    pub seconds: u64,

    /// Which programs: the same seed gives the same ones, one after another
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// The number of the first program, to see one again
    #[arg(long, default_value_t = 0)]
    pub first: u64,

    /// How many programs at most
    #[arg(long)]
    pub programs: Option<u64>,

    /// How many programs a line of the report is about
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,

    /// File for a line of JSON a batch, and one of all
    #[arg(long, default_value = "agreement.jsonl", value_name = "FILE")]
    pub report: PathBuf,

    /// Alters what the device left behind of each program in which no lane is elected, to see that the
    /// disagreement is found: the run must exit with 1 and name the program
    #[arg(long, value_name = "record|count")]
    pub plant: Option<Plant>,

    /// Where the kernels run besides the emulator: `gpu`, `emulator`, or `auto` for the GPU where
    /// there is one
    #[arg(long, default_value = "auto", value_name = "auto|gpu|emulator")]
    pub backend: BackendChoice,
}

impl Arguments {
    /// Reads the process's command line. Ends the process where it asks for help or is wrong.
    #[must_use]
    pub fn read() -> Self {
        Self::parse()
    }
}

/// How many programs agree.
#[derive(Clone, Copy, Debug, Default)]
struct Programs {
    /// All of them.
    all: u64,
    /// Those whose records went to memory of the host.
    hosted: u64,
}

impl Programs {
    fn add(&mut self, case: &Case) {
        self.all += 1;
        self.hosted += u64::from(case.kernel.buffer == Buffer::Host);
    }
}

/// What a batch of programs came to.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    programs: Programs,
    compared: Compared,
    /// Programs in which it is elected who records, and those of them that emitted on the GPU exactly
    /// what the emulator emitted.
    electing: u64,
    elected_alike: u64,
}

impl Batch {
    fn add(&mut self, case: &Case, on_device: Compared, emulated: Compared) {
        self.programs.add(case);
        self.compared.warps += on_device.warps;
        self.compared.recorded += on_device.recorded;
        self.compared.lost += on_device.lost;
        self.compared.counted_lanes += on_device.counted_lanes;
        let emitted = |compared: Compared| compared.recorded + compared.lost;
        self.electing += u64::from(case.elects());
        self.elected_alike += u64::from(case.elects() && emitted(on_device) == emitted(emulated));
    }
}

/// A side that disagrees with the reference.
struct Disagreement {
    difference: String,
    /// Where the case ran, and what it left behind there, if it did.
    left: Vec<(&'static str, Option<Outcome>)>,
}

/// The `number`-th case of a seed, with what makes it smaller.
fn case_of(seed: u64, number: u64) -> Result<impl ValueTree<Value = Case>, Failure> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    // A case that is made smaller may become one of `KERNELS`, which have less to look at.
    let cases = prop_oneof![3 => cases(KERNELS), 1 => cases(HOSTED)];
    cases.new_tree(&mut runner).map_err(|reason| format!("no case: {reason}").into())
}

/// A GPU with the modules of both lists of kernels.
struct Device {
    /// Of [`KERNELS`].
    global: Backend,
    /// Of [`HOSTED`].
    hosted: Backend,
}

impl Device {
    /// The one that runs the case's kernel.
    fn of(&self, case: &Case) -> &Backend {
        match case.kernel.buffer {
            Buffer::Global => &self.global,
            Buffer::Host => &self.hosted,
        }
    }
}

/// Where cases run.
struct Sides {
    /// The device, if there is one besides the emulator.
    device: Option<Device>,
    /// What is altered of what the device leaves behind.
    plant: Option<Plant>,
}

/// What both sides of a case that agree came to.
struct Agreed {
    on_device: Compared,
    emulated: Compared,
    /// Whether something was planted, and nobody saw it.
    is_planted: bool,
}

impl Sides {
    /// The GPU, if that is what was chosen, with both modules.
    fn new(backend: Backend, plant: Option<Plant>) -> Result<Self, Failure> {
        use cust::context::legacy::{CurrentContext, ResourceLimit};
        if !backend.is_gpu() {
            return Ok(Self { device: None, plant });
        }
        let hosted = Backend::choose(BackendChoice::Gpu, HOSTED_PTX)?;
        // All modules of a process share the device's context, and its limits.
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES)?;
        Ok(Self { device: Some(Device { global: backend, hosted }), plant })
    }

    /// Runs a case on the device and on the emulator.
    fn compare(&self, case: &Case) -> Result<Agreed, Box<Disagreement>> {
        let emulator = crate::emulator(case);
        let device = self.device.as_ref().map(|device| device.of(case));
        let mut ran = case.run(device.unwrap_or(&emulator));
        let is_planted = match (self.plant, &mut ran) {
            (Some(plant), Ok(outcome)) => plant.alter(case, outcome),
            _ => false,
        };
        // Where the emulator stands in for the device, its outcome is compared in both ways: its
        // virtual clock goes on, and a second run would begin later than the reference.
        let emulated = device.map(|_| case.run(&emulator));
        let of_device = held(case, &ran, Times::Hardware);
        let of_emulator = held(case, emulated.as_ref().unwrap_or(&ran), Times::Virtual);
        let difference = match (of_device, of_emulator) {
            (Ok(on_device), Ok(emulated)) => {
                return Ok(Agreed { on_device, emulated, is_planted });
            }
            (Err(what), _) if device.is_some() => format!("on the device: {what}"),
            (Err(what), _) => format!("on the emulator, times aside: {what}"),
            (_, Err(what)) => format!("on the emulator: {what}"),
        };
        let left = match emulated {
            Some(emulated) => vec![("on the device", ran.ok()), ("on the emulator", emulated.ok())],
            None => vec![("on the emulator", ran.ok())],
        };
        Err(Box::new(Disagreement { difference, left }))
    }

    /// A smaller case that still shows a difference, found within limits.
    fn shrink(&self, tree: &mut impl ValueTree<Value = Case>) -> Case {
        let begin = Instant::now();
        let mut smallest = tree.current();
        for _ in 0..SHRINKING.1 {
            if begin.elapsed() > SHRINKING.0 {
                break;
            }
            let case = tree.current();
            let moved = if self.compare(&case).is_err() {
                smallest = case;
                tree.simplify()
            } else {
                tree.complicate()
            };
            if !moved {
                break;
            }
        }
        smallest
    }
}

/// Holds what a case left behind, if it ran, against the reference.
fn held(case: &Case, ran: &Result<Outcome, Error>, times: Times) -> Result<Compared, String> {
    match ran {
        Ok(outcome) => check(case, outcome, times),
        Err(error) => Err(format!("it failed: {error}")),
    }
}

/// What a device left behind, warp by warp.
fn describe(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "nothing\n".to_owned() };
    let trace = profiler_trace::decode(&outcome.capture);
    let mut text = String::new();
    for warp in &trace.warps {
        let (launch, block, number) = (warp.launch, warp.block, warp.warp);
        let (recorded, lost) = (warp.recorded, warp.lost);
        let _ = writeln!(
            text,
            "launch {launch}, block {block:?}, warp {number}: {recorded} recorded, {lost} lost"
        );
        for region in &warp.regions {
            let name = &trace.site(region.site).name;
            let end = region.end.map(|end| end.ticks);
            let (lane, start, value) = (region.lane, region.start.ticks, region.value);
            let _ = writeln!(text, "  lane {lane} {name:?} {start} to {end:?}, {value:?}");
        }
        for mark in &warp.marks {
            let name = &trace.site(mark.site).name;
            let (lane, ticks, value) = (mark.lane, mark.time.ticks, mark.value);
            let _ = writeln!(text, "  lane {lane} mark {name:?} at {ticks}, {value:?}");
        }
    }
    for diagnostic in &trace.diagnostics.list {
        let _ = writeln!(text, "{diagnostic}");
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut shown = lines[..lines.len().min(LINES_SHOWN)].join("\n");
    if lines.len() > LINES_SHOWN {
        let _ = write!(shown, "\nand {} more lines", lines.len() - LINES_SHOWN);
    }
    shown + "\n"
}

/// Ends the process where a program does not come to its end.
fn watch(seed: u64, current: &Arc<Mutex<(u64, Instant)>>) {
    let current = Arc::clone(current);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let (number, since) = *current.lock().unwrap_or_else(|poison| poison.into_inner());
            if since.elapsed() > HUNG + SHRINKING.0 {
                eprintln!("agreement: program {number} of seed {seed} does not come to its end");
                std::process::exit(1);
            }
        }
    });
}

/// Runs what the arguments ask for. Gives the text of a disagreement, if there is one.
///
/// # Errors
///
/// What kept it from running: no GPU where one is asked for, a report that cannot be written.
pub fn run(arguments: &Arguments) -> Result<Option<String>, Failure> {
    let backend = Backend::choose(arguments.backend, PTX)?;
    println!("running on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    let device_name = backend.device_info().name;
    let sides = Sides::new(backend, arguments.plant)?;
    let mut report = Report::create(&arguments.report, device_name)?;
    let begin = Instant::now();
    let current = Arc::new(Mutex::new((arguments.first, begin)));
    watch(arguments.seed, &current);
    let end = arguments.programs.map_or(u64::MAX, |count| arguments.first.saturating_add(count));
    let mut batch = Batch::default();
    let mut agreed = Programs::default();
    for number in arguments.first..end {
        if begin.elapsed() >= Duration::from_secs(arguments.seconds) {
            break;
        }
        *current.lock().unwrap_or_else(|poison| poison.into_inner()) = (number, Instant::now());
        let mut tree = case_of(arguments.seed, number)?;
        let case = tree.current();
        match sides.compare(&case) {
            Ok(Agreed { is_planted: true, .. }) => {
                let seed = arguments.seed;
                return Err(format!(
                    "what was planted in program {number} of seed {seed} was not found"
                )
                .into());
            }
            Ok(Agreed { on_device, emulated, .. }) => batch.add(&case, on_device, emulated),
            Err(found) => {
                report.batch(arguments, &batch, begin)?;
                let small = sides.shrink(&mut tree);
                report.disagreement(arguments, number, &found.difference)?;
                return Ok(Some(explain(arguments, number, &case, &found, &small)));
            }
        }
        agreed.add(&case);
        if batch.programs.all == arguments.batch {
            report.batch(arguments, &std::mem::take(&mut batch), begin)?;
        }
    }
    if batch.programs.all > 0 {
        report.batch(arguments, &batch, begin)?;
    }
    let Programs { all, hosted } = agreed;
    if arguments.plant.is_some() {
        return Err(format!(
            "nothing could be planted in {all} programs; run more of them (--programs, --seconds)"
        )
        .into());
    }
    let seconds = begin.elapsed().as_secs_f64();
    report.agreed(arguments, agreed, seconds)?;
    println!(
        "{all} programs agree in {seconds:.1} s: {} with records in memory of the device, {hosted} with \
         records in memory of the host",
        all - hosted
    );
    Ok(None)
}

fn explain(
    arguments: &Arguments,
    number: u64,
    case: &Case,
    found: &Disagreement,
    small: &Case,
) -> String {
    let left: Vec<String> = (found.left.iter())
        .map(|(side, outcome)| format!("{side}:\n{}\n", describe(outcome.as_ref())))
        .collect();
    let plant =
        arguments.plant.map_or_else(String::new, |plant| format!(" --plant {}", plant.name()));
    format!(
        "program {number} of seed {} disagrees with the reference\n{}\n\n{case:#?}\n\n\
         {}the smallest that disagrees too:\n{small:#?}\n\n\
         again: agreement --seed {} --first {number} --programs 1{plant}\n",
        arguments.seed,
        found.difference,
        left.concat(),
        arguments.seed,
    )
}

/// The file of lines.
struct Report {
    path: PathBuf,
    lines: BufWriter<File>,
    device: String,
    batches: u64,
}

impl Report {
    fn create(path: &Path, device: String) -> Result<Self, Failure> {
        let file = File::create(path)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), lines: BufWriter::new(file), device, batches: 0 })
    }

    fn line(&mut self, line: &serde_json::Value) -> Result<(), Failure> {
        writeln!(self.lines, "{line}")
            .and_then(|()| self.lines.flush())
            .map_err(|error| format!("{} cannot be written: {error}", self.path.display()).into())
    }

    fn batch(
        &mut self,
        arguments: &Arguments,
        batch: &Batch,
        begin: Instant,
    ) -> Result<(), Failure> {
        let Compared { warps, recorded, lost, counted_lanes } = batch.compared;
        self.batches += 1;
        self.line(&json!({
            "batch": self.batches,
            "device": self.device,
            "seed": arguments.seed,
            "programs": batch.programs.all,
            "hosted": batch.programs.hosted,
            "warps": warps,
            "recorded": recorded,
            "lost": lost,
            "counted_lanes": counted_lanes,
            "electing": batch.electing,
            "elected_alike": batch.elected_alike,
            "seconds": begin.elapsed().as_secs_f64(),
        }))
    }

    /// The last line of a run in which all agree.
    fn agreed(
        &mut self,
        arguments: &Arguments,
        agreed: Programs,
        seconds: f64,
    ) -> Result<(), Failure> {
        self.line(&json!({
            "device": self.device,
            "seed": arguments.seed,
            "agreed": { "device": agreed.all - agreed.hosted, "host": agreed.hosted },
            "seconds": seconds,
        }))
    }

    fn disagreement(
        &mut self,
        arguments: &Arguments,
        number: u64,
        difference: &str,
    ) -> Result<(), Failure> {
        self.line(&json!({
            "seed": arguments.seed,
            "program": number,
            "difference": difference,
        }))
    }
}
