//! Makes clock reads after a barrier wait for it.
//!
//! ptxas compiles `bar.sync` to `BAR.SYNC.DEFER_BLOCKING` and lets a clock read follow it at once;
//! on an H200 that read is served before the warp blocks. A region around a barrier then lasts two
//! cycles, however long the warp waits, and the wait falls into the next region (ptxas 13.0 and
//! nvcc 13.0; `lab/measurements/barrier.md`). Where a `bar.warp.sync` stands between, the read
//! comes after the barrier, and a warp that need not wait pays no more than the barrier's own
//! latency of 16 cycles. All threads of a warp execute a `bar.sync` together, so that its mask is
//! full; `barrier.sync` without `.aligned` may be reached by some of them, whose mask is asked for.

use crate::syntax::Statement;

/// What to put after a statement, if it is a barrier.
pub fn completion(statement: &Statement<'_>) -> Option<String> {
    let (guard, mnemonic) = statement.mnemonic()?;
    let mut parts = mnemonic.split('.');
    let aligned = match parts.next()? {
        "bar" => true,
        "barrier" => mnemonic.contains(".aligned"),
        _ => return None,
    };
    let mut kind = parts.next()?;
    if kind == "cta" {
        kind = parts.next()?;
    }
    // `bar.warp.sync` and `bar.arrive` do not wait for other warps, and `bar.red` gives a result
    // that says when it is complete. Nothing stands after what has no `;`.
    let is_whole = kind == "sync" && statement.text.ends_with(';');
    is_whole.then(|| if aligned { together(guard) } else { apart(guard) })
}

/// What follows a barrier that all threads of a warp execute together.
///
/// It bears the barrier's guard. Of a guarded barrier too all threads of a warp execute the same one
/// (PTX ISA, "bar, barrier": `.aligned` may stand in conditionally executed code only where all threads
/// of the warp evaluate the condition identically), so where the guard holds the mask is full, and
/// where it does not hold no thread waits for lanes that may be elsewhere.
fn together(guard: &str) -> String {
    format!(" {guard}bar.warp.sync 0xffffffff;")
}

/// What follows one that some threads of a warp may execute apart from others. Threads whose guard
/// does not hold are not in the mask (PTX ISA, "activemask": one that is predicated off contributes
/// 0), and no thread that is in it skips the `bar.warp.sync`, which would wait for it.
fn apart(guard: &str) -> String {
    format!(
        " {{ .reg .b32 %profiler_active; {guard}activemask.b32 %profiler_active; \
         {guard}bar.warp.sync %profiler_active; }}"
    )
}
