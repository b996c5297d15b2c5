//! Writes launch bounds after the parameter lists of kernels.
//!
//! Facts from the PTX ISA, "Performance-Tuning Directives": `.maxntid` bounds the product of the
//! block's three extents; `.minnctapersm` has an effect only beside `.maxntid` or `.reqntid`, and is
//! ignored where the threads of that many blocks exceed what an SM holds; `.reqntid` excludes
//! `.maxntid`; `.maxnreg` may stand beside all of them, the tighter limit holds.

use std::collections::HashMap;
use std::ops::Range;

use profiler_wire::site::{SiteEntry, SiteKind};

use super::{Edit, describe};
use crate::error::Error;
use profiler_ptx::syntax::Module;

/// Threads of a block, on every NVIDIA GPU.
const BLOCK_THREADS_MAX: u32 = 1024;
/// Blocks of an SM, on the GPU that holds most.
const SM_BLOCKS_MAX: u32 = 32;
/// Threads of an SM, on the GPUs that hold most.
const SM_THREADS_MAX: u32 = 2048;
/// Registers of a thread.
const THREAD_REGISTERS_MAX: u32 = 255;
/// Threads of a warp: a block takes whole warps of an SM.
const WARP_THREADS: u32 = 32;

/// Adds an edit for each kernel among `sites` that gives a launch bound.
pub(super) fn write_launch_bounds<'a>(
    module: &Module<'a>,
    sites: impl Iterator<Item = &'a SiteEntry<'a>>,
    edits: &mut Vec<Edit>,
) -> Result<(), Error> {
    let mut bounded: Vec<&SiteEntry<'_>> = sites
        .filter(|site| site.kind == SiteKind::Kernel)
        .filter(|site| site.max_threads != 0 || site.min_blocks != 0 || site.max_registers != 0)
        .collect();
    // The first error must not depend on the order of a hash map.
    bounded.sort_by_key(|site| (site.file, site.line, site.column, site.key));
    if bounded.is_empty() {
        return Ok(());
    }
    let kernels = module.functions.iter().filter(|function| function.is_kernel);
    let headers: HashMap<&str, Range<usize>> =
        kernels.map(|kernel| (kernel.name, kernel.directives.clone())).collect();
    let mut written: HashMap<&str, &SiteEntry<'_>> = HashMap::new();
    for site in bounded {
        let fail = |reason: String| {
            Err(Error::new(format!("the launch bounds of {}: {reason}", describe(site))))
        };
        if site.symbol.is_empty() {
            return fail(
                "the kernel has no fixed entry symbol; mark it #[unsafe(no_mangle)]".to_owned(),
            );
        }
        let Some(header) = headers.get(site.symbol) else {
            return fail(format!("the module has no kernel entry `{}`", site.symbol));
        };
        if let Some(other) = written.insert(site.symbol, site) {
            return fail(format!("{} bounds the same entry `{}`", describe(other), site.symbol));
        }
        if let Err(reason) = check(site, &module.text[header.clone()]) {
            return fail(reason);
        }
        let mut directives = String::new();
        for (directive, value) in bounds(site) {
            if value != 0 {
                directives.push_str(&format!("\n{directive} {value}"));
            }
        }
        edits.push((header.start..header.start, directives));
    }
    Ok(())
}

/// The directives and their values; 0: not given.
fn bounds(site: &SiteEntry<'_>) -> [(&'static str, u32); 3] {
    [
        (".maxntid", site.max_threads),
        (".minnctapersm", site.min_blocks),
        (".maxnreg", site.max_registers),
    ]
}

/// Says why the bounds cannot stand, also beside the directives that the header has already.
fn check(site: &SiteEntry<'_>, header: &str) -> Result<(), String> {
    let given = |name: &str| header.split_whitespace().any(|word| word == name);
    for (directive, value) in bounds(site) {
        if value != 0 && (given(directive) || directive == ".maxntid" && given(".reqntid")) {
            return Err(format!(
                "the compiler has already written `{directive}` or one that excludes it; give the \
                 bound in one place only"
            ));
        }
    }
    let limits = [
        ("max_threads", site.max_threads, BLOCK_THREADS_MAX, "a block has at most"),
        ("min_blocks", site.min_blocks, SM_BLOCKS_MAX, "an SM holds at most"),
        ("max_registers", site.max_registers, THREAD_REGISTERS_MAX, "a thread has at most"),
    ];
    for (option, value, limit, words) in limits {
        if value > limit {
            return Err(format!("{option} = {value} is out of range: {words} {limit}"));
        }
    }
    if site.min_blocks == 0 || site.max_threads == 0 {
        if site.min_blocks != 0 && !given(".maxntid") && !given(".reqntid") {
            return Err("min_blocks has an effect only with max_threads; give that too".to_owned());
        }
        return Ok(());
    }
    let threads = site.max_threads.next_multiple_of(WARP_THREADS) * site.min_blocks;
    if threads > SM_THREADS_MAX {
        return Err(format!(
            "{} blocks of {} threads are {threads} threads, and an SM holds at most \
             {SM_THREADS_MAX}; lower min_blocks or max_threads",
            site.min_blocks, site.max_threads
        ));
    }
    Ok(())
}
