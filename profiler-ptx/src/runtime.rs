//! The instructions that are put into kernels: entry, record and exit as profiler-device has them.
//!
//! `runtime.ptx` is profiler-device's `template.rs`, compiled; `cargo xtask calibration-ptx` writes it. Each piece
//! stands in braces of its own, so that its registers and labels are its own as well.
#![cfg(feature = "rewrite")]

use std::fmt::Write as _;

#[cfg(test)]
use profiler_wire::RecordKind;

use crate::syntax::{Module, TokenKind, Tokens};

const RUNTIME: &str = include_str!("runtime.ptx");
/// What `template.rs` writes for the number of a site.
const SITE: &str = "723408365";

/// The registers that hold a thread's recorder from the kernel's entry to its exit, in the order of `template.rs`.
const SLOT: &str = "%profiler_slot";
const ADDRESS: &str = "%profiler_address";
const MASK: &str = "%profiler_mask";
const LIMIT: &str = "%profiler_limit";
const STEP: &str = "%profiler_step";
const CURSOR: &str = "%profiler_cursor";
const LAST_0: &str = "%profiler_last0";
const LAST_1: &str = "%profiler_last1";
const LAST_2: &str = "%profiler_last2";

/// Which of the recorded blocks this is.
const BLOCK: &str = "%profiler_block";

/// The label of the copy of a kernel's body that records nothing.
pub(crate) const PLAIN: &str = "$profiler_plain";

/// The register that holds when a region began, before the number of its site.
const BEGIN: &str = "%profiler_begin";

/// What a statement that was put in does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Enter,
    Begin(u32),
    End(u32),
    Leave,
}

impl Step {
    /// `None` for a statement of which this is not said by one alone.
    pub(crate) fn of(statement: &str) -> Option<Self> {
        let number = |text: &str| text.strip_prefix(BEGIN)?.parse().ok();
        let (target, value) = statement.strip_prefix("mov.")?.split_once(", ")?;
        let value = value.strip_suffix(';')?;
        if value == "%clock64" {
            return number(target.split_whitespace().last()?).map(Self::Begin);
        }
        if target.ends_with(SLOT) {
            return Some(Self::Enter);
        }
        // Only what leaves the kernel asks for the slot.
        if value == SLOT { Some(Self::Leave) } else { number(value).map(Self::End) }
    }
}

/// What all names that are put in begin with.
pub(crate) const PREFIX: &str = "profiler_";

/// The pieces as text with names of their own.
pub(crate) struct Runtime {
    recorded: String,
    enter: String,
    record: String,
    leave: String,
}

impl Runtime {
    pub(crate) fn new() -> Self {
        let module = Module::parse(RUNTIME);
        let piece = |name: &str, ins: &[&str], outs: &[&str]| {
            let function = module.functions.iter().find(|it| it.name == name);
            let function = function.expect("runtime.ptx has all pieces; a test reads them");
            let body = &module.statements[function.body.clone()];
            let (first, last) = (body[0].at, body[body.len() - 1].at);
            renamed(&RUNTIME[first..last], ins, outs)
        };
        Self {
            recorded: piece("__profiler_recorded", &[], &[BLOCK]),
            enter: piece("__profiler_enter", &[BLOCK], &[SLOT, ADDRESS, MASK, LIMIT, STEP]),
            record: piece(
                "__profiler_record",
                &["%profiler_begin", ADDRESS, MASK, LIMIT, STEP, CURSOR, LAST_0, LAST_1, LAST_2],
                &[CURSOR, LAST_0, LAST_1, LAST_2],
            ),
            leave: piece("__profiler_leave", &[SLOT, CURSOR], &[]),
        }
    }

    /// Declares the recorder's registers and enters the kernel whose site has this number. Blocks that are not
    /// recorded branch to [`PLAIN`].
    pub(crate) fn enter(&self, kernel: u32) -> String {
        format!(
            "\n\t.reg .b64 {BLOCK}, {ADDRESS};\n\t.reg .b32 {SLOT}, {MASK}, {LIMIT}, {STEP}, {CURSOR}, {LAST_0}, \
             {LAST_1}, {LAST_2};{}\n\tmov.b32 {CURSOR}, 0;\n\tmov.b32 {LAST_0}, 0;\n\tmov.b32 {LAST_1}, \
             0;\n\tmov.b32 {LAST_2}, 0;{}",
            self.recorded,
            self.enter.replace(SITE, &kernel.to_string())
        )
    }

