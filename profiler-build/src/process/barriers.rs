//! Makes clock reads after a barrier wait for it.

use super::Edit;
use profiler_ptx::barrier::completion;
use profiler_ptx::syntax::{Kind, Module};

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
