//! Work of the calibration kernels between records.

use super::super::side;
use super::reg32;

ptx! {
    /// A pause, longer than a record delays the next one: arithmetic in which each step needs the one before, as
    /// in a kernel, so that a record's own arithmetic finds free issue slots. A loop that is not unrolled makes
    /// it long and small. `ordered`, so that it keeps its place among clock reads and stores.
    #[allow(named_asm_labels, reason = "PTX has no others; within braces they are local")]
    ordered fn pause() through (worked as reg32) -> u32 {
        "{{ .reg .b32 %r_left; .reg .pred %p_more;",
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;",
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;",
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;",
        "mov.u32 %r_left, 4;",
        "profiler_pause:",
        ".pragma \"nounroll\";",
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;",
        "sub.u32 %r_left, %r_left, 1;",
        "setp.ne.u32 %p_more, %r_left, 0;",
        "@%p_more bra profiler_pause; }}"
        => worked
    }

    /// Work before or after a pause.
    ordered fn work() through (worked as reg32) -> u32 {
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;",
        "mad.lo.u32 {worked}, {worked}, {worked}, 1;"
        => worked
    }
}
