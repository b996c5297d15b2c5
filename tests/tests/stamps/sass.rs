//! Machine code as nvdisasm prints it with `-c -hex`.

use std::collections::{BTreeMap, BTreeSet};

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// Its offset in the kernel, in bytes.
    pub(crate) offset: u64,
    /// The predicate that guards it, such as `!P0`.
    pub(crate) guard: Option<String>,
    /// Its name with all suffixes, such as `LDG.E.64`.
    pub(crate) opcode: String,
    /// Its operands, as printed.
    pub(crate) operands: Vec<String>,
    /// The scoreboards that it waits for before it is issued, a bit for each.
    pub(crate) waits: u8,
    /// The scoreboard that is released when its result is there.
    pub(crate) releases: Option<u8>,
}

/// A kernel's instructions in the order of their addresses, and where its labels stand in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    pub(crate) code: Vec<Instruction>,
    labels: BTreeMap<String, usize>,
}

/// Kernels by name.
pub(crate) type Kernels = BTreeMap<String, Kernel>;

/// Reads the printed code of a module.
pub(crate) fn parse(text: &str) -> Result<Kernels, String> {
    let mut kernels = Kernels::new();
    let mut current: Option<&mut Kernel> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
            current = Some(kernels.entry(name.to_owned()).or_default());
        } else if let (Some(label), Some(kernel)) = (line.strip_suffix(':'), &mut current) {
            kernel.labels.insert(label.to_owned(), kernel.code.len());
        } else if let (Some((offset, rest)), Some(kernel)) = (comment(line), &mut current) {
            let encoding = lines.next().and_then(comment).and_then(|(word, _)| hexadecimal(word));
            let instruction = encoding.and_then(|upper| instruction(offset, rest, upper));
            kernel.code.push(instruction.ok_or_else(|| format!("cannot read `{line}`"))?);
        }
    }
    Ok(kernels)
}

/// What a line's first comment says, and what follows it.
fn comment(line: &str) -> Option<(&str, &str)> {
    line.trim_start().strip_prefix("/*")?.split_once("*/")
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.trim().trim_start_matches("0x"), 16).ok()
}

/// Reads `@P0 OPCODE OPERANDS ; /* lower half of the encoding */`.
///
/// The upper half holds from bit 41 on how many cycles to stall (4 bits), a hint (1), the scoreboards
/// that are released by the result and by the operands (3 each, 7 for none), and those that are
/// waited for (6). NVIDIA does not document it; Jia et al., "Dissecting the NVIDIA Volta GPU
/// Architecture via Microbenchmarking" (2018), section 2.1, does, and later architectures kept it.
fn instruction(offset: &str, text: &str, upper: u64) -> Option<Instruction> {
    let mut text = text.split_once(';')?.0.trim();
    let mut guard = None;
    if let Some(guarded) = text.strip_prefix('@') {
        let (predicate, rest) = guarded.split_once(' ')?;
        (guard, text) = (Some(predicate.to_owned()), rest.trim_start());
    }
    let (opcode, operands) = text.split_once(' ').unwrap_or((text, ""));
    let control = upper >> 41;
    let releases = (control >> 5 & 7) as u8;
    Some(Instruction {
        offset: hexadecimal(offset)?,
        guard,
        opcode: opcode.to_owned(),
        operands: operands.split(',').map(|operand| operand.trim().to_owned()).collect(),
        waits: (control >> 11 & 63) as u8,
        releases: (releases < 6).then_some(releases),
    })
}

