//! Folded stacks: what they sum up to, and what the real inferno draws of them.

use crate::support;
use crate::zoo;

use std::collections::BTreeMap;

use inferno::flamegraph::{self, Options};
use profiler_trace::{Export, StackGroup, Time, Trace};
use profiler_wire::SiteKind;
use proptest::prelude::*;

use support::{gpu, last, launched, lone_warp, region, site, warp};
use zoo::{KERNEL, zoo};

const GROUPS: [StackGroup; 5] =
    [StackGroup::Kernel, StackGroup::Launch, StackGroup::Sm, StackGroup::Block, StackGroup::Warp];

fn folded(trace: &Trace, group: StackGroup) -> String {
    support::text(|bytes| trace.write_folded_to(bytes, group))
}

/// Frames and value of every line.
fn stacks(text: &str) -> Vec<(Vec<&str>, u64)> {
    let line = |line: &'_ str| -> (usize, u64) {
        let (stack, value) = line.rsplit_once(' ').expect("a value");
        (stack.len(), value.parse().expect("a whole number"))
    };
    text.lines().map(|text| (text[..line(text).0].split(';').collect(), line(text).1)).collect()
}

/// The value of every stack, with all that lies in it, by its text.
fn totals(text: &str) -> BTreeMap<String, u64> {
    let mut totals: BTreeMap<String, u64> = BTreeMap::new();
    for (frames, value) in stacks(text) {
        for depth in 1..=frames.len() {
            *totals.entry(frames[..depth].join(";")).or_default() += value;
        }
    }
    totals
}

/// A name as it stands in a frame.
fn shown(name: &str) -> String {
    name.replace(';', "；").replace('\n', "␊")
}

/// The same for a name that ends in a number.
fn numbered(name: &str) -> String {
    name.replace(' ', "\u{a0}")
}

#[test]
fn groups_have_their_frames() {
    let (trace, _) = zoo();
    let kernel = shown(KERNEL);
    for (group, stack) in [
        (StackGroup::Kernel, format!("{kernel};leader")),
        (StackGroup::Launch, format!("{kernel};{};leader", numbered("launch 1"))),
        (StackGroup::Sm, format!("{kernel};{};leader", numbered("SM 1"))),
        (StackGroup::Block, format!("{kernel};{};leader", numbered("launch 1;block 1"))),
        (StackGroup::Warp, format!("{kernel};{};leader", numbered("launch 1;block 1;warp 0"))),
    ] {
        let text = folded(&trace, group);
        let leaders = stacks(&text).into_iter().filter(|(frames, _)| frames.join(";") == stack);
        assert_eq!(leaders.count(), 1, "{stack} in {text}");
    }
}

#[test]
fn what_is_missing_is_seen() {
    let mut trace = launched("gemm", [3, 1, 1], 0.0, 100.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    let lossy = warp(&mut trace, [0, 0, 0], 0, 0.0, 100.0);
    region(&mut trace, lossy, load, 0, 10.0, 40.0);
    trace.warps[lossy].lost = 2;
    let hung = warp(&mut trace, [1, 0, 0], 0, 0.0, 0.0);
    trace.warps[hung].exit = None;
    region(&mut trace, hung, load, 0, 60.0, 0.0);
    last(&mut trace, hung).end = None;
    let wanted = "gemm;(outside regions, or in regions that were lost) 70\ngemm;load 30\n\
        gemm (never left) 60\ngemm (never left);load (open) 40\n";
    assert_eq!(folded(&trace, StackGroup::Kernel), wanted);
    assert_eq!(folded(&gpu(), StackGroup::Kernel), "");
}

#[test]
fn values_are_rounded_without_a_drift() {
    let (mut trace, warp) = lone_warp("gemm", 1000.0);
    // 1000 regions of 0.4 ns: each alone would be nothing.
    for index in 0..1000 {
        let name = site(&mut trace, SiteKind::Region, &format!("region {index}"));
        let start = f64::from(index);
        region(&mut trace, warp, name, 0, start, start + 0.4);
    }
    let text = folded(&trace, StackGroup::Kernel);
    let inside: u64 =
        stacks(&text).iter().filter(|(frames, _)| frames.len() > 1).map(|(_, value)| value).sum();
    assert_eq!((inside, totals(&text)["gemm"]), (400, 1000));
}

#[test]
fn moments_days_after_the_begin_are_told_apart() {
    // Ninety days.
    const BEGIN: f64 = 7_776e12;
    let mut trace = launched("gemm", [1, 1, 1], BEGIN, BEGIN + 100.0);
    let load = site(&mut trace, SiteKind::Region, "load");
    let warp = warp(&mut trace, [0, 0, 0], 0, BEGIN, BEGIN + 100.0);
    region(&mut trace, warp, load, 0, BEGIN + 10.0, BEGIN + 40.0);
    assert_eq!(folded(&trace, StackGroup::Kernel), "gemm 70\ngemm;load 30\n");
    // Beyond what any timer counts, values still are what readers can hold.
    for _ in 0..4 {
        let far = support::warp(&mut trace, [0, 0, 0], 0, 0.0, 0.0);
        trace.warps[far].entry.ns = -1e300;
        trace.warps[far].exit = Some(Time { ticks: u64::MAX, ns: 1e300 });
    }
    let text = folded(&trace, StackGroup::Kernel);
    assert_eq!(totals(&text)["gemm"], u64::MAX);
}

#[test]
fn tokens_that_are_never_ended_do_not_make_endless_stacks() {
    const TOKENS: u32 = 5000;
    let (mut trace, warp) = lone_warp("gemm", 20_000.0);
    let stage = site(&mut trace, SiteKind::Region, "stage");
    // All are open at 5000 ns, and end in the order in which they began.
    for index in 0..TOKENS {
        region(&mut trace, warp, stage, 0, f64::from(index), f64::from(index + 10_000));
    }
    let text = folded(&trace, StackGroup::Kernel);
    let stacks = stacks(&text);
    assert_eq!(stacks.iter().map(|(_, value)| value).sum::<u64>(), 20_000);
    assert!(stacks.iter().all(|(frames, _)| frames.len() <= 130));
    assert!(text.contains(";(deeper than 128 regions) "), "{text}");
}

/// Frames of the graph that inferno draws, by their names, in order of their values.
fn drawn(text: &str) -> Vec<(String, u64)> {
    let mut options = Options::default();
    options.count_name = "ns".to_owned();
    options.min_width = 0.0;
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, text.lines(), &mut svg).expect("inferno reads it");
    let svg = String::from_utf8(svg).expect("UTF-8");
    let titles = svg.split("<title>").skip(1).map(|rest| rest.split("</title>").next());
    let mut frames: Vec<(String, u64)> = titles
        .map(|title| {
            let title = title.expect("an end").replace("&lt;", "<").replace("&gt;", ">");
            let title = title.replace("&quot;", "\"").replace("&amp;", "&");
            let (name, figures) = title.rsplit_once(" (").expect("figures");
            let value = figures.split(" ns").next().expect("a value").replace(',', "");
            (name.to_owned(), value.parse().expect("a whole number"))
        })
        .collect();
    frames.sort();
    frames
}

