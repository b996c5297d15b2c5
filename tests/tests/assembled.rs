//! What ptxas makes of the kernels: nothing is spilled, a block has as much shared memory with
//! profiling as without, and with `--nocapture` a table of the
//! registers, the spilled bytes and the stack of each kernel, with and without profiling.
//!
//! Where ptxas is missing, every test is listed as ignored; with `PROFILER_REQUIRE_TOOLS=1` that is
//! a failure.

#[path = "support/carried.rs"]
mod carried;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex};

use carried::carried;
use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::{Missing, Tool, announce, are_required, is_target_wanted};

/// Targets that PTX is assembled for, where [`runs_on`] says that it can be.
const TARGETS: [&str; 5] = ["sm_80", "sm_90", "sm_100", "sm_120", "sm_90a"];

/// A module's name, its PTX with profiling and, where there is anything to profile, without.
struct Module {
    name: &'static str,
    on: &'static str,
    off: Option<&'static str>,
}

macro_rules! ptx {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/", $name, ".ptx"))
    };
}

macro_rules! modules {
    (both: $($both:literal)*; one: $($one:literal)*;) => {
        [
            $(Module { name: $both, on: ptx!($both), off: Some(include_str!(
                concat!(env!("OUT_DIR"), "/", $both, "_off.ptx")
            )) },)*
            $(Module { name: $one, on: ptx!($one), off: None },)*
        ]
    };
}

/// Those of the tests and of the examples, but for the interpreters of random programs
/// (`kernels/programs`), which spill without profiling too.
const MODULES: [Module; 25] = modules! {
    both: "annotated" "strategies" "quickstart" "softmax" "gemm" "pipeline" "persistent"
        "watch" "hopper_gemm" "renamed" "declared" "stamps" "stamps_sm_90" "stamps_sm_90a";
    one: "collectives" "thousand" "watched" "abuse" "barriers" "functions"
        "intrinsics" "intrinsics_sm_90" "stamps_twice"
        "stamps_sm_90_twice" "stamps_sm_90a_twice";
};

/// What ptxas says of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Usage {
    registers: u32,
    /// Bytes that instructions spill registers to and read them back from.
    spilled: u32,
    /// Bytes of the stack: what is spilled, and arrays that registers cannot hold.
    stack: u32,
    /// Bytes of a block's shared memory.
    shared: u32,
}

/// Usage by kernel.
type Kernels = BTreeMap<String, Usage>;

/// What a kernel takes with profiling, and without.
type Both = (Usage, Option<Usage>);

/// A line of the table: a kernel, and what it takes on each target.
type Row = (&'static str, String, [Option<Both>; TARGETS.len()]);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = Tool::Ptxas.find();
    let has_ptx = MODULES.iter().all(|module| !module.on.is_empty());
    let missing = found.as_ref().err().cloned().or_else(|| {
        let help = "needs a compiler for nvptx64; `cargo xtask tools` installs one";
        (!has_ptx).then(|| Missing::new(help))
    });
    if let Some(missing) = &missing {
        announce("tests with ptxas", missing);
    }
    let rows = Arc::new(Mutex::new(Vec::<Row>::new()));
    let mut trials = vec![Trial::test("the_output_of_ptxas_is_understood", || {
        understands();
        Ok(())
    })];
    let carried = ["calibration"].map(|name| {
        let on = carried(name).leak();
        Module { name, on, off: None }
    });
    for module in MODULES.into_iter().chain(carried) {
        let (found, missing, rows) = (found.clone(), missing.clone(), Arc::clone(&rows));
        let is_ignored = missing.is_some() && !are_required();
        let trial = Trial::test(module.name, move || {
            if let Some(missing) = missing {
                return Err(missing.into());
            }
            let assembled = assemble_module(&found?, &module)?;
            rows.lock().map_err(|error| error.to_string())?.extend(assembled);
            Ok(())
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let (true, Ok(mut rows)) = (arguments.nocapture, rows.lock()) {
        rows.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
        let _ = std::io::stdout().write_all(table(&rows).as_bytes());
    }
    conclusion.exit_code()
}

/// Assembles a module for all targets, with and without profiling.
fn assemble_module(ptxas: &Path, module: &Module) -> Result<Vec<Row>, Failed> {
    let mut by_kernel = BTreeMap::<String, [Option<Both>; TARGETS.len()]>::new();
    for (index, target) in TARGETS.into_iter().enumerate() {
        if !runs_on(module.on, target) || !is_target_wanted(target) {
            continue;
        }
        let off = module.off.map(|ptx| assemble(ptxas, ptx, target)).transpose()?;
        for (kernel, usage) in assemble(ptxas, module.on, target)? {
            if usage.spilled > 0 {
                return Err(format!("{kernel} spills for {target}: {usage:?}").into());
            }
            let off = off.as_ref().and_then(|kernels| kernels.get(&kernel)).copied();
            if off.is_some_and(|off| off.spilled > 0) {
                return Err(format!("{kernel} without profiling spills for {target}").into());
            }
            if let Some(off) = off.filter(|off| off.shared != usage.shared) {
                let bytes = format!("{} bytes of shared memory", usage.shared);
                return Err(
                    format!("{kernel} takes {bytes} for {target}, not {}", off.shared).into()
                );
            }
            let row = by_kernel.entry(kernel).or_default();
            row[index] = Some((usage, off));
        }
    }
    if by_kernel.is_empty() {
        return Err("no kernel in the module".into());
    }
    Ok(by_kernel.into_iter().map(|(kernel, row)| (module.name, kernel, row)).collect())
}

/// Whether a target has all that the PTX asks for: newer ones do, but not of what one target alone has.
fn runs_on(ptx: &str, target: &str) -> bool {
    let asked = ptx.lines().find_map(|line| line.strip_prefix(".target ")).unwrap_or_default();
    let number = |target: &str| target.trim_start_matches("sm_").parse::<u32>().ok();
    match (number(asked.trim()), number(target)) {
        (Some(asked), Some(target)) => asked <= target,
        // One of the two is a target whose name ends in a letter.
        _ => asked.trim() == target,
    }
}

fn assemble(ptxas: &Path, ptx: &str, target: &str) -> Result<Kernels, Failed> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("module.ptx");
    std::fs::write(&input, ptx)?;
    let output = Command::new(ptxas)
        .args(["--verbose", "--gpu-name", target, "--output-file"])
        .arg(folder.path().join("module.cubin"))
        .arg(&input)
        .output()?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("ptxas refuses it for {target}:\n{log}").into());
    }
    Ok(usage(&log)?)
}

