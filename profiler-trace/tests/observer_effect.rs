//! What regions do to each other: the lengths of those that two builds of a kernel have in common.

use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    AnnotationEffect, Capture, Diagnostic, DiagnosticKind, KernelResources, ObserverEffect,
    RegionCycles, RegionEffect, RegionLengths, ResourceEffect, Trace, decode,
};
use profiler_wire::{SiteEntry, SiteKind};

/// See [`trace_at`]; at 1 ns a cycle.
fn trace(sites_before: usize, compiled_in: &[(&str, &[u64])]) -> Trace {
    trace_at(1, sites_before, compiled_in)
}

/// A trace of one warp, at so many nanoseconds a cycle: regions named in `compiled_in` with their
/// lengths, one behind the other. All sites are in the table, behind `sites_before` others.
fn trace_at(cycle_ns: u64, sites_before: usize, compiled_in: &[(&str, &[u64])]) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 64);
    for _ in 0..sites_before {
        module.site(SiteKind::Mark, "elsewhere");
    }
    let site = |kind, name, line| SiteEntry::new(kind, name, "lib.rs", "kernels", line, 5);
    let kernel = module.site_entry(&site(SiteKind::Kernel, "gemm", 1), &[]);
    let sites = ["wait", "load", "mma", "store"];
    let ids: Vec<u32> = (2..)
        .zip(sites)
        .map(|(line, name)| module.site_entry(&site(SiteKind::Region, name, line), &[]))
        .collect();
    let mut warp = SyntheticWarp::new(kernel, 0, 1_000_000);
    let mut at = 1_000;
    for (name, lengths) in compiled_in {
        let index = sites.iter().position(|site| site == name).expect("a region of the kernel");
        for length in *lengths {
            warp.range(ids[index], None, at, at + length);
            at += length + 100;
        }
    }
    warp.leave(100_000, 1_000_000 + cycle_ns * 100_000);
    module.warps.push(warp);
    decode(&module.into_capture().expect("the sites are in order"))
}

fn full() -> Trace {
    trace(0, &[("mma", &[812, 820, 1030]), ("wait", &[50]), ("load", &[100, 300])])
}

#[test]
fn regions_of_both_builds_are_compared_in_the_order_of_the_source() {
    // Another number of sites, another order of records, a region less, and one that only it has.
    let half = trace(3, &[("store", &[7]), ("mma", &[1012, 790, 780, 785]), ("wait", &[40])]);
    let mut effects = RegionEffect::between(&full(), &half);
    for effect in &mut effects {
        // The map from cycles to nanoseconds rounds in the last digit.
        effect.full.median_ns = effect.full.median_ns.round();
    }
    let lengths = |count, median, p95| {
        let cycles = Some(RegionCycles { median, p95 });
        RegionLengths { count, median_ns: median, p95_ns: p95, cycles }
    };
    let effect = |name: &str, full, half| RegionEffect { name: name.to_owned(), full, half };
    assert_eq!(
        effects,
        [
            effect("wait", lengths(1, 50.0, 50.0), lengths(1, 40.0, 40.0)),
            effect("mma", lengths(3, 820.0, 1030.0), lengths(4, 785.0, 1012.0)),
        ]
    );
    assert!((effects[0].relative() - 0.25).abs() < 1e-12);
    assert_eq!(
        effects[0].to_string(),
        "beside half of the regions, `wait` lasts 40 cycles (median; 95th percentile 40), beside all \
         of them 50 (50), +25.0 %"
    );
}

#[test]
fn another_frequency_is_no_effect_of_recording() {
    let slower = trace_at(2, 0, &[("mma", &[800])]);
    let mut effects = RegionEffect::between(&slower, &trace(0, &[("mma", &[800])]));
    let [effect] = &mut effects[..] else { panic!("{effects:?}") };
    assert_eq!((effect.full.median_ns.round(), effect.half.median_ns.round()), (1600.0, 800.0));
    assert!(effect.relative().abs() < 1e-12, "{effect}");
    // Nothing else is known of what was recorded by `%globaltimer`.
    effect.half.cycles = None;
    assert!((effect.relative() - 1.0).abs() < 1e-12, "{effect}");
    assert!(effect.to_string().contains("lasts 800 ns (median; "), "{effect}");
}

