//! Runs PTX: the inline assembly of a device runtime, in the runtime's CPU twin.
//!
//! A runtime writes its assembly once, for `asm!` and for a [`Program`], so that the twin does what the text
//! says, and not what a second implementation says. Only the instructions have to be trusted, each a line of a
//! table here.
//!
//! ```
//! use profiler_emulator::ptx::Program;
//!
//! let program = Program::new(
//!     &["sum", "parts"],
//!     "{{ .reg .pred %p_any; setp.ne.u32 %p_any, {parts}, 0;\n\
//!      @%p_any add.u32 {sum}, {sum}, {parts}; }}",
//! );
//! // SAFETY: the text touches no memory.
//! let run = |operands| unsafe { program.run(operands, None) };
//! assert_eq!(run([4, 3]), [7, 3]);
//! assert_eq!(run([4, 0]), [4, 0]);
//! ```

use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::kernel;

/// Registers of a program, its operands among them.
const REGISTERS: usize = 24;
/// The value of a register before its first write: no program would take it for a good one.
const UNWRITTEN: u64 = 0xbad0_bad1_bad2_bad3;

/// An operand of an instruction.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Register(usize),
    Immediate(u64),
    Special(Reads),
}

/// A thread that runs a program.
struct Thread {
    registers: [u64; REGISTERS],
    /// The place in the source of an `activemask`.
    asked: Option<&'static Location<'static>>,
    /// The instruction that it runs next.
    next: usize,
}

impl Thread {
    /// 64 bits; of 32-bit registers and predicates the upper ones are zero.
    fn get(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.registers[register],
            Operand::Immediate(value) => value,
            Operand::Special(read) => read(),
        }
    }

    fn low(&self, operand: Operand) -> u32 {
        self.get(operand) as u32
    }

    /// Two 32-bit registers as one.
    fn pair(&self, low: Operand, high: Operand) -> u64 {
        u64::from(self.low(low)) | self.get(high) << 32
    }

    fn float(&self, operand: Operand) -> f32 {
        f32::from_bits(self.low(operand))
    }

    fn holds(&self, predicate: Operand) -> bool {
        self.get(predicate) != 0
    }

    fn put(&mut self, operand: Operand, value: impl Into<u64>) {
        if let Operand::Register(register) = operand {
            self.registers[register] = value.into();
        }
    }

    /// Stores words in order, for threads that watch: the last word comes after the others.
    fn store<const N: usize>(&self, address: Operand, words: [u64; N]) {
        for (address, word) in (self.get(address)..).step_by(8).zip(words) {
            // SAFETY: the contract of `Program::run`: 8 bytes, aligned, that no other thread writes, and
            // that are only read as words of this kind meanwhile.
            unsafe { AtomicU64::from_ptr(address as *mut u64) }.store(word, Ordering::Release);
        }
    }

    /// Adds to a counter; returns its value before.
    fn count(&self, address: Operand, value: Operand) -> u64 {
        // SAFETY: as above, of a counter that only such adds change.
        let counter = unsafe { AtomicU64::from_ptr(self.get(address) as *mut u64) };
        counter.fetch_add(self.get(value), Ordering::Relaxed)
    }

    fn is_greater(&self, a: Operand, b: Operand) -> bool {
        self.float(a) > self.float(b)
    }

    /// The value of one of the lanes that a mask names.
    fn shuffle(&self, value: Operand, lane: Operand, mask: Operand) -> u64 {
        kernel::warp_exchange(self.low(mask), self.get(value))[self.low(lane) as usize % 32]
    }

    fn active_mask(&self) -> u32 {
        kernel::active_mask_in(self.asked.expect("an `activemask` needs a place where it is asked"))
    }

    /// Any function of three bits, by its truth table, row by row.
    fn lop3(&self, operands: [Operand; 3], table: Operand) -> u32 {
        let (bits, table) = (operands.map(|operand| self.low(operand)), self.low(table));
        let row = |row: u32| {
            let bits = bits.iter().zip([4, 2, 1]);
            bits.fold(u32::MAX, |all, (bits, place)| {
                all & if row & place == 0 { !bits } else { *bits }
            })
        };
        (0..8).filter(|at| table >> at & 1 == 1).fold(0, |any, at| any | row(at))
    }

    /// The halves of a 64-bit register.
    fn split(&mut self, [low, high]: [Operand; 2], value: Operand) {
        let value = self.get(value);
        self.put(low, value as u32);
        self.put(high, value >> 32);
    }
}

