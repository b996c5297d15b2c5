//! The version of the PTX language that a module's instructions need. LLVM writes the oldest version of its own
//! instructions, and does not look into `asm!`.
//!
//! Versions are those of the PTX ISA's sections on each instruction ("PTX ISA Notes: Introduced in PTX ISA version").

use profiler_ptx::syntax::{Kind, Module};

/// Instructions by the beginning of their opcodes, and the version that brought them; of several that fit the highest
/// holds.
const INSTRUCTIONS: &[(&str, u32)] = &[
    ("cp.async", 70),
    ("mbarrier", 70),
    ("redux", 70),
    ("tanh", 70),
    ("mbarrier.test_wait.parity", 71),
    ("applypriority", 74),
    ("createpolicy", 74),
    ("discard", 74),
    ("fence.proxy", 75),
    ("bmsk", 76),
    ("szext", 76),
    ("barrier.cluster", 78),
    ("getctarank", 78),
    ("griddepcontrol", 78),
    ("mapa", 78),
    ("mbarrier.try_wait", 78),
    ("movmatrix", 78),
    ("stmatrix", 78),
    ("cp.async.bulk", 80),
    ("cp.reduce.async", 80),
    ("elect", 80),
    ("fence.mbarrier_init", 80),
    ("fence.proxy.async", 80),
    ("mbarrier.complete_tx", 80),
    ("mbarrier.expect_tx", 80),
    ("setmaxnreg", 80),
    ("wgmma", 80),
    ("multimem", 81),
    ("red.async", 81),
    ("st.async", 81),
    ("fence.proxy.tensormap", 83),
    ("tensormap", 83),
    ("clusterlaunchcontrol", 86),
    ("st.bulk", 86),
    ("tcgen05", 86),
];

/// Parts of opcodes that came later than these opcodes.
const PARTS: &[(&str, &str, u32)] = &[
    ("", "::cta", 78),
    ("", "::cluster", 78),
    ("cvt", ".e4m3x2", 78),
    ("cvt", ".e5m2x2", 78),
    ("mbarrier", ".expect_tx", 80),
    ("", ".b128", 83),
    ("mma", ".e4m3", 84),
    ("mma", ".e5m2", 84),
];

/// The version that the instructions and special registers of a module need, 71 for 7.1; 0 if any will do.
pub(super) fn needed(module: &Module<'_>) -> u32 {
    let plain = module.statements.iter().filter(|statement| statement.kind == Kind::Plain);
    plain
        .filter_map(|statement| {
            let (_, opcode) = statement.mnemonic().filter(|(_, it)| !it.starts_with('.'))?;
            let begins = |name: &str| {
                opcode
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
            };
            let of_name = INSTRUCTIONS.iter().filter(|(name, _)| begins(name));
            let of_part = PARTS.iter().filter(|(name, part, _)| {
                (name.is_empty() || begins(name)) && opcode.contains(part)
            });
            let of_register = statement.text.contains("%cluster_").then_some(78);
            let of_name = of_name.map(|(_, version)| *version);
            let of_part = of_part.map(|(_, _, version)| *version);
            of_name.chain(of_part).chain(of_register).max()
        })
        .max()
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use profiler_ptx::syntax::Module;

    #[test]
    fn the_newest_instruction_tells() {
        let needed = |body: &str| {
            let text = format!(".version 7.0\n.target sm_90a\n.entry a()\n{{\n{body}\n}}\n");
            super::needed(&Module::parse(&text))
        };
        assert_eq!(needed("add.u32 %r1, %r1, 1; // wgmma"), 0);
        assert_eq!(needed("cp.async.wait_all; ret;"), 70);
        assert_eq!(needed("cp.asynchronous; redux2.sync;"), 0, "other names");
        assert_eq!(needed("mov.u32 %r1, %cluster_ctarank;"), 78);
        assert_eq!(needed("@%p1 mbarrier.try_wait.parity.b64 %p2, [%r1], %r2;"), 78);
        assert_eq!(needed("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 4;"), 80);
        assert_eq!(needed("{ wgmma.fence.sync.aligned; } cp.async.commit_group;"), 80);
        let multiply = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3";
        assert_eq!(needed(&format!("{multiply} {{%f1}}, %rd1, %rd2, 1, 1, 1;")), 80);
        assert_eq!(needed("cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;"), 78);
        let acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;";
        assert_eq!(needed(acquire), 83, "a part after `::` is one word with what is before it");
    }
}