impl Instruction {
    /// Whether the name is `family`, or that and suffixes.
    pub(crate) fn is(&self, family: &str) -> bool {
        self.opcode
            .strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Whether it reads the special register.
    pub(crate) fn reads_special(&self, register: &str) -> bool {
        self.operands.iter().any(|operand| operand == register)
    }

    pub(crate) fn waits_for(&self, scoreboard: u8) -> bool {
        self.waits >> scoreboard & 1 == 1
    }

    /// Whether it gives a predicate.
    pub(crate) fn writes_predicate(&self) -> bool {
        let is_predicate = |operand: &String| operand.starts_with('P') && operand != "PT";
        self.opcode.contains("SETP") || self.operands.first().is_some_and(is_predicate)
    }

    /// Which operand is the result: the first, but for what gives a predicate before it, such as
    /// `ATOM PT, R4, ..`.
    fn result(&self) -> usize {
        let gives_both = ["ATOM", "SHFL"].iter().any(|family| self.opcode.starts_with(family));
        usize::from(gives_both && self.operands.first().is_some_and(|first| first.starts_with('P')))
    }

    /// The registers that it writes: the result and, of wide results, those after it.
    pub(crate) fn written(&self) -> BTreeSet<u32> {
        let has = |suffix: &str| self.opcode.split('.').any(|part| part == suffix);
        let count = if has("128") || has("4") || self.is("HMMA") || self.is("HGMMA") {
            4
        } else if has("64") || has("WIDE") || has("DADD") || has("DMUL") || has("DFMA") {
            2
        } else {
            1
        };
        let stores = ["ST", "RED", "BRA", "BAR", "CALL", "WARPSYNC"];
        let first =
            self.operands.get(self.result()).map(|operand| registers(operand)).unwrap_or_default();
        let writes = !stores.iter().any(|family| self.opcode.starts_with(family));
        first.into_iter().filter(|_| writes).flat_map(|first| first..first + count).collect()
    }

    /// The registers that it reads, as far as they are named: of a wide operand the first.
    pub(crate) fn read(&self) -> BTreeSet<u32> {
        let sources = if self.written().is_empty() { 0 } else { self.result() + 1 };
        self.operands.iter().skip(sources).flat_map(|operand| registers(operand)).collect()
    }
}

/// The numbers of the general registers in an operand such as `[R4.64+0x10]` or `|R12|`.
fn registers(operand: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for (at, _) in operand.match_indices('R') {
        let before = operand[..at].chars().next_back();
        let digits: String = operand[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        if before.is_none_or(|before| !before.is_alphanumeric() && before != '_') {
            found.extend(digits.parse::<u32>());
        }
    }
    found
}

impl Kernel {
    /// Where the instructions stand that are of one of the families.
    pub(crate) fn of(&self, families: &[&str]) -> Vec<usize> {
        let is_one = |at: &usize| families.iter().any(|family| self.code[*at].is(family));
        (0..self.code.len()).filter(is_one).collect()
    }

    /// Where a branch goes.
    pub(crate) fn target(&self, at: usize) -> Option<usize> {
        let operand = self.code[at].operands.last()?;
        let label = operand.strip_prefix("`(")?.strip_suffix(')')?;
        self.labels.get(label).copied()
    }

    /// Where execution may go on after an instruction.
    fn successors(&self, at: usize) -> Vec<usize> {
        let instruction = &self.code[at];
        let ends = ["EXIT", "RET"].iter().any(|family| instruction.is(family))
            || instruction.is("BRA") && instruction.operands.len() == 1;
        let goes_on = instruction.guard.is_some() || !ends;
        let jumps = ["BRA", "CALL", "BSSY"].iter().any(|family| instruction.is(family));
        let target = if jumps { self.target(at) } else { None };
        let next = Some(at + 1).filter(|next| goes_on && *next < self.code.len());
        target.into_iter().chain(next).collect()
    }

    /// The two copies of a body: the instructions that are executed before or after one of `stamps`, and
    /// those that are executed in a run without. What is never executed is in neither.
    pub(crate) fn copies(&self, stamps: &[usize]) -> [Self; 2] {
        let next: Vec<Vec<usize>> = (0..self.code.len()).map(|at| self.successors(at)).collect();
        let mut previous = vec![Vec::new(); self.code.len()];
        for (at, next) in next.iter().enumerate() {
            next.iter().for_each(|next| previous[*next].push(at));
        }
        let (after, before) = (reached(&next, stamps), reached(&previous, stamps));
        let executed = reached(&next, &[0]);
        let records = |at: usize| after[at] || before[at];
        [true, false].map(|recording| self.only(|at| executed[at] && records(at) == recording))
    }

    /// The kernel with a part of its instructions. A label goes to the first of them after it.
    fn only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.code.len()).filter(|at| is_kept(*at)).collect();
        let code = kept.iter().map(|at| self.code[*at].clone()).collect();
        let moved = |at: &usize| kept.partition_point(|kept| kept < at);
        let labels = self.labels.iter().map(|(label, at)| (label.clone(), moved(at))).collect();
        Self { code, labels }
    }

    /// The instructions of a range that the instruction `at` after them depends on, through
    /// registers.
    pub(crate) fn sources(&self, range: std::ops::Range<usize>, at: usize) -> BTreeSet<usize> {
        let mut wanted = self.code[at].read();
        let mut found = BTreeSet::new();
        for earlier in range.rev().filter(|earlier| *earlier < at) {
            let instruction = &self.code[earlier];
            let written = instruction.written();
            if !written.is_disjoint(&wanted) {
                // Under a guard the register may keep what it held.
                if instruction.guard.is_none() {
                    wanted.retain(|register| !written.contains(register));
                }
                wanted.extend(instruction.read());
                found.insert(earlier);
            }
        }
        found
    }

