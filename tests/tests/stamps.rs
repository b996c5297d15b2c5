//! Where a region's work lies in the machine code: between its two clock reads, whose second waits
//! for the work's result where `wait` asks for it and does not where it is not given. What stands
//! outside of the region is as it is without the annotation.
//!
//! Each kernel is there in two forms: its body once (`single_body`), and as by default twice, of which
//! one copy records and the other does what the kernel does without annotations.
//!
//! A clock is read when the instruction is issued, and a warp's instructions are issued in order.
//! So the end stamp is after the completion of a load if an instruction in front of it waits for
//! the load's scoreboard; which ones do is in their encoding.
//!
//! Where ptxas or nvdisasm is missing, every test is listed as ignored; with
//! `PROFILER_REQUIRE_TOOLS=1` that is a failure.

#[path = "stamps/cases.rs"]
mod cases;
#[path = "stamps/count.rs"]
mod count;
#[path = "stamps/sass.rs"]
mod sass;
#[path = "stamps/tools.rs"]
mod tools;

use std::collections::BTreeSet;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::{Arc, LazyLock};

use cases::{Case, End, MODULES, Module};
use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::{Missing, announce, are_required, is_target_wanted};
use profiler_wire::symbol;
use sass::{Instruction, Kernel, Kernels};
use tools::Tools;

const WATCHED: &str = include_str!(concat!(env!("OUT_DIR"), "/watched.ptx"));

/// What PTX for sm_80 is assembled for.
const TARGETS: [&str; 4] = ["sm_80", "sm_90", "sm_100", "sm_120"];

/// By which a session reads clocks beside the user's kernels.
const CLOCK_KEEPER: &str = include_str!("../../profiler-host/src/gpu/clock_keeper.ptx");

const CYCLES: &str = "SR_CLOCKLO";
const NANOSECONDS: &str = "SR_GLOBALTIMERLO";

/// Instructions that move data; stores are not among them, since records are stores.
const MEMORY: [&str; 8] = ["LDG", "LDS", "STS", "LDGSTS", "LDSM", "UBLKCP", "UTMALDG", "SYNCS"];
/// Instructions that a kernel is run for, besides. (Its stores are narrower than a record's.)
const EFFECTS: [&str; 7] = ["STG", "ATOM", "ATOMG", "ATOMS", "RED", "HMMA", "HGMMA"];
/// Instructions that hold a warp up.
const BARRIERS: [&str; 6] = ["BAR", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "WARPGROUP"];
/// Instructions that all lanes execute together.
const ALIGNED: [&str; 6] = ["BAR", "LDSM", "HMMA", "HGMMA", "SHFL", "WARPGROUP"];
/// How many instructions lie between the two clocks of an anchor at most.
const ANCHOR: usize = 4;

