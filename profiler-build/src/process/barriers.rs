//! Makes clock reads behind a barrier wait for it.
//!
//! ptxas compiles `bar.sync` to `BAR.SYNC.DEFER_BLOCKING` and lets a clock read follow it at once;
//! on an H200 that read is served before the warp blocks. A region around a barrier then lasts two
//! cycles, however long the warp waits, and the wait falls into the next region (ptxas 13.0 and
//! nvcc 13.0; `docs/measurements/barrier.md`). Where a `bar.warp.sync` stands between, the read
//! comes behind the barrier, and a warp that need not wait pays no more than the barrier's own
//! latency of 16 cycles. All threads of a warp execute a `bar.sync` together, so that its mask is
//! full; `barrier.sync` without `.aligned` may be reached by some of them, whose mask is asked for.

use super::Edit;

/// What follows a barrier that all threads of a warp execute together.
const ALIGNED: &str = " bar.warp.sync 0xffffffff;";
/// What follows one that some threads of a warp may execute apart from others.
const DIVERGENT: &str = " { .reg .b32 %profiler_active; activemask.b32 %profiler_active; \
                         bar.warp.sync %profiler_active; }";

/// Puts a `bar.warp.sync` behind every barrier.
pub(super) fn complete(text: &str, edits: &mut Vec<Edit>) {
    let mut start = 0;
    for line in text.split('\n') {
        let at = start;
        start += line.len() + 1;
        let code = line.split("//").next().unwrap_or_default();
        if !code.contains("bar") {
            continue;
        }
        let mut end = 0;
        for statement in code.split_inclusive(';') {
            end += statement.len();
            if let (true, Some(completion)) = (statement.ends_with(';'), completion(statement)) {
                edits.push((at + end..at + end, completion.to_owned()));
            }
        }
    }
}

/// What to put behind a statement, if it is a barrier.
fn completion(statement: &str) -> Option<&'static str> {
    let mut words =
        statement.trim_start_matches(|c: char| c.is_whitespace() || c == '{').split_whitespace();
    let mut mnemonic = words.next()?;
    if mnemonic.starts_with('@') {
        mnemonic = words.next()?;
    }
    let mut parts = mnemonic.trim_end_matches(';').split('.');
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
    // that says when it is complete.
    (kind == "sync").then_some(if aligned { ALIGNED } else { DIVERGENT })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str) -> String {
        let mut edits = Vec::new();
        complete(text, &mut edits);
        let mut out = String::new();
        crate::process::apply(text, edits, &mut out);
        out
    }

    #[test]
    fn barriers_are_completed() {
        for barrier in
            ["bar.sync 0;", "bar.cta.sync 1, 64;", "barrier.sync.aligned 0;", "@%p1 bar.sync 0;"]
        {
            assert_eq!(
                completed(&format!("\t{barrier} // x")),
                format!("\t{barrier}{ALIGNED} // x")
            );
        }
        for barrier in ["barrier.sync 0;", "barrier.cta.sync 1, 64;"] {
            assert_eq!(completed(barrier), format!("{barrier}{DIVERGENT}"));
        }
        assert_eq!(
            completed("{ mov.u32 %r1, 1; bar.sync %r1; }\nbar.sync 0;"),
            format!("{{ mov.u32 %r1, 1; bar.sync %r1;{ALIGNED} }}\nbar.sync 0;{ALIGNED}")
        );
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
        ] {
            assert_eq!(completed(text), text);
        }
    }
}