    /// A range as text, for the message of a failed check.
    pub(crate) fn listing(&self, range: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        for instruction in &self.code[range.start..range.end.min(self.code.len())] {
            let Instruction { offset, guard, opcode, operands, waits, releases } = instruction;
            let guard = guard.as_ref().map(|guard| format!("@{guard} ")).unwrap_or_default();
            let releases = releases.map_or(String::from("-"), |scoreboard| scoreboard.to_string());
            text += &format!(
                "  {offset:04x} waits {waits:06b} releases {releases} {guard}{opcode} {}\n",
                operands.join(", ")
            );
        }
        text
    }
}

/// What is reached from some instructions, these included, by steps from one to others.
fn reached(steps: &[Vec<usize>], from: &[usize]) -> Vec<bool> {
    let mut reached = vec![false; steps.len()];
    let mut open = from.to_vec();
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            open.extend(&steps[at]);
        }
    }
    reached
}

/// Checks the reading itself on what nvdisasm printed.
pub(crate) fn understands() -> Result<(), String> {
    let text = "\
.text.kernel:
        /*0000*/                   LDG.E.64 R6, desc[UR8][R2.64+0x10] ;      /* 0x0000100802067981 */
                                                                             /* 0x000ea8000c1e1b00 */
.L_x_1:
        /*0010*/              @!P1 BRA `(.L_x_1) ;                           /* 0xfffffffc00f89947 */
                                                                             /* 0x004fea000383ffff */
";
    let kernels = parse(text)?;
    let kernel = kernels.get("kernel").ok_or("no kernel")?;
    let [load, branch] = &kernel.code[..] else { return Err(format!("{kernel:?}")) };
    let atomic = Instruction {
        opcode: "ATOM.E.ADD.STRONG.GPU".to_owned(),
        operands: ["PT", "R17", "desc[UR14][R4.64]", "R11"].map(str::to_owned).to_vec(),
        ..load.clone()
    };
    if (atomic.written(), atomic.read()) != (BTreeSet::from([17]), BTreeSet::from([4, 11])) {
        return Err(format!("{atomic:?}"));
    }
    let expected = (BTreeSet::from([6, 7]), BTreeSet::from([2]), Some(2), 0);
    if (load.written(), load.read(), load.releases, load.waits) != expected
        || (branch.guard.as_deref(), branch.waits, kernel.target(1)) != (Some("!P1"), 4, Some(1))
        || parse(&text.replace(" ;", "")).is_ok()
    {
        return Err(format!("{kernel:?}"));
    }
    understands_copies()
}

/// Checks that the copies of a body are told apart, wherever they stand.
fn understands_copies() -> Result<(), String> {
    // What stands at an odd offset is of the copy that records; the last is never executed.
    let lines = [
        "/*0*/ @P0 BRA `(.L_records)",
        "/*2*/ LDG.E R4, desc[UR8][R2.64]",
        "/*4*/ BRA `(.L_plain)",
        ".L_records:",
        "/*1*/ LDG.E R4, desc[UR8][R2.64]",
        "/*3*/ CS2R R6, SR_CLOCKLO",
        "/*5*/ @P1 BRA P2, `(.L_records)",
        "/*7*/ @P3 EXIT",
        "/*9*/ BRA `(.L_far)",
        ".L_plain:",
        "/*6*/ EXIT",
        ".L_far:",
        "/*b*/ EXIT",
        "/*c*/ NOP",
    ];
    let print = |line: &&str| match line.strip_prefix("/*") {
        Some(_) => format!("{line} ; /* 0x0 */\n /* 0x0 */\n"),
        None => format!("{line}\n"),
    };
    let text = format!(".text.kernel:\n{}", lines.iter().map(print).collect::<String>());
    let kernels = parse(&text)?;
    let kernel = kernels.get("kernel").ok_or("no kernel")?;
    let stamps: Vec<usize> =
        (0..kernel.code.len()).filter(|at| kernel.code[*at].reads_special("SR_CLOCKLO")).collect();
    let copies = kernel.copies(&stamps);
    let offsets = |copy: &Kernel| copy.code.iter().map(|one| one.offset).collect::<Vec<_>>();
    let [recording, plain] = &copies;
    // The choice is of the copy that records.
    if offsets(recording) != [0, 1, 3, 5, 7, 9, 0xb] || offsets(plain) != [2, 4, 6] {
        return Err(format!("{copies:?}"));
    }
    match (recording.target(0), plain.target(1), recording.target(5)) {
        (Some(1), Some(2), Some(6)) => Ok(()),
        targets => Err(format!("{targets:?}")),
    }
}
