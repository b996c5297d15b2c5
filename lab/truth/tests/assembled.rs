//! What ptxas makes of the kernels: nothing is spilled, and the loads of a region lie between its
//! stamps; so do the bodies of the cross-check, here and in Proton's kernels.
//!
//! Where ptxas, nvdisasm or the PTX is missing, or the Python package triton for Proton's kernels,
//! a test is listed as ignored; with `PROFILER_REQUIRE_TOOLS=1` that is a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::{Missing, Tool, announce, are_required};

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/truth_kernels.ptx"));
const HOSTED_PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/truth_hosted_kernels.ptx"));
const NO_PTX: &str = "needs a compiler for nvptx64; `cargo xtask tools` installs one";
/// Targets that the PTX, which is for sm_80, is assembled for.
const TARGETS: [&str; 4] = ["sm_80", "sm_90", "sm_100", "sm_120"];
/// Operations that are steps of the loops of the cross-check; see [`steps`].
const STEPS: [(&str, char); 4] =
    [("FFMA", 'f'), ("LDG.E.128", 'l'), ("STG.E.128", 's'), ("SR_CLOCKLO", '|')];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut missing = PTX.is_empty().then(|| Missing::new(NO_PTX));
    for tool in [Tool::Ptxas, Tool::Nvdisasm] {
        missing = missing.or(tool.find().err());
    }
    if let Some(missing) = &missing {
        announce("tests with ptxas", missing);
    }
    let ignored = missing.is_some() && !are_required();
    let spills = TARGETS.into_iter().map(|target| {
        let test = move || {
            // The kernels of known work alone are fourteen, and as many for the host.
            spills_nothing(PTX, target, 14)?;
            spills_nothing(HOSTED_PTX, target, 14)
        };
        Trial::test(format!("nothing_is_spilled_on_{target}"), test).with_ignored_flag(ignored)
    });
    let loads = Trial::test("loads_lie_between_the_stamps", loads_lie_between_the_stamps)
        .with_ignored_flag(ignored);
    let bodies = Trial::test("bodies_lie_between_the_stamps", bodies_lie_between_the_stamps)
        .with_ignored_flag(ignored);
    let load = Trial::test("the_load_keeps_the_tensor_cores_busy", load_keeps_tensor_cores_busy)
        .with_ignored_flag(ignored);
    let python = Tool::Python(&["triton"]).find();
    if let Err(missing) = &python {
        announce("tests with Proton", missing);
    }
    let is_missing = python.is_err();
    let proton = Trial::test("so_do_those_of_proton", move || so_do_those_of_proton(&python?))
        .with_ignored_flag(is_missing && !are_required());
    let trials = spills.chain([loads, bodies, load, proton]).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a tool; gives what it wrote to both outputs.
fn output(command: &mut Command) -> Result<String, Failed> {
    let output = command.output()?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if output.status.success() { Ok(text.concat()) } else { Err(text.concat().into()) }
}

/// Assembles the kernels into a file in `folder`; gives the file and what ptxas says.
fn assemble(text: &str, target: &str, folder: &Path) -> Result<(PathBuf, String), Failed> {
    if text.is_empty() {
        return Err(NO_PTX.into());
    }
    let (ptx, cubin) = (folder.join("kernels.ptx"), folder.join("kernels.cubin"));
    std::fs::write(&ptx, text)?;
    let mut ptxas = Command::new(Tool::Ptxas.find()?);
    ptxas.args(["--verbose", "--gpu-name", target]).arg(&ptx).arg("--output-file").arg(&cubin);
    Ok((cubin, output(&mut ptxas)?))
}

fn spills_nothing(text: &str, target: &str, at_least: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (_, said) = assemble(text, target, folder.path())?;
    let lines: Vec<&str> =
        said.lines().filter(|line| line.contains("bytes spill stores")).collect();
    if lines.len() < at_least {
        return Err(format!("ptxas speaks of {} kernels only:\n{said}", lines.len()).into());
    }
    match lines.iter().find(|line| !line.contains(" 0 bytes spill stores, 0 bytes spill loads")) {
        Some(line) => Err(format!("registers are spilled: {line}\n{said}").into()),
        None => Ok(()),
    }
}

/// In the kernel that follows pointers, between two readings of the clock lie the loads of a region
/// "chain", that of a region "load", those of the plain loop, or none.
fn loads_lie_between_the_stamps() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (cubin, _) = assemble(PTX, "sm_90", folder.path())?;
    let sass = output(Command::new(Tool::Nvdisasm.find()?).arg("-c").arg(&cubin))?;
    let kernel = code_of(&sass, "chase");
    let mut between = Vec::new();
    let mut loads = 0;
    for line in kernel {
        if line.contains("SR_CLOCKLO") {
            between.push(loads);
            loads = 0;
        } else if line.contains(" LD.E.64 ") {
            loads += 1;
        }
    }
    let chains = between.iter().filter(|&&loads| loads == truth_kernels::CHAIN).count();
    let singles = between.iter().filter(|&&loads| loads == 1).count();
    if chains == 1 && singles >= 1 {
        Ok(())
    } else {
        Err(format!("loads between the readings of the clock: {between:?}").into())
    }
}

/// The lines of a kernel.
fn code_of<'s>(sass: &'s str, kernel: &str) -> Vec<&'s str> {
    let head = format!(".text.{kernel}:");
    sass.lines()
        .skip_while(|line| !line.starts_with(&head))
        .skip(1)
        .take_while(|line| !line.starts_with(".text."))
        .collect()
}

