//! Makes clock reads after a barrier wait for it.
//!
//! ptxas compiles `bar.sync` to `BAR.SYNC.DEFER_BLOCKING` and lets a clock read follow it at once;
//! on an H200 that read is served before the warp blocks. A region around a barrier then lasts two
//! cycles, however long the warp waits, and the wait falls into the next region (ptxas 13.0 and
//! nvcc 13.0; `lab/measurements/barrier.md`). Where a `bar.warp.sync` stands between, the read
//! comes after the barrier, and a warp that need not wait pays no more than the barrier's own
//! latency of 16 cycles. All threads of a warp execute a `bar.sync` together, so that its mask is
//! full; `barrier.sync` without `.aligned` may be reached by some of them, whose mask is asked for.

use super::Edit;
use super::ptx::{Kind, Module, Statement};

/// Puts a `bar.warp.sync` after every barrier.
pub(super) fn complete(module: &Module<'_>, edits: &mut Vec<Edit>) {
    for statement in module.statements.iter().filter(|it| it.kind == Kind::Plain) {
        if statement.text.starts_with(['b', '@'])
            && let Some(completion) = completion(statement)
        {
            edits.push((statement.end()..statement.end(), completion));
        }
    }
}

/// The text to put after a statement, if it is a barrier.
fn completion(statement: &Statement<'_>) -> Option<String> {
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

/// The completion of a barrier that all threads of a warp execute together.
///
/// It has the barrier's guard. All threads of a warp execute a guarded barrier together, too (PTX ISA, "bar,
/// barrier": `.aligned` may stand in conditionally executed code only if all threads of the warp evaluate the
/// condition identically). So the mask is full if the guard holds; if not, no thread waits for other lanes.
fn together(guard: &str) -> String {
    format!(" {guard}bar.warp.sync 0xffffffff;")
}

/// The completion of a barrier that some threads of a warp may execute apart from others. Threads whose guard
/// does not hold are not in the mask (PTX ISA, "activemask": one that is predicated off contributes 0), and no
/// thread in the mask skips the `bar.warp.sync`, which would wait for it.
fn apart(guard: &str) -> String {
    format!(
        " {{ .reg .b32 %profiler_active; {guard}activemask.b32 %profiler_active; \
         {guard}bar.warp.sync %profiler_active; }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str) -> String {
        let mut edits = Vec::new();
        complete(&Module::parse(text), &mut edits);
        let mut out = String::new();
        crate::process::apply(text, edits, &mut out);
        out
    }

    const TOGETHER: &str = " bar.warp.sync 0xffffffff;";
    const APART: &str = " { .reg .b32 %profiler_active; activemask.b32 %profiler_active; \
                         bar.warp.sync %profiler_active; }";

    #[test]
    fn barriers_are_completed() {
        for barrier in ["bar.sync 0;", "bar.cta.sync 1, 64;", "barrier.sync.aligned 0;"] {
            assert_eq!(
                completed(&format!("\t{barrier} // x")),
                format!("\t{barrier}{TOGETHER} // x")
            );
        }
        for barrier in ["barrier.sync 0;", "barrier.cta.sync 1, 64;"] {
            assert_eq!(completed(barrier), format!("{barrier}{APART}"));
        }
        assert_eq!(
            completed("{ mov.u32 %r1, 1; bar.sync %r1; }\nbar.sync 0;"),
            format!("{{ mov.u32 %r1, 1; bar.sync %r1;{TOGETHER} }}\nbar.sync 0;{TOGETHER}")
        );
    }

    #[test]
    fn barriers_stand_anywhere_in_the_text() {
        for barrier in [
            "/* all threads */ bar.sync 0;",
            "bar.sync /* ; */ 0;",
            "bar.sync 1, // of two warps; no more\n\t64;",
            "bar.sync\n0;",
            "bar .sync 0;",
            "bar/**/.cta\n.sync 0;",
            "barrier.sync /* ; */ .aligned 0;",
            "bar.sync 1,\n64\n;",
            ".loc 1 2 3\nbar.sync 0;",
            "mov.b64 {%r1, %r2}, %rd1; bar.sync 0;",
            "}}{ bar.sync 0;",
            "$L__BB0_1 : bar.sync 0;",
            "} L1: L2: { bar.sync 0;",
        ] {
            assert_eq!(completed(&format!("{barrier} ret;")), format!("{barrier}{TOGETHER} ret;"));
        }
        let guarded = "@%p1 // those\n bar.sync 0;";
        let completion = " @%p1 // those\n bar.warp.sync 0xffffffff;";
        assert_eq!(completed(guarded), format!("{guarded}{completion}"));
    }

    #[test]
    fn a_guard_holds_for_what_completes_the_barrier() {
        for guard in ["@%p1 ", "@!%p1\t", "@ ! %p1 "] {
            let guarded = |text: &str| text.replace("bar.warp", &format!("{guard}bar.warp"));
            let both = guarded(APART).replace("activemask", &format!("{guard}activemask"));
            let barrier = format!("{guard}bar.sync 0;");
            assert_eq!(completed(&barrier), barrier.clone() + &guarded(TOGETHER));
            let barrier = format!("{guard}barrier.sync 0;");
            assert_eq!(completed(&barrier), barrier.clone() + &both);
        }
    }

    #[test]
    fn nothing_else_is_touched() {
        for text in [
            "bar.warp.sync 0xffffffff;",
            "bar.arrive 1, 64;",
            "bar.red.popc.u32 %r1, 0, %p1;",
            "barrier.cluster.wait;",
            "// bar.sync 0;",
            "mbarrier.init.shared.b64 [%r1], 1;",
            "call bar, (%r1);",
            "@%p1 bra bar;",
            "bar: ret;",
            "/* bar.sync 0; */ ret;",
            "/* // */ /* bar.sync 0;",
            ".file 1 \"/* bar.sync 0;\"",
            ".pragma \"bar.sync 0; //\";",
            "bar.sync 0",
            "@%p1",
        ] {
            assert_eq!(completed(text), text);
        }
    }
}
