//! The resources of an SM that a kernel takes, with annotations and without.

use std::fmt;

use profiler_wire::header::Dim3;
use serde::{Deserialize, Serialize};

use crate::diagnostic::{DiagnosticKind, Diagnostics};
use crate::display::{counted, extent};

/// The resources of an SM that a kernel takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelResources {
    /// Registers of a thread.
    pub registers: u32,
    /// Local memory of a thread, in bytes: its stack, and the registers that are spilled there.
    pub local_bytes: u32,
    /// Static shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The number of blocks that fit an SM at once, with the block size and the dynamic shared
    /// memory of the question; 0 if not even one fits.
    pub blocks_per_sm: u32,
}

/// The effect of annotations on the registers of a kernel and on the number of its blocks that fit an SM.
///
/// As a sentence: "`gemm`, block 256: 40 registers and 6 blocks an SM with annotations, 38 and 6
/// without". It includes local memory if there is any, and static shared memory if it differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceEffect {
    /// The kernel's name in its module.
    pub kernel: String,
    /// Threads of a block, in x, y and z.
    pub block: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// The resources of the kernel without annotations.
    pub without: KernelResources,
    /// Its resources with annotations. An attached session makes no difference.
    pub with: KernelResources,
}

impl ResourceEffect {
    /// Whether fewer blocks fit an SM with annotations than without.
    #[must_use]
    pub const fn loses_blocks(&self) -> bool {
        self.with.blocks_per_sm < self.without.blocks_per_sm
    }
}

impl fmt::Display for ResourceEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { with, without, .. } = *self;
        write!(f, "`{}`, block {}", self.kernel, extent(self.block))?;
        if self.dynamic_shared_bytes > 0 {
            let bytes = counted(self.dynamic_shared_bytes.into(), "byte");
            write!(f, ", {bytes} of dynamic shared memory")?;
        }
        // What is as it is in nearly every kernel would only hide what matters.
        let local = with.local_bytes.max(without.local_bytes) > 0;
        let shared = with.shared_bytes != without.shared_bytes;
        let figures = [
            (true, with.registers, without.registers, "register", ""),
            (local, with.local_bytes, without.local_bytes, "byte", " of local memory"),
            (shared, with.shared_bytes, without.shared_bytes, "byte", " of static shared memory"),
            (true, with.blocks_per_sm, without.blocks_per_sm, "block", " an SM"),
        ];
        let shown = || figures.iter().filter(|(is_shown, ..)| *is_shown);
        let with: Vec<String> = shown()
            .map(|(_, with, _, one, of)| format!("{}{of}", counted((*with).into(), one)))
            .collect();
        let without: Vec<String> = shown().map(|(_, _, without, ..)| without.to_string()).collect();
        write!(f, ": {} with annotations, {} without", enumerated(&with), enumerated(&without))
    }
}

/// "a, b and c".
fn enumerated(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

/// Notes each kernel of which fewer blocks fit an SM with annotations.
pub(crate) fn note_lost_blocks(resources: &[ResourceEffect], diagnostics: &mut Diagnostics) {
    for effect in resources.iter().filter(|effect| effect.loses_blocks()) {
        let number = effect.with.blocks_per_sm.into();
        diagnostics.note_number(DiagnosticKind::OccupancyDrop, number, None);
    }
}