/// Reads what `ptxas --verbose` prints.
fn usage(log: &str) -> Result<Kernels, String> {
    let mut kernels = Kernels::new();
    // A kernel, and what it spills and has of a stack.
    let mut current: Option<(String, Option<[u32; 2]>)> = None;
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let name = rest.split('\'').next().unwrap_or_default();
            current = Some((name.to_owned(), None));
        } else if line.contains("bytes spill stores") {
            // Functions that are not inlined are spoken of before any kernel.
            let Some((_, memory)) = current.as_mut() else { continue };
            let of = |what| number_before(line, what).ok_or(format!("no number in `{line}`"));
            let spilled = of("bytes spill stores")? + of("bytes spill loads")?;
            *memory = Some([spilled, of("bytes stack frame")?]);
        } else if let Some(registers) = number_before(line, "registers") {
            let (name, memory) = current.take().ok_or("registers without their kernel")?;
            let [spilled, own] =
                memory.ok_or_else(|| format!("nothing about the stack of {name}"))?;
            // With that of the functions that it calls; not said where it is nothing.
            let stack = number_before(line, "bytes cumulative stack size").unwrap_or(own);
            // Not said where it is nothing, either.
            let shared = number_before(line, "bytes smem").unwrap_or(0);
            kernels.insert(name, Usage { registers, spilled, stack, shared });
        }
    }
    match current {
        Some((name, _)) => Err(format!("nothing about the registers of {name}")),
        None => Ok(kernels),
    }
}

/// The number in front of these words.
fn number_before(line: &str, words: &str) -> Option<u32> {
    line.split_once(words)?.0.trim_end().rsplit(' ').next()?.parse().ok()
}

fn understands() {
    let targets = |asked: &str| {
        let ptx = format!("//\n.version 8.0\n.target {asked}\n.address_size 64\n");
        TARGETS.into_iter().filter(|target| runs_on(&ptx, target)).collect::<Vec<_>>()
    };
    assert_eq!(targets("sm_80"), ["sm_80", "sm_90", "sm_100", "sm_120"]);
    assert_eq!(targets("sm_90"), ["sm_90", "sm_100", "sm_120"]);
    assert_eq!(targets("sm_90a"), ["sm_90a"]);
    let log = "ptxas info    : 0 bytes gmem, 128 bytes cmem[3]\n\
        ptxas info    : Compiling entry function 'scale' for 'sm_90'\n\
        ptxas info    : Function properties for scale\n\
        \x20   24 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n\
        ptxas info    : Used 33 registers, used 0 barriers, 24 bytes cumulative stack size, \
        64 bytes smem\n";
    let expected = Usage { registers: 33, spilled: 24, stack: 24, shared: 64 };
    assert_eq!(usage(log), Ok(Kernels::from([("scale".to_owned(), expected)])));
    let off = Usage { registers: 9, ..Usage::default() };
    let row = [Some((expected, Some(off))); TARGETS.len()];
    let table = table(&[("module", "scale".to_owned(), row)]);
    assert!(table.contains("33/9 24/0 24/0"), "{table}");
    let truncated = log.lines().take(4).collect::<Vec<_>>().join("\n");
    assert!(usage(&truncated).is_err(), "a kernel without registers");
}

/// Each figure as `with profiling/without`, or alone where there is nothing to leave out.
fn table(rows: &[Row]) -> String {
    let mut text =
        "registers, bytes spilled and bytes of the stack, with profiling/without\n".to_owned();
    text += &format!("{:<20} {:<24}", "module", "kernel");
    text += &TARGETS.map(|target| format!(" {target:>20}")).concat();
    text += "\n";
    for (module, kernel, targets) in rows {
        text += &format!("{module:<20} {kernel:<24}");
        for target in targets {
            let Some((on, off)) = target else {
                text += &format!(" {:>20}", "-");
                continue;
            };
            let of = |figure: fn(&Usage) -> u32| match off {
                Some(off) => format!("{}/{}", figure(on), figure(off)),
                None => figure(on).to_string(),
            };
            let cell = [of(|it| it.registers), of(|it| it.spilled), of(|it| it.stack)].join(" ");
            text += &format!(" {cell:>20}");
        }
        text += "\n";
    }
    text
}
