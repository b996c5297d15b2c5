//! What ptxas makes of the template: the loop has as many FMAs as were written, and between the two
//! stamps of a recorded body are as many as the body has. What a record of `default` is made of, in which
//! order the address of a record is made, and that no stamp waits for a store before it. And that the two
//! clock reads of the kernels that time a claim have the claim between them.
//!
//! Where ptxas or nvdisasm is missing, every test is listed as ignored; with
//! `PROFILER_REQUIRE_TOOLS=1` that is a failure.

use std::process::{Command, ExitCode};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_bench::schemes::SCHEMES;
use profiler_bench_kernels::{BODIES, FILLING, RECORDED, REGIONS, kernel_name};
use profiler_test_tools::{Missing, Tool, announce, are_required};

/// The GPU that the published figures are from.
const TARGET: &str = "sm_90";

/// Clock reads of a recorded body.
fn stamps_of_region(scheme: &str) -> usize {
    match scheme {
        "unannotated" => 0,
        "mark" => 1,
        // The record of the begin has one of its own, ahead of the region's.
        "hosted" => 3,
        _ => 2,
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = disassembly();
    if let Err(missing) = &found {
        announce("tests with ptxas", &Missing::new(missing));
    }
    let is_ignored = found.is_err() && !are_required();
    let found = Arc::new(found);
    let mut trials = vec![Trial::test("the_output_of_nvdisasm_is_understood", || {
        understands();
        Ok(())
    })];
    let mut kernels: Vec<&str> = SCHEMES.iter().map(|scheme| scheme.kernel).collect();
    kernels.sort_unstable();
    kernels.dedup();
    for kernel in kernels {
        let found = Arc::clone(&found);
        let trial = Trial::test(format!("fmas_of_{}", kernel.replace('-', "_")), move || {
            let text = found.as_ref().as_ref().map_err(String::clone)?;
            for body in BODIES {
                for recorded in RECORDED {
                    check(text, kernel, body, recorded)?;
                }
            }
            Ok(())
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for kernel in ["default", "globaltimer", "elected", "when", "token"] {
        let found = Arc::clone(&found);
        let trial = Trial::test(format!("cursor_of_{kernel}"), move || {
            cursor_is_in_the_middle(found.as_ref().as_ref().map_err(String::clone)?, kernel)
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for (name, test) in [
        ("instructions_of_a_record", instructions as fn(&str) -> _),
        ("registers_of_default", |text| stamps_that_wait_for_stores(text, "default", 0)),
        ("registers_of_rewritten", |text| stamps_that_wait_for_stores(text, "rewritten", 1)),
    ] {
        let found = Arc::clone(&found);
        let trial =
            Trial::test(name, move || test(found.as_ref().as_ref().map_err(String::clone)?));
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for (kernel, waited_for) in [
        ("launch_clock_reads", Waited { atomics: 0, broadcasts: 0, asks_for_sm: false }),
        ("launch_atomic", Waited { atomics: 1, broadcasts: 0, asks_for_sm: false }),
        // The share's counter and the pool's.
        ("launch_claim", Waited { atomics: 2, broadcasts: 1, asks_for_sm: true }),
    ] {
        let found = Arc::clone(&found);
        let trial = Trial::test(format!("clock_reads_of_{kernel}"), move || {
            let text = found.as_ref().as_ref().map_err(String::clone)?;
            clock_reads_enclose(text, kernel, &waited_for)
        });
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What lies between the two clock reads of a kernel that times what a warp waits for.
#[derive(Debug, PartialEq, Eq)]
struct Waited {
    atomics: usize,
    broadcasts: usize,
    /// Whether it is found out there which SM the warp is on, as a claim has to.
    asks_for_sm: bool,
}

/// Checks that all of this lies between two reads of the whole clock, none of it elsewhere, and that right
/// before the second one its last result is waited for.
fn clock_reads_enclose(text: &str, kernel: &str, expected: &Waited) -> Result<(), Failed> {
    let lines: Vec<Vec<&str>> =
        code(text, kernel)?.lines().map(operands).filter(|line| !line.is_empty()).collect();
    let reads: Vec<usize> = (0..lines.len())
        .filter(|&index| lines[index].iter().any(|word| word.starts_with("SR_CLOCK")))
        .collect();
    let [first, second] = reads[..] else {
        return Err(format!("{kernel}: {} clock reads", reads.len()).into());
    };
    if [first, second].iter().any(|&read| lines[read][0] != "CS2R") {
        return Err(format!("{kernel}: a clock read is none of 64 bits").into());
    }
    let between = &lines[first + 1..second];
    let count = |lines: &[Vec<&str>], name: &str| {
        lines.iter().filter(|line| line[0].split('.').next() == Some(name)).count()
    };
    let found = Waited {
        atomics: count(between, "ATOMG"),
        broadcasts: count(between, "SHFL"),
        asks_for_sm: between.iter().any(|line| line.contains(&"SR_VIRTUALSMID")),
    };
    let atomics = count(&lines, "ATOMG") + count(&lines, "RED");
    if found != *expected || atomics != expected.atomics {
        return Err(
            format!("{kernel}: {found:?} between the clock reads, {atomics} atomics").into()
        );
    }
    let result = between.iter().rev().find_map(|line| match line[..] {
        [name, "PT", result, ..] if name.starts_with("ATOMG") || name.starts_with("SHFL") => {
            Some(format!("|{result}|"))
        }
        _ => None,
    });
    let waits = |line: &Vec<&str>, result: &String| {
        line[0].starts_with("FSETP") && line.contains(&result.as_str())
    };
    match (result, between.last()) {
        (Some(result), Some(last)) if !waits(last, &result) => {
            Err(format!("{kernel}: the second clock read does not wait for {result}").into())
        }
        _ => Ok(()),
    }
}

/// What a record is made of, next to its region's body (docs/how-it-costs.md).
const OF_RECORD: [&str; 8] = ["CS2R", "CS2R", "ISETP", "LEA", "LOP3", "LOP3", "STG", "VIADDMNMX"];

/// Checks that a recording loop has these instructions for each region, and otherwise those of the loop alone.
fn instructions(text: &str) -> Result<(), Failed> {
    for (scheme, body) in
        ["default", "rewritten"].into_iter().flat_map(|it| BODIES.map(|body| (it, body)))
    {
        let name = kernel_name(scheme, body, REGIONS);
        let lines: Vec<&str> =
            code(text, &name)?.lines().filter(|line| step(line).is_some()).collect();
        let is_fma = |index: &usize| step(lines[*index]) == Some(Step::Fma);
        let fmas: Vec<usize> = (0..lines.len()).filter(is_fma).collect();
        // The copy for no session reads no clock.
        let recording = fmas
            .chunks((FILLING + REGIONS * body) as usize)
            .map(|fmas| &lines[fmas[0]..fmas[fmas.len() - 1]])
            .find(|copy| copy.iter().any(|line| step(line) == Some(Step::Stamp)))
            .ok_or_else(|| format!("{name} has no loop that records"))?;
        let mut found: Vec<&str> = recording
            .iter()
            .map(|line| operands(line)[0].split('.').next().unwrap_or_default())
            .filter(|name| !["FFMA", "UIADD3", "BRA", "NOP"].contains(name))
            .collect();
        found.sort_unstable();
        let mut expected = OF_RECORD.repeat(REGIONS as usize);
        // Of the loop itself.
        expected.push("ISETP");
        expected.sort_unstable();
        if found != expected {
            return Err(format!("{name}: {found:?}, not {expected:?}").into());
        }
    }
    Ok(())
}

/// How many instructions after a store its registers may still be to read.
const STORE_READS: usize = 8;

/// Checks that at most so many stamps go into registers that a store right before them has still to read, as they would
/// wait for that store (docs/how-it-costs.md, "Up to eight warps").
fn stamps_that_wait_for_stores(text: &str, scheme: &str, bound: u32) -> Result<(), Failed> {
    let name = kernel_name(scheme, BODIES[0], REGIONS);
    let lines: Vec<Vec<&str>> =
        code(text, &name)?.lines().map(operands).filter(|line| !line.is_empty()).collect();
    // The stamp of the whole loop stands after its last FMA.
    let last = lines.iter().rposition(|line| line[0] == "FFMA").unwrap_or_default();
    let (mut stamps, mut stores, mut waiting) = (0, 0, 0);
    for (index, line) in lines[..last].iter().enumerate() {
        let ["CS2R", stamp, "SR_CLOCKLO"] = line[..] else { continue };
        let written = registers(stamp, 2);
        for before in &lines[index.saturating_sub(STORE_READS)..index] {
            let ["STG.E.128", address, data] = before[..] else { continue };
            // `desc[UR6][R12.64+0x8]`
            let address = address.rsplit('[').next().unwrap_or_default();
            let read = [registers(address, 2), registers(data, 4)].concat();
            waiting += u32::from(read.iter().any(|register| written.contains(register)));
            stores += 1;
        }
        stamps += 1;
    }
    if stamps < 2 * REGIONS || stores < REGIONS - 1 || waiting > bound {
        let stores = format!("{stores} stores right before one, for {waiting} of which it waits");
        return Err(format!("{name}: {stamps} stamps, {stores}").into());
    }
    Ok(())
}

/// The numbers of so many registers from the one on that an operand begins with.
fn registers(operand: &str, count: u32) -> Vec<u32> {
    let digits = operand.strip_prefix('R').unwrap_or_default();
    let first = digits.split(|digit: char| !digit.is_ascii_digit()).next();
    let first = first.and_then(|first| first.parse::<u32>().ok());
    first.map_or_else(Vec::new, |first| (first..first + count).collect())
}

/// Checks that the cursor stands between buffer and mask in the instruction that makes the address of a
/// record: with the mask there a region takes 3.6 cycles more at 32 warps (docs/how-it-costs.md, "Up to
/// eight warps").
fn cursor_is_in_the_middle(text: &str, scheme: &str) -> Result<(), Failed> {
    let name = kernel_name(scheme, BODIES[0], REGIONS);
    let lines: Vec<Vec<&str>> = code(text, &name)?.lines().map(operands).collect();
    let mut records = 0;
    for (index, line) in lines.iter().enumerate() {
        // The cursor moves on, and stops at this number.
        let ["VIADDMNMX.U32", _, cursor, _, "0xfffffc00", ..] = line[..] else { continue };
        // The address is made next to it, of the same cursor.
        let near = &lines[index.saturating_sub(24)..lines.len().min(index + 24)];
        let mut orders = near.iter().filter_map(|line| match line[..] {
            ["LOP3.LUT", _, first, second, third, "0xf8", ..] => Some([first, second, third]),
            _ => None,
        });
        let Some(order) = orders.find(|order| order.contains(&cursor)) else {
            return Err(format!("{name}: no address is made of the cursor {cursor}").into());
        };
        if order[1] != cursor {
            return Err(
                format!("{name}: the cursor {cursor} is not in the middle: {order:?}").into()
            );
        }
        records += 1;
    }
    if records != REGIONS {
        return Err(format!("{name}: {records} cursors of {REGIONS} records").into());
    }
    Ok(())
}

/// Name and operands of the instruction of a line, without its guard; nothing if it has none.
fn operands(line: &str) -> Vec<&str> {
    let instruction = line.trim_start().strip_prefix("/*").and_then(|line| line.split_once("*/"));
    let words = instruction.map_or("", |(_, rest)| rest).split([' ', ',', ';']);
    words
        .filter(|word| !word.is_empty() && !word.starts_with('@'))
        .map(|word| word.trim_end_matches(".reuse"))
        .collect()
}

/// Checks one kernel.
fn check(text: &str, scheme: &str, body: u32, recorded: u32) -> Result<(), Failed> {
    let name = kernel_name(scheme, body, recorded);
    let all = steps(text, &name)?;
    let fmas: Vec<usize> = (0..all.len()).filter(|&index| all[index] == Step::Fma).collect();
    let expected = (FILLING + REGIONS * body) as usize;
    // An annotated kernel has its loop twice; the one for no session reads no clock.
    let copies: Vec<&[Step]> =
        fmas.chunks(expected).map(|fmas| &all[fmas[0]..=fmas[fmas.len() - 1]]).collect();
    let stamps_of = |copy: &[Step]| copy.iter().filter(|step| **step == Step::Stamp).count();
    let (steps, idle) = match copies.as_slice() {
        [only] if fmas.len() == expected => (*only, 0),
        [first, second] if fmas.len() == 2 * expected => {
            if stamps_of(first) > 0 {
                (*first, stamps_of(second))
            } else {
                (*second, stamps_of(first))
            }
        }
        _ => return Err(format!("{name}: {} FMAs in the loop, not {expected}", fmas.len()).into()),
    };
    if idle > 0 {
        return Err(format!("{name}: {idle} stamps in the loop for no session").into());
    }
    let stamps: Vec<usize> =
        (0..steps.len()).filter(|&index| steps[index] == Step::Stamp).collect();
    let of_region = stamps_of_region(scheme);
    if stamps.len() != of_region * recorded as usize {
        return Err(format!("{name}: {} stamps of {recorded} regions", stamps.len()).into());
    }
    if of_region < 2 {
        return Ok(());
    }
    for (region, stamps) in stamps.chunks_exact(of_region).enumerate() {
        let between: Vec<usize> = stamps
            .windows(2)
            .map(|pair| steps[pair[0]..pair[1]].iter().filter(|step| **step == Step::Fma).count())
            .collect();
        // Its own two are the last.
        let mut expected = vec![0; of_region - 1];
        expected[of_region - 2] = body as usize;
        if between != expected {
            let region = region + 1;
            return Err(format!(
                "{name}: {between:?} FMAs between the stamps of region {region}, not {expected:?}"
            )
            .into());
        }
    }
    Ok(())
}

/// An instruction of the loop, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Fma,
    Stamp,
    Other,
}

/// The instructions of a kernel's timed loop, from its first FMA to its last.
fn steps(text: &str, kernel: &str) -> Result<Vec<Step>, Failed> {
    let steps: Vec<Step> = code(text, kernel)?.lines().filter_map(step).collect();
    // The loop begins with eight FMAs and ends with eight: what stands around it, as the stamps of the
    // whole loop, has none.
    let first = steps.iter().position(|step| *step == Step::Fma);
    let last = steps.iter().rposition(|step| *step == Step::Fma);
    match (first, last) {
        (Some(first), Some(last)) => Ok(steps[first..=last].to_vec()),
        _ => Err(format!("no FMA in {kernel}").into()),
    }
}

/// The lines of a kernel.
fn code<'t>(text: &'t str, kernel: &str) -> Result<&'t str, String> {
    let head = format!(".text.{kernel}:");
    // The module of the common kernels has that of `rewritten` as it was before.
    let found = if kernel.starts_with("rewritten") { text.rfind(&head) } else { text.find(&head) };
    let begin = found.ok_or_else(|| format!("no {kernel} in the disassembly"))?;
    let rest = &text[begin + head.len()..];
    Ok(&rest[..rest.find("\n.text.").unwrap_or(rest.len())])
}

/// The instruction of a line; `None` if it has none.
fn step(line: &str) -> Option<Step> {
    let (_, instruction) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let instruction = instruction.trim();
    let mut words = instruction.split_whitespace();
    let mut operation = words.next()?;
    if operation.starts_with('@') {
        operation = words.next()?;
    }
    Some(if operation.starts_with("FFMA") && instruction.contains(", -2, ") {
        Step::Fma
    } else if instruction.contains("SR_CLOCKLO") || instruction.contains("SR_GLOBALTIMERLO") {
        Step::Stamp
    } else {
        Step::Other
    })
}

/// Assembles the kernels and takes them apart.
fn disassembly() -> Result<String, String> {
    let [ptxas, nvdisasm] = [Tool::Ptxas, Tool::Nvdisasm].map(Tool::find);
    let (ptxas, nvdisasm) = (ptxas?, nvdisasm?);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let [input, cubin] = ["kernels.ptx", "kernels.cubin"].map(|name| folder.path().join(name));
    let mut text = String::new();
    for ptx in [profiler_bench::PTX, profiler_bench::HOSTED_PTX, profiler_bench::rewritten()] {
        let ptx = ptx.ok_or("needs a compiler for nvptx64; `cargo xtask tools` installs one")?;
        std::fs::write(&input, ptx).map_err(|error| error.to_string())?;
        let mut assemble = Command::new(&ptxas);
        run(assemble.args(["--gpu-name", TARGET, "--output-file"]).arg(&cubin).arg(&input))?;
        text += &run(Command::new(&nvdisasm).arg("--print-code").arg(&cubin))?;
    }
    Ok(text)
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn understands() {
    let text = "\
.text.a_n8_e1:
.L_x_0:
        /*0000*/                   CS2R R2, SR_CLOCKLO ;
        /*0010*/                   FFMA R4, R4, -2, R4 ;
        /*0020*/              @!P0 CS2R.32 R5, SR_GLOBALTIMERLO ;
        /*0030*/                   FFMA R4, R4, -2, R4 ;
        /*0040*/                   FFMA R4, R4, R6, R4 ;
        /*0050*/                   FFMA R4, R4, -2, R4 ;
        /*0060*/                   CS2R R6, SR_CLOCKLO ;

.text.other:
        /*0000*/                   FFMA R4, R4, -2, R4 ;
";
    let found = steps(text, "a_n8_e1").expect("understood");
    assert_eq!(found, [Step::Fma, Step::Stamp, Step::Fma, Step::Other, Step::Fma]);
    assert!(steps(text, "b_n8_e1").is_err(), "there is no such kernel");
}