#[test]
fn inferno_reads_any_name() {
    let names = ["a 2", "a 2.5", "2", "a;b", "", " a ", "a\tb", "\r\n", "a_[k]", "# a", "<&\">'"];
    let (mut trace, warp) = lone_warp("gemm 16", 1000.0);
    let sites = names.map(|name| site(&mut trace, SiteKind::Region, name));
    for (index, site) in sites.into_iter().enumerate() {
        let start = 10.0 * index as f64;
        region(&mut trace, warp, site, 0, start, start + 5.0);
    }
    let frames = drawn(&folded(&trace, StackGroup::Kernel));
    // The kernel, all, and every region by a name of its own.
    assert_eq!(frames.len(), names.len() + 2, "{frames:?}");
    assert_eq!(frames.iter().filter(|(_, value)| *value == 5).count(), names.len());
    assert_eq!(frames.iter().filter(|(_, value)| *value == 1000).count(), 2);
}

#[test]
fn inferno_draws_every_frame() {
    let (trace, _) = zoo();
    for group in GROUPS {
        let text = folded(&trace, group);
        let totals = totals(&text);
        let sum = stacks(&text).iter().map(|(_, value)| value).sum();
        let mut wanted: Vec<(String, u64)> = totals
            .into_iter()
            .map(|(stack, value)| (stack.rsplit(';').next().unwrap_or_default().to_owned(), value))
            .chain([("all".to_owned(), sum)])
            .collect();
        wanted.sort();
        assert_eq!(drawn(&text), wanted, "{group:?}");
    }
}

proptest! {
    /// Against a model that looks at every nanosecond.
    #[test]
    fn every_moment_has_one_stack(
        spans in prop::collection::vec((0u8..3, 0u8..60, 1u8..40, 0usize..4), 0..25),
        exit in 1u8..110,
    ) {
        let (mut trace, warp) = lone_warp("gemm", exit.into());
        let names = ["a", "b", "c", "d"];
        let sites = names.map(|name| site(&mut trace, SiteKind::Region, name));
        let mut spans: Vec<(u8, u64, u64, usize)> = spans
            .into_iter()
            .map(|(lane, start, length, name)| {
                (lane, start.into(), u64::from(start) + u64::from(length), name)
            })
            .collect();
        spans.sort_by_key(|&(_, start, end, _)| (start, u64::MAX - end));
        for &(lane, start, end, name) in &spans {
            region(&mut trace, warp, sites[name], 0, start as f64, end as f64);
            last(&mut trace, warp).lane = lane;
        }
        let mut wanted: BTreeMap<String, u64> = BTreeMap::new();
        for lane in 0..3 {
            for ns in 0..110u64 {
                let open = spans.iter().filter(|&&(of, start, end, _)| {
                    of == lane && (start..end).contains(&ns)
                });
                let frames: Vec<&str> = open.map(|&(_, _, _, name)| names[name]).collect();
                if lane == 0 && (ns < exit.into() || !frames.is_empty()) {
                    *wanted.entry([&["gemm"], &frames[..]].concat().join(";")).or_default() += 1;
                } else if !frames.is_empty() {
                    let stack = [&["gemm (other lanes)"], &frames[..]].concat().join(";");
                    *wanted.entry(stack).or_default() += 1;
                }
            }
        }
        let text = folded(&trace, StackGroup::Kernel);
        let found: BTreeMap<String, u64> =
            stacks(&text).into_iter().map(|(frames, value)| (frames.join(";"), value)).collect();
        prop_assert_eq!(found, wanted);
    }
}