/// The effect of an instruction on its operands, which come in the order of its text.
type Does = fn(&mut Thread, &[Operand]);

/// The instructions, with `$` for each operand, and their effects. A predicate before an instruction that does
/// not hold skips it.
const INSTRUCTIONS: [(&str, Does); 27] = [
    ("abs.f32 $, $", |t, o| t.put(o[0], t.float(o[1]).abs().to_bits())),
    ("activemask.b32 $", |t, o| t.put(o[0], t.active_mask())),
    ("add.u32 $, $, $", |t, o| t.put(o[0], t.low(o[1]).wrapping_add(t.low(o[2])))),
    ("atom.relaxed.gpu.global.add.u64 $, [$], $", |t, o| t.put(o[0], t.count(o[1], o[2]))),
    // Lanes meet here, and nothing is left for them to wait for.
    ("bar.warp.sync $", |_, _| ()),
    ("bra $", |t, o| t.next = t.low(o[0]) as usize),
    // Stores are in order.
    ("fence.acq_rel.sys", |_, _| ()),
    ("ld.const.u32 $, [$]", |t, o| t.put(o[0], kernel::constant_u32(t.get(o[1]) as usize))),
    ("ld.const.u64 $, [$]", |t, o| t.put(o[0], kernel::constant_u64(t.get(o[1]) as usize))),
    ("lop3.b32 $, $, $, $, $", |t, o| t.put(o[0], t.lop3([o[1], o[2], o[3]], o[4]))),
    ("mad.lo.u32 $, $, $, $", |t, o| {
        t.put(o[0], t.low(o[1]).wrapping_mul(t.low(o[2])).wrapping_add(t.low(o[3])))
    }),
    ("mov.b32 $, $", |t, o| t.put(o[0], t.low(o[1]))),
    ("mov.b64 $, {$, $}", |t, o| t.put(o[0], t.pair(o[1], o[2]))),
    ("mov.b64 {$, $}, $", |t, o| t.split([o[0], o[1]], o[2])),
    ("mov.u32 $, $", |t, o| t.put(o[0], t.low(o[1]))),
    ("mov.u64 $, $", |t, o| t.put(o[0], t.get(o[1]))),
    ("neg.f32 $, $", |t, o| t.put(o[0], (-t.float(o[1])).to_bits())),
    ("setp.leu.f32 $, $, $", |t, o| t.put(o[0], !t.is_greater(o[1], o[2]))),
    ("setp.ne.u32 $, $, $", |t, o| t.put(o[0], t.low(o[1]) != t.low(o[2]))),
    ("shfl.sync.idx.b32 $, $, $, $, $", |t, o| t.put(o[0], t.shuffle(o[1], o[2], o[4]))),
    ("shl.b32 $, $, $", |t, o| t.put(o[0], t.low(o[1]).checked_shl(t.low(o[2])).unwrap_or(0))),
    ("st.global.u64 [$], $", |t, o| t.store(o[0], [t.get(o[1])])),
    ("st.global.v2.u64 [$], {$, $}", |t, o| t.store(o[0], [t.get(o[1]), t.get(o[2])])),
    ("st.global.v4.b32 [$], {$, $, $, $}", |t, o| {
        t.store(o[0], [t.pair(o[1], o[2]), t.pair(o[3], o[4])])
    }),
    ("st.relaxed.sys.global.b64 [$], $", |t, o| t.store(o[0], [t.get(o[1])])),
    ("st.relaxed.sys.global.v2.b64 [$], {$, $}", |t, o| t.store(o[0], [t.get(o[1]), t.get(o[2])])),
    ("sub.u32 $, $, $", |t, o| t.put(o[0], t.low(o[1]).wrapping_sub(t.low(o[2])))),
];

/// Reads a special register.
type Reads = fn() -> u64;