/// A module's kernels for one target, annotated and not.
type Both = Result<(Kernels, Kernels), String>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let has_ptx = MODULES.iter().all(|module| !module.on.is_empty() && !module.off.is_empty());
    let tools = Tools::find().and_then(|tools| {
        let help = "needs a compiler for nvptx64; `cargo xtask tools` installs one";
        if has_ptx { Ok(tools) } else { Err(Missing::new(help)) }
    });
    if let Err(missing) = &tools {
        announce("tests with nvdisasm", missing);
    }
    let is_ignored = tools.is_err() && !are_required();
    let tools = tools.map_err(String::from);
    let mut trials = vec![Trial::test("the_output_of_nvdisasm_is_understood", || {
        sass::understands().map_err(Failed::from)
    })];
    for target in TARGETS.into_iter().filter(|target| is_target_wanted(target)) {
        let tools = tools.clone();
        let name = format!("{target}::a_unit_for_the_host_is_stored_as_one_scalar");
        let trial = Trial::test(name, move || one_scalar(&tools?, target).map_err(Failed::from));
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for target in TARGETS.into_iter().filter(|target| is_target_wanted(target)) {
        let tools = tools.clone();
        let name = format!("{target}::the_record_of_a_begin_lies_ahead_of_its_region");
        let trial = Trial::test(name, move || begins_ahead(&tools?, target).map_err(Failed::from));
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for target in TARGETS.into_iter().filter(|target| is_target_wanted(target)) {
        let tools = tools.clone();
        let name = format!("{target}::kept_clocks_are_read_at_one_moment");
        let trial = Trial::test(name, move || one_moment(&tools?, target).map_err(Failed::from));
        trials.push(trial.with_ignored_flag(is_ignored));
    }
    for module in &MODULES {
        for &target in module.targets.iter().filter(|target| is_target_wanted(target)) {
            let tools = tools.clone();
            // Assembled by the first of the tests that need it.
            let both = Arc::new(LazyLock::new(move || assemble(tools, module, target)));
            let copies = if module.is_twice { "twice::" } else { "" };
            if module.has_loop {
                let both = Arc::clone(&both);
                let name = format!("{target}::{copies}a_record_is_few_instructions");
                let trial = Trial::test(name, move || {
                    let (on, off) = (**both).as_ref().map_err(Clone::clone)?;
                    count::check(target, module.is_twice, on, off).map_err(Failed::from)
                });
                trials.push(trial.with_ignored_flag(is_ignored));
            }
            for case in module.cases {
                let both = Arc::clone(&both);
                let name = format!("{target}::{copies}{}", case.name());
                let trial = Trial::test(name, move || {
                    let (on, off) = (**both).as_ref().map_err(Clone::clone)?;
                    let (on, off) = (kernel(on, case)?, kernel(off, case)?);
                    let checked = if module.is_twice {
                        check_copies(case, on, off)
                    } else {
                        check(case, on, off)
                    };
                    checked.map_err(Failed::from)
                });
                trials.push(trial.with_ignored_flag(is_ignored));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Checks that the kernel that keeps clocks reads the timer between two reads of the cycles and nothing else
/// there, and stores what it read as a whole.
fn one_moment(tools: &Tools, target: &str) -> Result<(), String> {
    let kernels = tools.disassemble(CLOCK_KEEPER, target)?;
    let kernel = kernels.get(symbol::CLOCK_KEEPER).ok_or("the kernel is not there")?;
    let is_clock = |instruction: &Instruction| {
        let read = |clock: &&str| instruction.operands.iter().any(|operand| operand == clock);
        [CYCLES, NANOSECONDS].iter().find(|clock| read(clock)).copied()
    };
    let clocks: Vec<_> = kernel.code.iter().map(is_clock).collect();
    let reads = clocks.windows(3).filter(|three| *three == [CYCLES, NANOSECONDS, CYCLES].map(Some));
    let cycles = clocks.iter().filter(|clock| **clock == Some(CYCLES)).count();
    if (reads.count(), cycles) != (1, 2) {
        return Err(format!("clocks are read otherwise: {:?}", kernel.code));
    }
    let stores = kernel.code.iter().filter(|instruction| instruction.is("STG"));
    let stores: Vec<&str> = stores.map(|store| store.opcode.as_str()).collect();
    if stores != ["STG.E.64.STRONG.SYS", "STG.E.128.STRONG.SYS"] {
        return Err(format!("readings are stored by {stores:?}"));
    }
    Ok(())
}

/// Checks that ptxas makes the same instruction of the store of a unit that the host may read meanwhile
/// and of the store of one scalar, which arrives as a whole; and that kernels with `buffer = host` store
/// their units by it.
fn one_scalar(tools: &Tools, target: &str) -> Result<(), String> {
    let ptx = format!(
        ".version 8.7\n.target {target}\n.address_size 64\n\
         .visible .entry both(.param .u64 p) {{\n.reg .b64 a, b, c; .reg .b128 q;\n\
         ld.param.u64 a, [p]; cvta.to.global.u64 a, a; mov.u64 b, %clock64; mov.u64 c, %clock64;\n\
         st.relaxed.sys.global.v2.b64 [a], {{b, c}};\n\
         mov.b128 q, {{b, c}};\n\
         st.relaxed.sys.global.b128 [a+16], q;\n\
         ret;\n}}\n"
    );
    let stores = |kernels: Kernels, name: &str| {
        let kernel = kernels.get(name).ok_or_else(|| format!("no kernel {name}"))?;
        let stores = kernel.code.iter().filter(|instruction| instruction.is("STG"));
        Ok::<_, String>(stores.map(|store| store.opcode.clone()).collect::<Vec<_>>())
    };
    let both = stores(tools.disassemble(&ptx, target)?, "both")?;
    if both.len() != 2 || both[0] != both[1] {
        return Err(format!(
            "a vector of two words and a scalar of 16 bytes are stored by {both:?}"
        ));
    }
    let of_kernel = stores(tools.disassemble(WATCHED, target)?, "waits")?;
    // Counts and the header's marks are words.
    let word = both[0].replace("128", "64");
    let is_whole = |store: &String| *store == both[0] || *store == word;
    if !of_kernel.contains(&both[0]) || !of_kernel.iter().all(is_whole) {
        return Err(format!(
            "a kernel with buffer = host stores by {of_kernel:?}, not {} and {word}",
            both[0]
        ));
    }
    Ok(())
}

/// Checks that with `buffer = host` the clock is read again after the store that says that a region begins:
/// no region holds what that takes. In kernel `waits` a region has a mark in it, and two follow it.
fn begins_ahead(tools: &Tools, target: &str) -> Result<(), String> {
    const ENTRY: &str = "r";
    const BEGIN: &str = "rsr";
    const MARK_OR_END: &str = "rs";
    const EXIT: &str = "r";
    let kernels = tools.disassemble(WATCHED, target)?;
    let kernel = kernels.get("waits").ok_or("no kernel waits")?;
    // Readings of the timer, and stores of records, which alone are predicated.
    let seen: String = kernel
        .code
        .iter()
        .filter_map(|instruction| match instruction {
            _ if instruction.reads_special(NANOSECONDS) => Some('r'),
            Instruction { guard: Some(_), .. }
                if instruction.is("STG") && instruction.opcode.contains("128") =>
            {
                Some('s')
            }
            _ => None,
        })
        .collect();
    let region = [BEGIN, MARK_OR_END].concat();
    let with_mark = [BEGIN, MARK_OR_END, MARK_OR_END].concat();
    let expected = [ENTRY, &with_mark, &region, &region, EXIT].concat();
    // The copy that does not record, and other kernels, have neither.
    if seen == expected { Ok(()) } else { Err(format!("{seen}, not {expected}")) }
}

fn assemble(tools: Result<Tools, String>, module: &Module, target: &str) -> Both {
    let tools = tools?;
    // At once, as the tests of a module all wait for this.
    std::thread::scope(|scope| {
        let on = scope.spawn(|| tools.disassemble(module.on, target));
        let off = tools.disassemble(module.off, target)?;
        Ok((on.join().map_err(|_| "its thread panicked")??, off))
    })
}

fn kernel<'a>(kernels: &'a Kernels, case: &Case) -> Result<&'a Kernel, String> {
    kernels.get(case.kernel).ok_or_else(|| format!("no kernel {}", case.kernel))
}

/// A region: its begin stamp, and the first and the last clock read of its end stamp.
#[derive(Clone, Copy)]
struct Region {
    begin: usize,
    end: usize,
    last: usize,
}

impl Region {
    fn inside(self) -> Range<usize> {
        self.begin + 1..self.end
    }
}

/// Checks a kernel whose body is there twice: the region of the copy that records, and that the other
/// copy does what the kernel does without annotations.
fn check_copies(case: &Case, on: &Kernel, off: &Kernel) -> Result<(), String> {
    let stamps = [reads(on, CYCLES), reads(on, NANOSECONDS)].concat();
    let [recording, plain] = on.copies(&stamps);
    let [_, off_executed] = off.copies(&[]);
    for families in [&MEMORY[..], &BARRIERS[..], case.work] {
        let names = |kernel: &Kernel| {
            let mut names = opcodes(kernel, 0..kernel.code.len(), families);
            names.sort_unstable();
            if case.is_loop {
                names.dedup();
            }
            names
        };
        let (copied, alone) = (names(&plain), names(&off_executed));
        if copied != alone {
            return Err(format!(
                "the copy that does not record has {copied:?}, the kernel without annotations {alone:?}"
            ));
        }
    }
    check(case, &recording, off)
}

fn check(case: &Case, on: &Kernel, off: &Kernel) -> Result<(), String> {
    let region = region(case, on)?;
    let fails = |what: String| {
        let listing = on.listing(region.begin.saturating_sub(8)..region.last + 12);
        format!("{what}; the region at {:04x}:\n{listing}", on.code[region.begin].offset)
    };
    let work = work(case, on, off, region).map_err(fails)?;
    match case.end {
        End::Any => {}
        End::Issued => is_issued(on, region, &work).map_err(fails)?,
        End::Complete => is_complete(on, region, &work).map_err(fails)?,
        End::Barrier => {
            if !follows(on, &work, region, |later| later.is("NOP")) {
                return Err(fails("nothing completes the barrier".to_owned()));
            }
        }
        End::Branch => {
            if !follows(on, &work, region, |later| later.is("BRA") && later.guard.is_some()) {
                return Err(fails("no branch in front of the end stamp".to_owned()));
            }
        }
    }
    for family in case.before {
        if on.of(&[family]).iter().all(|at| *at > region.begin) {
            return Err(fails(format!("{family} is not before the region")));
        }
        if on.of(&[family]).iter().any(|at| region.inside().contains(at)) {
            return Err(fails(format!("{family} is in the region")));
        }
    }
    outside(case, on, off, region).map_err(fails)
}

/// Finds the case's region by its clock reads. The readings of both clocks on entry to and exit from
/// the kernel are none of a region's.
fn region(case: &Case, kernel: &Kernel) -> Result<Region, String> {
    let (own, other) = if case.nanoseconds { (NANOSECONDS, CYCLES) } else { (CYCLES, NANOSECONDS) };
    let anchors = reads(kernel, other);
    let is_anchor = |read: usize| anchors.iter().any(|anchor| anchor.abs_diff(read) <= ANCHOR);
    let mut stamps = reads(kernel, own);
    stamps.retain(|read| !is_anchor(*read));
    let ends = match (case.regions, case.end, stamps.len()) {
        // The stamp that waits may be two reads, each for one value of a predicate.
        (1, End::Complete, 2 | 3) => 1..stamps.len(),
        (regions, _, count) if count == 2 * regions => 2 * case.region + 1..2 * case.region + 2,
        (regions, _, count) => {
            return Err(format!("{count} clock reads for {regions} regions of {}", case.kernel));
        }
    };
    let (begin, end) = (stamps[2 * case.region], stamps[ends.start]);
    Ok(Region { begin, end, last: stamps[ends.end - 1] })
}

fn reads(kernel: &Kernel, register: &str) -> Vec<usize> {
    (0..kernel.code.len()).filter(|at| kernel.code[*at].reads_special(register)).collect()
}

/// The instructions of the region's work. All of it, as much as there is without the annotation, must
/// be in the region; a loop may be unrolled differently, but must be in it too.
fn work(case: &Case, on: &Kernel, off: &Kernel, region: Region) -> Result<Vec<usize>, String> {
    let mut work = Vec::new();
    for family in case.work {
        let all = on.of(&[family]);
        let (inside, outside): (Vec<usize>, Vec<usize>) =
            all.into_iter().partition(|at| region.inside().contains(at));
        let out_of_line = outside.iter().filter(|at| returns_into(on, **at, region)).count();
        let expected = if case.is_loop {
            inside.len() + outside.len()
        } else {
            off.of(&[family]).len() - case.work_outside
        };
        if inside.is_empty() || inside.len() + out_of_line != expected {
            let found = inside.len() + out_of_line;
            return Err(format!("{found} of {expected} {family} are in the region"));
        }
        work.extend(inside);
    }
    work.sort_unstable();
    Ok(work)
}

/// Whether there is such an instruction between the last of the work and the end stamp.
fn follows(
    kernel: &Kernel,
    work: &[usize],
    region: Region,
    is_one: impl Fn(&Instruction) -> bool,
) -> bool {
    let last = work.last().copied().unwrap_or(region.begin);
    kernel.code[last..region.end].iter().any(is_one)
}

/// Whether an instruction stands in a part after the kernel's exit that goes back into the region:
/// ptxas puts there what it expects to be rarely executed.
fn returns_into(kernel: &Kernel, at: usize, region: Region) -> bool {
    let back = (at..kernel.code.len())
        .find(|at| kernel.code[*at].is("BRA") && kernel.code[*at].guard.is_none());
    let target = back.and_then(|back| kernel.target(back));
    at > region.last
        && target.is_some_and(|target| (region.begin + 1..=region.end).contains(&target))
}

/// Nothing up to the end stamp waits for the work's results, and nothing reads them.
fn is_issued(kernel: &Kernel, region: Region, work: &[usize]) -> Result<(), String> {
    for &at in work {
        let own = &kernel.code[at];
        for later in &kernel.code[at + 1..=region.last] {
            let waits = own.releases.is_some_and(|scoreboard| later.waits_for(scoreboard));
            if waits || !later.read().is_disjoint(&own.written()) {
                return Err(format!("{} waits for {}", later.opcode, own.opcode));
            }
        }
    }
    Ok(())
}

/// A predicate is made in front of the end stamp from all that the work gives, and what has a
/// scoreboard is waited for.
fn is_complete(kernel: &Kernel, region: Region, work: &[usize]) -> Result<(), String> {
    let predicates = region.inside().filter(|at| kernel.code[*at].writes_predicate());
    let needed: BTreeSet<usize> =
        predicates.flat_map(|at| kernel.sources(region.inside(), at)).collect();
    for &at in work {
        let own = &kernel.code[at];
        if !needed.contains(&at) {
            return Err(format!("the end stamp is not after a use of what {} gives", own.opcode));
        }
        let mut rest = kernel.code[at + 1..=region.end].iter();
        if own.releases.is_some_and(|scoreboard| !rest.any(|later| later.waits_for(scoreboard))) {
            return Err(format!("nothing in front of the end stamp waits for {}", own.opcode));
        }
    }
    Ok(())
}

/// Outside of the stamps the same memory is accessed in the same order as without the annotation, the same
/// products and atomics are there, and a warp is held up no more often.
fn outside(case: &Case, on: &Kernel, off: &Kernel, region: Region) -> Result<(), String> {
    if case.nanoseconds {
        // Anchors cannot be told from stamps here; the other kernels show it.
        return Ok(());
    }
    let anchors = reads(on, NANOSECONDS);
    let entered = anchors.iter().rfind(|at| **at < region.begin).map_or(0, |at| *at);
    let left = anchors.iter().find(|at| **at > region.last).map_or(on.code.len(), |at| *at);
    let exit = (0..off.code.len()).find(|at| off.code[*at].is("EXIT")).unwrap_or(off.code.len());
    for families in [&MEMORY[..], &EFFECTS[..], &BARRIERS[..]] {
        let of_kernel = |kernel, range| {
            let mut opcodes = opcodes(kernel, range, families);
            opcodes.retain(|opcode| !opcode.starts_with("STG.E.128"));
            opcodes
        };
        let (annotated, plain) = (of_kernel(on, entered..left), of_kernel(off, 0..exit));
        let differs = if case.is_loop {
            let set = |names: Vec<String>| BTreeSet::from_iter(names);
            set(annotated.clone()) != set(plain.clone())
        } else {
            annotated != plain
        };
        if differs {
            return Err(format!("annotated {annotated:?}, without {plain:?}"));
        }
    }
    // Where lanes may have diverged, ptxas lets them come together before an instruction that needs
    // all of them. Entry to an annotated kernel ends in a meeting of its own, before anything of the
    // kernel's; nothing else may ask for one.
    let aligned = on.of(&ALIGNED);
    let mut syncs = on.of(&["WARPSYNC"]);
    syncs.retain(|at| (entered..left).contains(at));
    let needless = (0..syncs.len()).filter(|&index| {
        let next = syncs.get(index + 1).map_or(left, |next| *next);
        !aligned.iter().any(|at| (syncs[index]..next).contains(at))
    });
    match needless.map(|index| syncs[index]).collect::<Vec<_>>()[..] {
        [] => {}
        [entry] if entry < region.begin && opcodes(on, entered..entry, &MEMORY).is_empty() => {}
        _ => return Err(String::from("a WARPSYNC that no instruction needs")),
    }
    is_batched(case, on, entered..region.begin)?;
    is_batched(case, on, region.last + 1..left)
}

/// The opcodes of the families in a range, in the order of their addresses.
fn opcodes(kernel: &Kernel, range: Range<usize>, families: &[&str]) -> Vec<String> {
    let found = kernel.of(families).into_iter().filter(|at| range.contains(at));
    // On some targets ptxas puts instructions that are never executed before a copy.
    let executed = found.filter(|at| kernel.code[*at].guard.as_deref() != Some("!PT"));
    executed.map(|at| kernel.code[at].opcode.clone()).collect()
}

/// All of a side's loads are issued before the first of them is waited for.
fn is_batched(case: &Case, kernel: &Kernel, side: Range<usize>) -> Result<(), String> {
    if !case.batched {
        return Ok(());
    }
    let mut loads = kernel.of(&["LDG"]);
    loads.retain(|at| side.contains(at));
    let (Some(&first), Some(&last), 4) = (loads.first(), loads.last(), loads.len()) else {
        return Err(format!("{} loads on one side", loads.len()));
    };
    let own = loads.iter().filter_map(|at| kernel.code[*at].releases);
    let scoreboards: BTreeSet<u8> = own.collect();
    match kernel.code[first..=last]
        .iter()
        .find(|one| scoreboards.iter().any(|scoreboard| one.waits_for(*scoreboard)))
    {
        Some(waits) => Err(format!("{} waits between the loads", waits.opcode)),
        None => Ok(()),
    }
}
