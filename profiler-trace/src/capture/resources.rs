//! Kernel resources in the metadata.

use profiler_wire::header::Dim3;

use crate::json::Member;
use crate::resources::{KernelResources, ResourceEffect};

/// Reads what [`ResourceEffect::to_json`] makes.
pub(super) fn decode(kernel: &Member<'_>) -> Result<ResourceEffect, String> {
    let resources = |name: &str| {
        let resources = kernel.get(name)?;
        Ok::<_, String>(KernelResources {
            registers: resources.get("registers")?.u32()?,
            local_bytes: resources.get("local_bytes")?.u32()?,
            shared_bytes: resources.get("shared_bytes")?.u32()?,
            blocks_per_sm: resources.get("blocks_per_sm")?.u32()?,
        })
    };
    let block = kernel.get("block")?;
    let extents: Vec<u32> = block.array()?.iter().map(Member::u32).collect::<Result<_, _>>()?;
    Ok(ResourceEffect {
        kernel: kernel.get("kernel")?.string()?,
        block: Dim3::try_from(extents).map_err(|_| block.wrong("three numbers"))?,
        dynamic_shared_bytes: kernel.get("dynamic_shared_bytes")?.u32()?,
        without: resources("without")?,
        with: resources("with")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_not_as_it_should_be_is_named() {
        let whole = ResourceEffect::default().to_json();
        assert_eq!(decode(&Member::root(&whole)), Ok(ResourceEffect::default()));
        let error = |at: &str, value: Value| {
            let mut spoiled = whole.clone();
            *spoiled.pointer_mut(at).expect("a member") = value;
            decode(&Member::root(&spoiled)).expect_err("it is spoiled")
        };
        assert_eq!(error("/block", json!([1, 2])), ".block is not three numbers");
        let many = error("/with/registers", json!(1_u64 << 32));
        assert_eq!(many, ".with.registers is not a number below 2^32");
        assert_eq!(error("", json!({ "kernel": "gemm" })), ".block is missing");
    }
}
