//! Runs random programs one after another until the time is up, on the GPU and on the emulator.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the output of the program")]

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::Parser;
use profiler_host::{Backend, BackendChoice, include_ptx};
use proptest::strategy::{Strategy as _, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::case::{Case, Outcome, cases};
use crate::check::{Compared, Times, check};

/// Anything that ends a run early; its text is shown to the user.
pub type Failure = Box<dyn std::error::Error>;

/// The kernels, where there was a compiler for them.
const PTX: Option<&str> = include_ptx!("programs");
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

    /// File for a line of JSON a batch
    #[arg(long, default_value = "agreement.jsonl", value_name = "FILE")]
    pub report: PathBuf,

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

/// What a batch of programs came to.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    programs: u64,
    compared: Compared,
    /// Programs in which it is elected who records, and those of them that emitted on the GPU exactly
    /// what the emulator emitted.
    electing: u64,
    elected_alike: u64,
}

impl Batch {
    fn add(&mut self, case: &Case, on_device: Compared, emulated: Compared) {
        self.programs += 1;
        self.compared.warps += on_device.warps;
        self.compared.recorded += on_device.recorded;
        self.compared.lost += on_device.lost;
        self.compared.counted_lanes += on_device.counted_lanes;
        let emitted = |compared: Compared| compared.recorded + compared.lost;
        self.electing += u64::from(case.elects());
        self.elected_alike += u64::from(case.elects() && emitted(on_device) == emitted(emulated));
    }
}

/// Two sides that disagree.
struct Disagreement {
    difference: String,
    /// What the device left behind, if it ran, and what the emulator did.
    outcomes: [Option<Outcome>; 2],
}

/// The `number`-th case of a seed, with what makes it smaller.
fn case_of(seed: u64, number: u64) -> Result<impl ValueTree<Value = Case>, Failure> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    cases().new_tree(&mut runner).map_err(|reason| format!("no case: {reason}").into())
}

/// Runs a case on the device, if there is one besides the emulator, and on the emulator.
fn compare(device: Option<&Backend>, case: &Case) -> Result<[Compared; 2], Box<Disagreement>> {
    let mut outcomes = [None, None];
    let mut compared = [Compared::default(); 2];
    let emulator = crate::emulator(case);
    let sides = [
        ("on the device", device.unwrap_or(&emulator), Times::Hardware),
        ("on the emulator", &emulator, Times::Virtual),
    ];
    let mut difference = None;
    for (index, (side, backend, times)) in sides.into_iter().enumerate() {
        // Where the emulator stands in for the device, its outcome is compared in both ways: its
        // virtual clock goes on, and a second run would begin later than the reference.
        let outcome = match outcomes[0].take_if(|_| index == 1 && device.is_none()) {
            Some(outcome) => Ok(outcome),
            None => case.run(backend),
        };
        let found = match &outcome {
            Ok(outcome) => check(case, outcome, times),
            Err(error) => Err(format!("it failed: {error}")),
        };
        outcomes[index] = outcome.ok();
        match found {
            Ok(found) => compared[index] = found,
            Err(what) => {
                difference.get_or_insert(format!("{side}: {what}"));
            }
        }
    }
    match difference {
        None => Ok(compared),
        Some(difference) => Err(Box::new(Disagreement { difference, outcomes })),
    }
}

/// A smaller case that still shows a difference, found within limits.
fn shrink(device: Option<&Backend>, tree: &mut impl ValueTree<Value = Case>) -> Case {
    let begin = Instant::now();
    let mut smallest = tree.current();
    for _ in 0..SHRINKING.1 {
        if begin.elapsed() > SHRINKING.0 {
            break;
        }
        let case = tree.current();
        let moved = if compare(device, &case).is_err() {
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
    let device = Some(&backend).filter(|backend| backend.is_gpu());
    if device.is_some() {
        use cust::context::legacy::{CurrentContext, ResourceLimit};
        CurrentContext::set_resource_limit(ResourceLimit::StackSize, STACK_BYTES)?;
    }
    let mut report = Report::create(&arguments.report)?;
    let begin = Instant::now();
    let current = Arc::new(Mutex::new((arguments.first, begin)));
    watch(arguments.seed, &current);
    let end = arguments.programs.map_or(u64::MAX, |count| arguments.first.saturating_add(count));
    let mut batch = Batch::default();
    let mut total = 0;
    for number in arguments.first..end {
        if begin.elapsed() >= Duration::from_secs(arguments.seconds) {
            break;
        }
        *current.lock().unwrap_or_else(|poison| poison.into_inner()) = (number, Instant::now());
        let mut tree = case_of(arguments.seed, number)?;
        let case = tree.current();
        match compare(device, &case) {
            Ok([on_device, emulated]) => batch.add(&case, on_device, emulated),
            Err(found) => {
                report.batch(arguments, &backend, &batch, begin)?;
                let small = shrink(device, &mut tree);
                report.disagreement(arguments, number, &found.difference)?;
                return Ok(Some(explain(arguments, number, &case, &found, &small)));
            }
        }
        total += 1;
        if batch.programs == arguments.batch {
            report.batch(arguments, &backend, &std::mem::take(&mut batch), begin)?;
        }
    }
    if batch.programs > 0 {
        report.batch(arguments, &backend, &batch, begin)?;
    }
    println!("{total} programs agree");
    Ok(None)
}

fn explain(
    arguments: &Arguments,
    number: u64,
    case: &Case,
    found: &Disagreement,
    small: &Case,
) -> String {
    let [on_device, emulated] = &found.outcomes;
    format!(
        "program {number} of seed {} disagrees with the reference\n{}\n\n{case:#?}\n\n\
         on the device:\n{}\non the emulator:\n{}\nthe smallest that disagrees too:\n{small:#?}\n\n\
         again: agreement --seed {} --first {number} --programs 1\n",
        arguments.seed,
        found.difference,
        describe(on_device.as_ref()),
        describe(emulated.as_ref()),
        arguments.seed,
    )
}

/// The file of lines.
struct Report {
    path: PathBuf,
    lines: BufWriter<File>,
    batches: u64,
}

impl Report {
    fn create(path: &Path) -> Result<Self, Failure> {
        let file = File::create(path)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), lines: BufWriter::new(file), batches: 0 })
    }

    fn line(&mut self, line: &serde_json::Value) -> Result<(), Failure> {
        writeln!(self.lines, "{line}")
            .and_then(|()| self.lines.flush())
            .map_err(|error| format!("{} cannot be written: {error}", self.path.display()).into())
    }

    fn batch(
        &mut self,
        arguments: &Arguments,
        backend: &Backend,
        batch: &Batch,
        begin: Instant,
    ) -> Result<(), Failure> {
        let Compared { warps, recorded, lost, counted_lanes } = batch.compared;
        self.batches += 1;
        self.line(&json!({
            "batch": self.batches,
            "device": backend.device_info().name,
            "seed": arguments.seed,
            "programs": batch.programs,
            "warps": warps,
            "recorded": recorded,
            "lost": lost,
            "counted_lanes": counted_lanes,
            "electing": batch.electing,
            "elected_alike": batch.elected_alike,
            "seconds": begin.elapsed().as_secs_f64(),
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
