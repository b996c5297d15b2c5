//! How many instructions a record of the default form is.

use crate::sass::{Kernel, Kernels};
use crate::{CYCLES, NANOSECONDS, reads};

/// The kernel, and how many regions a round of its loop has.
const KERNEL: &str = "four_regions";
const REGIONS: usize = 4;

/// Instructions of a region and its record: two clock reads, the store, and what is between them
/// (docs/how-it-costs.md). On sm_80 and sm_120 ptxas 13.0 has no one instruction that adds and takes the smaller
/// number.
fn expected(target: &str) -> usize {
    if matches!(target, "sm_80" | "sm_120") { 9 } else { 8 }
}

/// Holds the loop of regions against the same loop without annotations.
pub(crate) fn check(
    target: &str,
    is_twice: bool,
    on: &Kernels,
    off: &Kernels,
) -> Result<(), String> {
    let kernel = |kernels: &Kernels| kernels.get(KERNEL).cloned().ok_or("the kernel is missing");
    let (mut on, off) = (kernel(on)?, kernel(off)?);
    if is_twice {
        let stamps = [reads(&on, CYCLES), reads(&on, NANOSECONDS)].concat();
        let [recording, _] = on.copies(&stamps);
        on = recording;
    }
    let (regions, recorded) = longest_loop(&on)?;
    let (none, plain) = longest_loop(&off)?;
    let most = REGIONS * expected(target);
    if (regions, none) == (REGIONS, 0) && recorded.len() == plain.len() + most {
        return Ok(());
    }
    Err(format!(
        "a round with {regions} regions has {} instructions besides the work, and without, {}: not {most} \
         more:\n{}",
        recorded.len(),
        plain.len(),
        recorded.join("\n")
    ))
}

/// The longest loop of a kernel: how many regions it has, and its instructions but for the work.
fn longest_loop(kernel: &Kernel) -> Result<(usize, Vec<String>), String> {
    let back = (0..kernel.code.len()).filter_map(|at| {
        let target = kernel.target(at).filter(|_| kernel.code[at].is("BRA"))?;
        (target < at).then_some(target..at + 1)
    });
    let range = back.max_by_key(|range| range.len()).ok_or("the kernel has no loop")?;
    let code = &kernel.code[range];
    let stamps = code.iter().filter(|instruction| instruction.reads_special(CYCLES)).count();
    let rest =
        code.iter().filter(|instruction| !["FFMA", "NOP"].iter().any(|it| instruction.is(it)));
    Ok((stamps / 2, rest.map(|it| format!("{} {}", it.opcode, it.operands.join(", "))).collect()))
}