    /// Declares the register that holds when a region began.
    pub(crate) fn declare(site: u32) -> String {
        format!("\n\t.reg .b64 %profiler_begin{site};")
    }

    /// Begins the region whose site has this number.
    pub(crate) fn begin(site: u32) -> String {
        format!("\n\tmov.u64 {BEGIN}{site}, %clock64;")
    }

    /// Ends the region, which is recorded.
    pub(crate) fn end(&self, site: u32) -> String {
        let text = self.record.replace("%profiler_begin;", &format!("%profiler_begin{site};"));
        text.replace(SITE, &site.to_string())
    }

    /// Leaves the kernel.
    pub(crate) fn leave(&self) -> &str {
        &self.leave
    }

    /// The tag of a region's record, which the runtime makes of the site.
    #[cfg(test)]
    fn tag(site: u32) -> u32 {
        profiler_wire::record::tag(RecordKind::Range, site)
    }
}

/// A piece in braces: its registers and labels get names that no compiler gives, and the comments that stand for
/// the recorder's values become moves.
fn renamed(text: &str, ins: &[&str], outs: &[&str]) -> String {
    let mut out = String::from("\n\t{");
    for line in text.lines().map(str::trim) {
        let names = |rest: &str| rest.split_whitespace().map(rename).collect::<Vec<_>>();
        if let Some(rest) = line.strip_prefix("// profiler-in ") {
            for (register, value) in names(rest).iter().zip(ins) {
                let _ = write!(out, "\n\tmov.b{} {register}, {value};", bits(register));
            }
        } else if let Some(rest) = line.strip_prefix("// profiler-out ") {
            for (register, value) in names(rest).iter().zip(outs) {
                let _ = write!(out, "\n\tmov.b{} {value}, {register};", bits(register));
            }
        } else if line == "// profiler-plain" {
            let _ = write!(out, "\n\tbra.uni {PLAIN};");
        } else if !line.is_empty() && !line.starts_with("//") {
            let (mut at, mut renamed_line) = (0, String::new());
            for token in Tokens::of(line).filter(|token| token.kind == TokenKind::Word) {
                renamed_line += &line[at..token.at];
                renamed_line += &rename(token.text);
                at = token.end();
            }
            let _ = write!(out, "\n\t{renamed_line}{}", &line[at..]);
        }
    }
    out + "\n\t}"
}

/// A register of the compiler's (`%r12`, `%rd3`, `%p<4>`) or a label (`$L__BB1_2`) by a name of its own.
fn rename(word: &str) -> String {
    match word.strip_prefix('%') {
        Some(register)
            if ["r", "rd", "p"]
                .contains(&register.trim_end_matches(|c: char| c.is_ascii_digit())) =>
        {
            format!("%{PREFIX}{register}")
        }
        _ => match word.strip_prefix("$L__") {
            Some(label) => format!("${PREFIX}{label}"),
            None => word.to_owned(),
        },
    }
}

fn bits(register: &str) -> u32 {
    if register.contains("_rd") { 64 } else { 32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_there_and_no_name_is_left() {
        let runtime = Runtime::new();
        let [enter, end] = [runtime.enter(7), runtime.end(9)];
        for text in [&enter, &end, runtime.leave()] {
            assert!(!text.contains(SITE) && !text.contains("//"), "{text}");
            assert_eq!(text.matches('{').count(), text.matches('}').count());
            for token in Tokens::of(text).filter(|token| token.text.starts_with("$")) {
                assert!(token.text.starts_with("$profiler_"), "{}", token.text);
            }
        }
        assert!(enter.contains("mov.u32 %profiler_r24, 7;") || enter.contains(", 7;"), "{enter}");
        assert!(
            end.contains(", 9;") && end.contains("mov.b64") && end.contains("%profiler_begin9;")
        );
        // Of the tag the compiler knows the kind alone.
        let kind = Runtime::tag(9) - 9;
        assert!(end.contains(&format!(", {kind};")), "{end}");
        assert_eq!(end.matches("st.global").count(), 1);
    }
}