#[test]
fn other_kernels_have_other_regions() {
    let mut half = trace(0, &[("mma", &[700])]);
    assert_eq!(RegionEffect::between(&full(), &half).len(), 1);
    for site in &mut half.sites {
        site.column += 1;
    }
    assert_eq!(RegionEffect::between(&full(), &half), []);
    assert_eq!(RegionEffect::between(&full(), &Trace::default()), []);
}

#[test]
fn json_has_all_figures() {
    let half = trace(0, &[("load", &[90, 90])]);
    let regions = RegionEffect::between(&full(), &half);
    let kernels = vec![drop_to(2)];
    let annotations = Some(AnnotationEffect { without_ns: 990.0, with_ns: 1000.0, kernels });
    let effect = ObserverEffect { without_ns: 1000.0, with_ns: f64::NAN, annotations, regions };
    let json = effect.to_json();
    let expected = serde_json::json!({
        "without_ns": 1000.0,
        "with_ns": null,
        "annotations": {
            "without_ns": 990.0,
            "with_ns": 1000.0,
            "kernels": [{
                "kernel": "gemm",
                "block": [64, 4, 1],
                "dynamic_shared_bytes": 49152,
                "without": {
                    "registers": 38,
                    "local_bytes": 0,
                    "shared_bytes": 1024,
                    "blocks_per_sm": 4,
                },
                "with": {
                    "registers": 40,
                    "local_bytes": 16,
                    "shared_bytes": 1024,
                    "blocks_per_sm": 2,
                },
            }],
        },
        "regions": [{
            "name": "load",
            "full": {
                "count": 2,
                "median_ns": 100.0,
                "p95_ns": 300.0,
                "median_cycles": 100.0,
                "p95_cycles": 300.0,
            },
            "half": {
                "count": 2,
                "median_ns": 90.0,
                "p95_ns": 90.0,
                "median_cycles": 90.0,
                "p95_cycles": 90.0,
            },
        }],
    });
    assert_eq!(json, expected);
    let effect = ObserverEffect { annotations: None, ..effect };
    assert_eq!(effect.to_json()["annotations"], serde_json::Value::Null);
}

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

/// The observer effect of a program that launches these kernels.
fn of_kernels(kernels: Vec<ResourceEffect>) -> ObserverEffect {
    let annotations = AnnotationEffect { without_ns: 990.0, with_ns: 1000.0, kernels };
    ObserverEffect { annotations: Some(annotations), ..ObserverEffect::default() }
}

#[test]
fn a_drop_of_blocks_is_warned_of() {
    let capture =
        |kernels| Capture { observer_effect: Some(of_kernels(kernels)), ..Capture::default() };
    let said = |kernels| {
        let trace = decode(&capture(kernels));
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
        "(0 with them, of the first;",
        "#[profiled(max_threads = .., min_blocks = ..)]",
        "Kernels::only",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let text = warning(1, 3).expect("a warning").to_string();
    assert!(text.contains("of 1 kernel fit") && text.contains("(3 with them;"), "{text}");
}

#[test]
fn what_is_measured_after_decoding_is_warned_of_as_well() {
    let mut trace = full();
    let before = trace.clone();
    let warnings = |trace: &Trace| trace.diagnostics.count(DiagnosticKind::OccupancyDrop);
    // Another measurement takes the place of the first.
    for blocks in [3, 3, 1] {
        trace.set_observer_effect(Some(of_kernels(vec![drop_to(blocks)])));
        assert_eq!(warnings(&trace), 1);
        let said = trace.diagnostics.get(DiagnosticKind::OccupancyDrop);
        assert_eq!(said.map(|said| said.number), Some(blocks.into()));
    }
    trace.set_observer_effect(Some(of_kernels(vec![drop_to(4)])));
    assert_eq!(warnings(&trace), 0);
    assert_eq!(trace.observer_effect, Some(of_kernels(vec![drop_to(4)])));
    trace.set_observer_effect(None);
    assert_eq!(trace, before);
}