/// In the kernels that a peer runs too, what lies between the stamps of a region is its body, and all
/// of it; and the loop for no session has the same body and no stamp.
fn bodies_lie_between_the_stamps() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (cubin, _) = assemble(PTX, "sm_90", folder.path())?;
    let sass = output(Command::new(Tool::Nvdisasm.find()?).arg("-c").arg(&cubin))?;
    for kernel in truth_kernels::CROSS_CHECK {
        let steps = steps(&code_of(&sass, kernel.name));
        // What stands before the first FMA and after the last is not of a loop.
        let (Some(first), Some(last)) = (steps.find('f'), steps.rfind('f')) else {
            return Err(format!("{} has no FMA", kernel.name).into());
        };
        let copies = kernel.bytes / size_of::<truth_kernels::Line>();
        let body = body(kernel.fmas) + &"ls".repeat(copies);
        let around = "f".repeat(truth_kernels::FILLING as usize / 2);
        let plain = format!("{around}{body}{around}");
        let found = &steps[first..=last];
        // The stamps around the loops stand between the two, and what enters the kernel.
        let between = ['|', 's'];
        let loops = [
            found.strip_suffix(&plain).map(|rest| rest.trim_end_matches(between)),
            found.strip_prefix(&plain).map(|rest| rest.trim_start_matches(between)),
        ];
        let is_profiled = |found: &str| match found.split('|').collect::<Vec<_>>()[..] {
            // The record is stored somewhere after the end stamp.
            [before, inside, after] => {
                before == around && inside == body && after.replacen('s', "", 1) == around
            }
            _ => false,
        };
        if !loops.into_iter().flatten().any(is_profiled) {
            return Err(format!("{}: {found}, not the loops of {body}", kernel.name).into());
        }
    }
    Ok(())
}

/// The warps that are to draw power multiply matrices between two looks at the time, and read 16
/// bytes at once; both bodies of the kernel do.
fn load_keeps_tensor_cores_busy() -> Result<(), Failed> {
    const BODIES: usize = 2;
    let folder = tempfile::tempdir()?;
    let (cubin, _) = assemble(PTX, "sm_90", folder.path())?;
    let sass = output(Command::new(Tool::Nvdisasm.find()?).arg("-c").arg(&cubin))?;
    for kernel in ["loaded_cycles", "loaded_timer"] {
        let code = code_of(&sass, kernel);
        let mut rounds = Vec::new();
        let (mut products, mut reads) = (0, 0);
        for line in code {
            if line.contains("HMMA.16816.F32.BF16") {
                products += 1;
            } else if line.contains("LDG.E.128") {
                reads += 1;
            } else if line.contains("SR_GLOBALTIMER") {
                rounds.push((products, reads));
                (products, reads) = (0, 0);
            }
        }
        let expected =
            [(truth_kernels::ROUND_PRODUCTS as usize, 0), (0, truth_kernels::ROUND_READS as usize)];
        for round in expected {
            if rounds.iter().filter(|&&found| found == round).count() != BODIES {
                return Err(format!("{kernel}: products and reads of rounds: {rounds:?}").into());
            }
        }
    }
    Ok(())
}

/// The machine code of so many FMAs.
fn body(fmas: u32) -> String {
    let straight = |fmas: u32| "f".repeat(fmas as usize);
    if fmas > truth_kernels::STRAIGHT {
        format!("[{}]", straight(truth_kernels::STRAIGHT))
    } else {
        straight(fmas)
    }
}

/// What machine code is to the loops of the kernels: `f` for a multiply-add of theirs, `l` and `s` for
/// a load and a store of 16 bytes, `|` for a reading of the clock, and brackets around a loop within a
/// body.
fn steps(code: &[&str]) -> String {
    let mut steps = String::new();
    let mut labels: Vec<(&str, usize)> = Vec::new();
    for line in code {
        if let Some(label) = line.strip_suffix(':') {
            labels.push((label, steps.len()));
        } else if let Some((_, target)) = line.split_once("BRA `(") {
            let target = target.split(')').next();
            let begin = labels.iter().find(|&&(label, _)| Some(label) == target);
            let begin = begin.map(|&(_, begin)| begin);
            let is_body = |begin: &usize| steps[*begin..] == body(truth_kernels::STRAIGHT);
            if let Some(begin) = begin.filter(is_body) {
                steps.insert(begin, '[');
                steps.push(']');
            }
        } else {
            let found = STEPS.into_iter().find(|&(operation, _)| line.contains(operation));
            let found = found.filter(|&(_, step)| step != 'f' || line.contains(", -2, "));
            steps.extend(found.map(|(_, step)| step));
        }
    }
    steps
}

/// The same of the kernels that Proton instruments, and the examples in proton.py's documentation.
fn so_do_those_of_proton(python: &Path) -> Result<(), Failed> {
    let cache = tempfile::tempdir()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("proton.py");
    for (before, after) in [(&["-m", "doctest"][..], &[][..]), (&[], &["--compile-only"])] {
        let mut command = Command::new(python);
        command.args(before).arg(&script).args(after);
        // Nothing is left beside the script or in the user's home.
        command.envs([("PYTHONDONTWRITEBYTECODE", "1")]).env("TRITON_CACHE_DIR", cache.path());
        output(&mut command)?;
    }
    Ok(())
}
