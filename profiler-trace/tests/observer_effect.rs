//! What regions do to each other: the lengths of those that two builds of a kernel have in common.

use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    AnnotationEffect, ObserverEffect, RegionCycles, RegionEffect, RegionLengths, Trace, decode,
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
    let annotations = Some(AnnotationEffect { without_ns: 990.0, with_ns: 1000.0 });
    let effect = ObserverEffect { without_ns: 1000.0, with_ns: f64::NAN, annotations, regions };
    let json = effect.to_json();
    let expected = serde_json::json!({
        "without_ns": 1000.0,
        "with_ns": null,
        "annotations": { "without_ns": 990.0, "with_ns": 1000.0 },
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
