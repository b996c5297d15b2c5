//! What kernels take of an SM with annotations and without, and the warning where fewer blocks fit.

use profiler_trace::{
    Capture, Diagnostic, DiagnosticKind, KernelResources, ResourceEffect, decode,
};

/// A kernel of which so many blocks fit an SM with annotations, and four without.
fn drop_to(blocks_per_sm: u32) -> ResourceEffect {
    let without =
        KernelResources { registers: 38, local_bytes: 0, shared_bytes: 1024, blocks_per_sm: 4 };
    ResourceEffect {
        kernel: "gemm".to_owned(),
        block: [64, 4, 1],
        dynamic_shared_bytes: 49_152,
        without,
        with: KernelResources { registers: 40, local_bytes: 16, blocks_per_sm, ..without },
    }
}

#[test]
fn what_a_kernel_takes_is_said_in_a_sentence() {
    let mut effect = drop_to(1);
    assert_eq!(
        effect.to_string(),
        "`gemm`, block 64x4, 49152 bytes of dynamic shared memory: 40 registers, 16 bytes of local \
         memory and 1 block an SM with annotations, 38, 0 and 4 without"
    );
    effect.block = [256, 1, 1];
    effect.dynamic_shared_bytes = 0;
    effect.with = KernelResources { shared_bytes: 1, ..effect.without };
    assert_eq!(
        effect.to_string(),
        "`gemm`, block 256: 38 registers, 1 byte of static shared memory and 4 blocks an SM with \
         annotations, 38, 1024 and 4 without"
    );
    effect.with = effect.without;
    assert_eq!(
        effect.to_string(),
        "`gemm`, block 256: 38 registers and 4 blocks an SM with annotations, 38 and 4 without"
    );
}

#[test]
fn json_has_all_figures() {
    let json = r#"{"block":[64,4,1],"dynamic_shared_bytes":49152,"kernel":"gemm","with":{"blocks_per_sm":2,"local_bytes":16,"registers":40,"shared_bytes":1024},"without":{"blocks_per_sm":4,"local_bytes":0,"registers":38,"shared_bytes":1024}}"#;
    let expected: serde_json::Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(serde_json::json!(drop_to(2)), expected);
}

#[test]
fn a_drop_of_blocks_is_warned_of() {
    let said = |resources| {
        let trace = decode(&Capture { resources, ..Capture::default() });
        trace.diagnostics.get(DiagnosticKind::OccupancyDrop).copied()
    };
    // As many as before, or more where the compiler takes fewer registers.
    assert_eq!(said(vec![drop_to(4), drop_to(5)]), None);
    assert_eq!(said(Vec::new()), None);
    let warning = |count, number| {
        Some(Diagnostic { kind: DiagnosticKind::OccupancyDrop, count, number, place: None })
    };
    assert_eq!(said(vec![drop_to(4), drop_to(3)]), warning(1, 3));
    let several = said(vec![drop_to(0), drop_to(4), drop_to(2)]);
    assert_eq!(several, warning(2, 0));
    let text = several.expect("a warning").to_string();
    for part in [
        "fewer blocks of 2 kernels fit an SM with annotations",
        "(0 with them, of the first)",
        "#[profiled(max_threads = .., min_blocks = ..)]",
        "leave some out with #[cfg(..)]",
        "`profiler info` has all figures",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let text = warning(1, 3).expect("a warning").to_string();
    assert!(text.contains("of 1 kernel fit") && text.contains("(3 with them)"), "{text}");
}