/// The special registers.
const SPECIAL: [(&str, Reads); 19] = [
    ("clock64", kernel::clock64),
    ("ctaid.x", || kernel::block_index()[0].into()),
    ("ctaid.y", || kernel::block_index()[1].into()),
    ("ctaid.z", || kernel::block_index()[2].into()),
    ("globaltimer", kernel::globaltimer),
    ("gridid", kernel::grid_id),
    ("laneid", || kernel::lane_id().into()),
    ("lanemask_lt", || (1 << kernel::lane_id()) - 1),
    ("nctaid.x", || kernel::grid_dim()[0].into()),
    ("nctaid.y", || kernel::grid_dim()[1].into()),
    ("nctaid.z", || kernel::grid_dim()[2].into()),
    ("ntid.x", || kernel::block_dim()[0].into()),
    ("ntid.y", || kernel::block_dim()[1].into()),
    ("ntid.z", || kernel::block_dim()[2].into()),
    ("smid", || kernel::sm_id().into()),
    ("tid.x", || kernel::thread_index()[0].into()),
    ("tid.y", || kernel::thread_index()[1].into()),
    ("tid.z", || kernel::thread_index()[2].into()),
    ("warpid", || kernel::warp_index().into()),
];

/// An instruction with its operands.
#[derive(Clone, Debug)]
struct Instruction {
    /// It is skipped if this does not hold.
    predicate: Option<Operand>,
    does: Does,
    operands: Vec<Operand>,
}

/// A piece of PTX.
#[derive(Clone, Debug)]
pub struct Program {
    instructions: Vec<Instruction>,
    operands: usize,
}

impl Program {
    /// Reads a text as `asm!` takes it: `{name}` is one of `operands`, `{{` and `}}` are braces. Each
    /// register has 64 bits, whatever it is declared as.
    ///
    /// # Panics
    ///
    /// If the text has an unknown instruction or operand. The text is part of a program, so this is a mistake in
    /// its source.
    #[must_use]
    pub fn new(operands: &[&str], text: &str) -> Self {
        let mut reader =
            Reader { registers: operands.to_vec(), labels: HashMap::new(), rest: text };
        let mut instructions = Vec::new();
        while let Some(statement) = reader.statement(instructions.len()) {
            instructions.extend(statement.instruction());
        }
        let count = reader.registers.len();
        assert!(
            count <= REGISTERS,
            "{count} registers, where a program can have {REGISTERS}: {text}"
        );
        Self { instructions, operands: operands.len() }
    }

    /// Runs it as the calling thread of a kernel, and returns its operands. An operand that it only writes may
    /// have any value before. `asked` is the place at which the program asks for the active lanes.
    ///
    /// # Panics
    ///
    /// If the number of operands is wrong, outside a kernel if an instruction needs one, and as the functions of
    /// this crate that instructions call.
    ///
    /// # Safety
    ///
    /// The addresses that it stores to must be those of memory, aligned to what is stored, that no other
    /// thread writes, and that others meanwhile read by aligned words of 8 bytes; where it adds to a counter,
    /// that of an aligned word that only such adds change.
    #[must_use]
    pub unsafe fn run<const N: usize>(
        &self,
        mut operands: [u64; N],
        asked: Option<&'static Location<'static>>,
    ) -> [u64; N] {
        // SAFETY: the caller's.
        unsafe { self.execute(&mut operands, asked) };
        operands
    }

    /// Not generic, so that it is compiled with this package, and as it is.
    ///
    /// # Safety
    ///
    /// As for [`Program::run`].
    unsafe fn execute(&self, values: &mut [u64], asked: Option<&'static Location<'static>>) {
        assert_eq!(values.len(), self.operands, "operands, where the program names others");
        let mut thread = Thread { registers: [UNWRITTEN; REGISTERS], asked, next: 0 };
        thread.registers[..values.len()].copy_from_slice(values);
        while let Some(Instruction { predicate, does, operands }) =
            self.instructions.get(thread.next)
        {
            thread.next += 1;
            if predicate.is_none_or(|predicate| thread.holds(predicate)) {
                does(&mut thread, operands);
            }
        }
        values.copy_from_slice(&thread.registers[..values.len()]);
    }
}

/// A statement with `$` for each operand, and these.
#[derive(Default)]
struct Statement {
    pattern: String,
    operands: Vec<Operand>,
}

impl Statement {
    fn push(&mut self, operand: Operand) {
        self.pattern.push('$');
        self.operands.push(operand);
    }

    /// `None` for a declaration of registers, a pragma, or the end of a scope.
    fn instruction(mut self) -> Option<Instruction> {
        let pattern = self.pattern.trim();
        let pattern = pattern.strip_prefix("{ ").unwrap_or(pattern);
        let is_directive = pattern.starts_with(".reg ") || pattern.starts_with(".pragma ");
        if is_directive || pattern == "}" || pattern.is_empty() {
            return None;
        }
        let find = |pattern| INSTRUCTIONS.iter().find(|(known, _)| *known == pattern);
        let (predicate, known) = match (find(pattern), pattern.strip_prefix("@$ ")) {
            (None, Some(after)) => (Some(self.operands.remove(0)), find(after)),
            (known, _) => (None, known),
        };
        let (_, does) = known.unwrap_or_else(|| panic!("the emulator has no `{pattern}`"));
        Some(Instruction { predicate, does: *does, operands: self.operands })
    }
}

/// Reads statements, and numbers the registers by the order in which they come.
struct Reader<'t> {
    registers: Vec<&'t str>,
    /// The instructions that labels stand before. A branch comes after its label: there is no other loop.
    labels: HashMap<&'t str, usize>,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// The next statement, with what stands after its last one as one; `at` is the number of the
    /// instruction that it will be.
    fn statement(&mut self, at: usize) -> Option<Statement> {
        if self.rest.trim().is_empty() {
            return None;
        }
        let mut statement = Statement::default();
        while let Some(next) = self.rest.chars().next() {
            let begins_operand = statement.pattern.ends_with([' ', '[', '+', '{', '|']);
            let is_name = next.is_ascii_alphabetic() || next == '_';
            if self.takes(";") {
                break;
            } else if self.takes("//") {
                let line = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[line..];
            } else if self.takes("{{") {
                statement.pattern.push('{');
            } else if self.takes("}}") {
                statement.pattern.push('}');
            } else if self.takes("{") {
                let name = self.word();
                let known = self.registers.iter().position(|register| *register == name);
                let register = known.unwrap_or_else(|| panic!("no operand is named `{name}`"));
                assert!(self.takes("}"), "`{name}` is not closed by a brace");
                statement.push(Operand::Register(register));
            } else if next == '%' {
                statement.push(self.percent());
            } else if begins_operand && next.is_ascii_digit() {
                statement.push(Operand::Immediate(immediate(self.word())));
            } else if statement.pattern.ends_with("bra ") && is_name {
                let label = self.word();
                let at = self.labels.get(label);
                let at =
                    at.unwrap_or_else(|| panic!("no label `{label}` stands before its branch"));
                statement.push(Operand::Immediate(*at as u64));
            } else if statement.pattern.trim().is_empty() && self.label(at) {
                statement.pattern.clear();
            } else if statement.pattern.ends_with('[') && is_name {
                // The emulator has one symbol, its constant memory, which begins at 0.
                self.word();
                assert!(self.takes("+"), "an address in constant memory has no offset");
            } else {
                self.rest = &self.rest[next.len_utf8()..];
                let is_space = next.is_whitespace();
                statement.pattern.push(if is_space { ' ' } else { next });
            }
        }
        Some(statement)
    }

    /// Goes on after a text that is next.
    fn takes(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// Goes on after a label, if one is next, which stands before the instruction of a number.
    fn label(&mut self, at: usize) -> bool {
        let from = self.rest;
        let label = self.word();
        let is_label = !label.is_empty() && self.takes(":");
        if is_label {
            self.labels.insert(label, at);
        } else {
            self.rest = from;
        }
        is_label
    }

    /// Goes on after a name or a number.
    fn word(&mut self) -> &'t str {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !is_inside(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// A special register or one of the program's own, which keeps its `%`: operands have none.
    fn percent(&mut self) -> Operand {
        let from = self.rest;
        self.takes("%");
        let name = self.word();
        if let Some((_, read)) = SPECIAL.iter().find(|(known, _)| *known == name) {
            return Operand::Special(*read);
        }
        let name = &from[..1 + name.len()];
        let known = self.registers.iter().position(|register| *register == name);
        Operand::Register(known.unwrap_or_else(|| {
            self.registers.push(name);
            self.registers.len() - 1
        }))
    }
}

/// The bits of a number: `12` or `0xc`.
fn immediate(number: &str) -> u64 {
    let parsed = match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => number.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("`{number}` is no number"))
}
