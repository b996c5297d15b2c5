//! What a comparison says of two sides; how often it is wrong is in `rates`.

mod rates;

use std::slice::from_ref;

use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

use super::{Diff, DiffOptions, DiffRow, DiffSide, Outcome, Threshold, Verdict, diff};
use crate::diagnostic::DiagnosticKind;
use crate::model::Trace;
use crate::stats::{GroupBy, StatsQuery};
use crate::support::{gpu, launch, region, said, site, warp};
use noise::{MODEL, Model, Noise};

/// A duration in nanoseconds, by the number of the launch.
type OfLaunch = fn(usize) -> f64;

/// Launches of 4 blocks on 4 SMs in which each region of a name lasts as given by the launch.
fn even(launches: usize, names: &[(&str, OfLaunch)]) -> Trace {
    let mut trace = gpu();
    let kernel = site(&mut trace, SiteKind::Kernel, "gemm");
    let sites: Vec<_> =
        names.iter().map(|(name, _)| site(&mut trace, SiteKind::Region, name)).collect();
    for number in 0..launches {
        let begin = number as f64 * 1e5;
        launch(&mut trace, kernel, [4, 1, 1], begin, begin + 5e4);
        for block in 0..4 {
            let of = warp(&mut trace, [block, 0, 0], 0, begin, begin + 5e4);
            for (site, (_, ns)) in sites.iter().zip(names) {
                for at in 0..10 {
                    let start = begin + f64::from(at) * 2e3;
                    region(&mut trace, of, *site, 0, start, start + ns(number));
                }
            }
        }
    }
    trace
}

impl Diff {
    fn get(&self, name: &str) -> Option<&DiffRow> {
        self.rows.iter().find(|row| row.subject.to_string() == name)
    }
}

fn compare(a: &[Trace], b: &[Trace]) -> Diff {
    diff(a, b, &DiffOptions::default()).expect("usable options")
}

#[test]
fn figures_changes_and_verdicts() {
    let jitter = |number: usize| 100.0 + (number * 7 % 5) as f64;
    let slower = |number: usize| 110.0 + (number * 7 % 5) as f64;
    let a = even(8, &[("load", jitter), ("mma", jitter), ("gone", jitter)]);
    let b = even(8, &[("load", slower), ("mma", jitter), ("new", jitter)]);
    let result = compare(&[a], &[b]);
    let names: Vec<_> = result.rows.iter().map(|row| row.subject.to_string()).collect();
    let wanted =
        ["gemm (launches)", "gemm", "gemm › load", "gemm › mma", "gemm › gone", "gemm › new"];
    assert_eq!(names, wanted);
    let verdicts: Vec<_> = result.rows.iter().map(|row| row.verdict).collect();
    let wanted = [
        Verdict::NoChange,
        Verdict::NoChange,
        Verdict::Slower,
        Verdict::NoChange,
        Verdict::OnlyA,
        Verdict::OnlyB,
    ];
    assert_eq!(verdicts, wanted);
    let row = result.get("gemm › load").expect("a row");
    // 2 ticks a nanosecond; launches 0 to 7 have 100, 102, 104, 101, 103, 100, 102, 104.
    assert_eq!((row.in_cycles, row.units(), row.unit_counts.0), (true, Some("launches"), 8));
    let (of_a, of_b) = (row.a.expect("in A"), row.b.expect("in B"));
    assert_eq!((of_a.count, of_a.count_per_launch, of_a.mean), (320, 40.0, 204.0));
    assert_eq!((of_b.mean, row.absolute), (224.0, 20.0));
    assert!(row.is_change);
    let text = result.to_string();
    assert!(text.contains("+9.80 %") && text.contains("only in B"), "{text}");
    assert!(text.contains("launches are compared"), "{text}");
    let last = "\n1 of 6 rows changed by 1 % or more, at a false discovery rate of 5 %; 2 could not be tested\n";
    assert!(text.ends_with(last), "{text}");
}

#[test]
fn the_same_input_has_the_same_result_and_the_order_of_sides_turns_it() {
    let mut noise = Noise::new(5);
    let model = Model { captures: 8, launches: 1, names: 3, ..MODEL };
    let (a, b) = (model.side(&mut noise), Model { scale: 1.2, ..model }.side(&mut noise));
    let (one, again, turned) = (compare(&a, &b), compare(&a, &b), compare(&b, &a));
    assert_eq!(one, again);
    for (one, turned) in one.rows.iter().zip(&turned.rows) {
        assert_eq!(one.units(), if one.p.is_some() { Some("captures") } else { None });
        assert_eq!(one.absolute, -turned.absolute);
        assert_eq!(one.is_change, turned.is_change);
    }
    // Added one by one, and dropped, they make the same sides.
    let options = DiffOptions::default();
    let side = |traces: Vec<Trace>| {
        let mut side = DiffSide::new(&options).expect("usable options");
        traces.into_iter().for_each(|trace| side.add(&trace));
        side
    };
    assert_eq!(Diff::of(&side(a), &side(b)).expect("the same options"), one);
}

#[test]
fn one_launch_a_side_says_what_it_cannot_tell() {
    let model = Model { launches: 1, blocks: 40, of_block: 0.02, ..MODEL };
    let mut noise = Noise::new(9);
    let (a, b) = (model.side(&mut noise), Model { scale: 1.5, ..model }.side(&mut noise));
    let result = compare(&a, &b);
    let row = result.get("noisy › work 0").expect("a row");
    assert_eq!((row.units(), row.verdict), (Some("blocks"), Verdict::Slower));
    let launches = result.get("noisy (launches)").expect("a row");
    assert_eq!((launches.verdict, launches.p), (Verdict::TooFew, None));
    let notes = result.notes.join("\n");
    assert!(notes.contains("from launch to launch") && notes.contains("6 captures"), "{notes}");
}

#[test]
fn no_spread_and_small_changes() {
    // On an emulator all may last the same.
    let a = even(8, &[("same", |_| 100.0), ("little", |_| 1000.0), ("much", |_| 1000.0)]);
    let b = even(8, &[("same", |_| 100.0), ("little", |_| 1005.0), ("much", |_| 1015.0)]);
    let result = compare(from_ref(&a), from_ref(&b));
    let row = |name: &str| result.get(&format!("gemm › {name}")).expect("a row").clone();
    assert_eq!((row("same").verdict, row("same").p), (Verdict::NoChange, Some(1.0)));
    // Beyond doubt, and below 1 %.
    assert!(row("little").q.expect("a test") < 0.01);
    assert_eq!(row("little").verdict, Verdict::NoChange);
    assert_eq!(row("much").verdict, Verdict::Slower);
    let options = DiffOptions { min_effect: 0.0, ..DiffOptions::default() };
    let result = diff(&[a], &[b], &options).expect("usable options");
    assert_eq!(result.get("gemm › little").expect("a row").verdict, Verdict::Slower);
}

#[test]
fn paths_filters_and_clocks() {
    let mut a = even(8, &[("outer", |_| 1000.0), ("inner", |_| 100.0)]);
    for warp in &mut a.warps {
        warp.regions.sort_by_key(|region| region.start.ticks);
        for region in &mut warp.regions {
            region.depth = u16::from(region.site.0 == 2);
        }
    }
    let query = StatsQuery::new().by(GroupBy::Path).name("inner");
    let by_path = DiffOptions { query, ..DiffOptions::default() };
    let result = diff(from_ref(&a), from_ref(&a), &by_path).expect("usable options");
    assert_eq!(result.rows.len(), 1);
    let row = result.get("gemm › outer › inner").expect("a row");
    let of_a = row.a.expect("in A");
    assert_eq!((of_a.count, of_a.mean, row.in_cycles), (320, 200.0, true));
    assert!(result.notes.iter().any(|note| note == "compared is only: names inner"));
    // Cycles on one side and the timer on the other have no difference.
    let mut timer = a.clone();
    timer.warps.iter_mut().for_each(|warp| warp.clock = Clock::GlobalTimer);
    let result = compare(from_ref(&a), from_ref(&timer));
    assert_eq!(result.get("gemm › inner").expect("a row").verdict, Verdict::OtherClock);
    assert_eq!(result.check(&Threshold::default()).outcome, Outcome::Inconclusive);
}

#[test]
fn what_is_wrong_with_a_side_is_said() {
    let a = even(8, &[("load", |_| 100.0)]);
    let mut b = a.clone();
    b.device.name = "NVIDIA H100".to_owned();
    b.warps[0].lost = 30;
    b.warps[0].regions[3].end = None;
    b.warps[1].exit = None;
    b.warps[2].exit = None;
    b.clock_mhz = Some(1500.0);
    b.cost_subtracted = true;
    b.diagnostics.add(said(DiagnosticKind::DamagedUnit, 3, 0));
    let a = Trace { clock_mhz: Some(1980.0), ..a };
    let result = compare(from_ref(&a), &[b]);
    let notes = result.notes.join("\n");
    for wanted in [
        "side A: 1 capture, 8 launches, 320 records, NVIDIA H200",
        "the devices differ",
        "side B LOST 30 of 350 records",
        "3 units are not records",
        "side B: 1 launch did not end and is in no figure",
        "side B: 1 region did not end and is in no figure",
        "side B: 2 warps never left and are in no figure",
        "subtracted on one side only",
        "1980 MHz on side A and at 1500 MHz on side B",
    ] {
        assert!(notes.contains(wanted), "{wanted}\n{notes}");
    }
    assert!(result.devices_differ && result.is_damaged);
    let report = result.check(&Threshold::default());
    assert_eq!((report.outcome, report.reasons.len()), (Outcome::Inconclusive, 3));
    // Nothing at all on a side.
    let result = compare(&[a], &[]);
    assert!(result.rows.iter().all(|row| row.verdict == Verdict::OnlyA));
    assert!(compare(&[], &[]).notes.iter().any(|note| note.contains("nothing to compare")));
    assert_eq!(compare(&[], &[]).check(&Threshold::default()).outcome, Outcome::Inconclusive);
}

/// Launches that hung were once as long as the warps that left took, and what never ended on a side was
/// passed over.
#[test]
fn what_did_not_end_is_not_short() {
    let a = even(8, &[("load", |_| 100.0), ("mma", |_| 200.0)]);
    let reasons = |a: &Trace, b: &Trace, threshold: &Threshold| {
        let report = compare(from_ref(a), from_ref(b)).check(threshold);
        let reasons: Vec<String> = report.reasons.into_iter().map(|(_, reason)| reason).collect();
        (report.outcome, reasons)
    };
    let lenient = Threshold { slowdown: 10.0, allow_damage: true, allow_missing: true };
    // One warp of each launch hangs, and the others leave soon.
    let mut hung = a.clone();
    for launch in &mut hung.launches {
        launch.end_ns = launch.start_ns + 1e3;
        hung.warps[launch.warps.start].exit = None;
    }
    let all = compare(from_ref(&a), from_ref(&hung));
    let launches = all.get("gemm (launches)").expect("a row");
    assert_eq!(launches.b.map(|b| (b.count, b.open, b.mean)), Some((0, 8, 0.0)));
    assert_eq!((launches.verdict, launches.absolute), (Verdict::TooFew, 0.0));
    let inconclusive = |reason: &str| (Outcome::Inconclusive, vec![reason.to_owned()]);
    let hung_on = |side| inconclusive(&format!("gemm (launches) did not end on side {side}"));
    assert_eq!(reasons(&a, &hung, &lenient), hung_on("B"));
    assert_eq!(reasons(&hung, &a, &lenient), hung_on("A"));
    // Without an end on both sides there is nothing to tell, and the regions are compared.
    assert_eq!(reasons(&hung, &hung, &lenient), (Outcome::Pass, Vec::new()));
    let mut once = a.clone();
    once.warps[0].exit = None;
    assert_eq!(reasons(&a, &once, &lenient), hung_on("B"));
    assert_eq!(reasons(&once, &a, &lenient), hung_on("A"));
    assert_eq!(reasons(&once, &once, &lenient), (Outcome::Pass, Vec::new()));
    // A region that never ends; one that is open now and then is compared by its others.
    let mut open = a.clone();
    let regions = open.warps.iter_mut().flat_map(|warp| &mut warp.regions);
    regions.filter(|region| region.site.0 == 2).for_each(|region| region.end = None);
    assert_eq!(reasons(&a, &open, &lenient), inconclusive("gemm › mma did not end on side B"));
    open.warps[0].regions[10].end = a.warps[0].regions[10].end;
    assert_eq!(reasons(&a, &open, &lenient), (Outcome::Pass, Vec::new()));
    // The end of the capture.
    for kind in [DiagnosticKind::KernelFailed, DiagnosticKind::KernelRunning] {
        let mut cut = a.clone();
        cut.diagnostics.add(said(kind, 1, 0));
        let strict = Threshold { allow_damage: false, ..lenient };
        let reason = "a kernel of side B failed or was still running";
        let notes = compare(from_ref(&a), from_ref(&cut)).notes.join("\n");
        assert!(
            notes.contains("side B: in 1 capture a kernel failed or was still running"),
            "{notes}"
        );
        assert_eq!(reasons(&a, &cut, &strict), inconclusive(reason));
        assert_eq!(reasons(&a, &cut, &lenient), (Outcome::Pass, Vec::new()));
    }
}

#[test]
fn a_threshold_for_machines() {
    let a = even(8, &[("load", |_| 100.0), ("mma", |_| 200.0)]);
    let b = even(8, &[("load", |_| 108.0), ("mma", |_| 190.0)]);
    let result = compare(from_ref(&a), &[b]);
    let report = result.check(&Threshold::default());
    assert_eq!(report.outcome, Outcome::Fail);
    assert_eq!(
        report.to_string(),
        "fail: a mean grew by more than 5 %\n  fail: gemm › load: the mean grew by 8 %"
    );
    let lenient = Threshold { slowdown: 0.1, ..Threshold::default() };
    assert_eq!(result.check(&lenient).to_string(), "pass: no mean grew by more than 10 %");
    // What is gone, and what looks slower but cannot be tested.
    let report = compare(from_ref(&a), &[even(8, &[("load", |_| 100.0)])]).check(&lenient);
    assert_eq!(report.outcome, Outcome::Inconclusive);
    let lenient = Threshold { allow_missing: true, ..lenient };
    let report = compare(&[a], &[even(8, &[("load", |_| 100.0)])]).check(&lenient);
    assert_eq!((report.outcome, report.reasons), (Outcome::Pass, Vec::new()));
    let few = compare(&[even(1, &[("load", |_| 100.0)])], &[even(1, &[("load", |_| 150.0)])]);
    let report = few.check(&lenient);
    assert_eq!(report.outcome, Outcome::Inconclusive);
    assert!(report.to_string().contains("looks slower by 50 % but has too few"), "{report}");
}

/// A mean that doubled once passed where the change was not significant.
#[test]
fn a_growth_that_may_be_noise_is_no_pass() {
    let a = even(8, &[("load", |_| 100.0)]);
    // One launch of eight lasts much longer: the mean doubles.
    let b = even(8, &[("load", |number| if number == 3 { 900.0 } else { 100.0 })]);
    let result = compare(from_ref(&a), from_ref(&b));
    let row = result.get("gemm › load").expect("a row");
    assert_eq!((row.relative, row.verdict), (Some(1.0), Verdict::NoChange));
    assert!(row.p.is_some() && !row.is_change);
    let report = result.check(&Threshold::default());
    assert_eq!(
        report.to_string(),
        "inconclusive: whether a mean grew by more than 5 % cannot be told\n  inconclusive: gemm › \
         load: the mean grew by 100 %, and that may be noise: give each side more captures (6 or more), taken in turns"
    );
    // Within the threshold, faster, or smaller than what is a change at all: a pass.
    let pass = |result: &Diff, slowdown| {
        let report = result.check(&Threshold { slowdown, ..Threshold::default() });
        assert_eq!((report.outcome, report.reasons), (Outcome::Pass, Vec::new()));
    };
    pass(&result, 1.0);
    pass(&compare(&[b], from_ref(&a)), 0.05);
    pass(&compare(from_ref(&a), &[even(8, &[("load", |_| 100.5)])]), 0.0);
    // Of captures that were enough for a test, and did not tell, more than there were.
    let captures = |slow: Option<usize>| -> Vec<Trace> {
        let of = |at| -> OfLaunch { if slow == Some(at) { |_| 900.0 } else { |_| 100.0 } };
        (0..8).map(|at| even(1, &[("load", of(at))])).collect()
    };
    let report = compare(&captures(None), &captures(Some(3))).check(&Threshold::default());
    assert_eq!(report.outcome, Outcome::Inconclusive);
    assert!(report.to_string().contains("more captures (16 or more)"), "{report}");
}

#[test]
fn options_that_cannot_be() {
    let wrong = |options: DiffOptions| diff(&[], &[], &options).expect_err("refused").to_string();
    let options = DiffOptions::default;
    let by_sm = DiffOptions { query: StatsQuery::new().by(GroupBy::Sm), ..options() };
    assert!(wrong(by_sm).contains("matched by sm: group by name or by path"));
    for rate in [0.0, 1.0, f64::NAN] {
        assert!(
            wrong(DiffOptions { false_discovery_rate: rate, ..options() }).contains("such as 5 %")
        );
    }
    for min_effect in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(wrong(DiffOptions { min_effect, ..options() }).contains("such as 1 %"));
    }
    let side =
        |min_effect| DiffSide::new(&DiffOptions { min_effect, ..options() }).expect("usable");
    let error = Diff::of(&side(0.1), &side(0.2)).expect_err("they differ").to_string();
    assert!(error.contains("different options"), "{error}");
}

#[test]
fn json_has_what_the_result_has() {
    let a = even(8, &[("load", |_| 100.0), ("gone \"\n", |_| 5.0)]);
    let b = even(8, &[("load", |_| 120.0)]);
    let result = compare(&[a], &[b]);
    let text = result.to_json().to_string();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["schema"], "profiler-diff-1");
    let rows = json["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), result.rows.len());
    let load = rows.iter().find(|row| row["path"] == serde_json::json!(["load"])).expect("a row");
    assert_eq!(load["verdict"], "slower");
    assert_eq!(load["a"]["mean"], 200.0);
    assert_eq!(load["change"]["absolute"], 40.0);
    assert_eq!(load["change"]["is_change"], true);
    assert_eq!(load["units"]["kind"], "launches");
    let gone = rows.iter().find(|row| row["path"] == serde_json::json!(["gone \"\n"]));
    assert_eq!(gone.expect("a row")["b"], serde_json::Value::Null);
    let report = result.check(&Threshold::default()).to_json();
    assert_eq!(report["outcome"], "fail");
}

mod noise {
    //! Traces whose times are noise as on a GPU: regions depend on the region before them, blocks on
    //! their SM, launches on their capture, and none of it is normal.

    use crate::model::{SiteIndex, Trace};
    use profiler_wire::SiteKind;

    use crate::support::{gpu, launch, region, site, warp};

    /// Numbers that look random and are the same each time: xorshift64* (G. Marsaglia, 2003; S. Vigna,
    /// 2016).
    pub(crate) struct Noise(u64);

    impl Noise {
        pub(crate) fn new(seed: u64) -> Self {
            // Seeds that lie side by side must not begin alike.
            let mut noise = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            for _ in 0..8 {
                noise.uniform();
            }
            noise
        }

        /// From 0 to below 1.
        pub(crate) fn uniform(&mut self) -> f64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
        }

        /// Around 0 with the standard deviation 1.
        pub(crate) fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// How much of the logarithm of a duration comes from where: standard deviations.
    #[derive(Clone, Copy)]
    pub(crate) struct Model {
        pub(crate) captures: usize,
        pub(crate) launches: usize,
        pub(crate) blocks: u32,
        /// Blocks go to them in turns.
        pub(crate) sms: u32,
        pub(crate) regions: usize,
        pub(crate) names: usize,
        pub(crate) of_capture: f64,
        pub(crate) of_launch: f64,
        /// How much of a launch's deviation the next one keeps.
        pub(crate) launch_memory: f64,
        pub(crate) of_sm: f64,
        pub(crate) of_block: f64,
        pub(crate) of_region: f64,
        /// How much of a region's deviation the next one of the warp keeps.
        pub(crate) region_memory: f64,
        /// All durations times this.
        pub(crate) scale: f64,
    }

    /// Eight launches of 8 blocks on 4 SMs, 30 regions a warp that much depend on each other.
    pub(crate) const MODEL: Model = Model {
        captures: 1,
        launches: 8,
        blocks: 8,
        sms: 4,
        regions: 30,
        names: 1,
        of_capture: 0.0,
        of_launch: 0.03,
        launch_memory: 0.0,
        of_sm: 0.0,
        of_block: 0.05,
        of_region: 0.1,
        region_memory: 0.9,
        scale: 1.0,
    };

    impl Model {
        /// One side: a trace for each capture. Regions are called `work 0`, `work 1`, ..
        pub(crate) fn side(&self, noise: &mut Noise) -> Vec<Trace> {
            (0..self.captures).map(|_| self.trace(noise)).collect()
        }

        fn trace(&self, noise: &mut Noise) -> Trace {
            let mut trace = gpu();
            let kernel = site(&mut trace, SiteKind::Kernel, "noisy");
            let names: Vec<SiteIndex> = (0..self.names)
                .map(|name| site(&mut trace, SiteKind::Region, &format!("work {name}")))
                .collect();
            let of_capture = self.of_capture * noise.normal();
            let mut of_launch = noise.normal();
            for number in 0..self.launches {
                let memory = self.launch_memory;
                of_launch = memory * of_launch + (1.0 - memory * memory).sqrt() * noise.normal();
                let begin = number as f64 * 1e6;
                launch(&mut trace, kernel, [self.blocks, 1, 1], begin, begin + 1e5);
                let of_sm: Vec<f64> = (0..self.sms).map(|_| self.of_sm * noise.normal()).collect();
                for block in 0..self.blocks {
                    let of_block = self.of_block * noise.normal();
                    let entry = begin + f64::from(block);
                    let of = warp(&mut trace, [block, 0, 0], 0, entry, begin + 1e5);
                    trace.warps[of].sm = block % self.sms;
                    for name in &names {
                        let shared = of_capture
                            + self.of_launch * of_launch
                            + of_block
                            + of_sm[(block % self.sms) as usize];
                        self.regions(&mut trace, of, *name, shared, noise);
                    }
                }
            }
            trace
        }

        /// The regions of one name in a warp.
        fn regions(
            &self,
            trace: &mut Trace,
            of: usize,
            name: SiteIndex,
            shared: f64,
            noise: &mut Noise,
        ) {
            let memory = self.region_memory;
            let mut own = noise.normal();
            let mut at = trace.warps[of].entry.ns;
            for _ in 0..self.regions {
                own = memory * own + (1.0 - memory * memory).sqrt() * noise.normal();
                // Now and then something takes three times as long: two modes and a tail.
                let slow = if noise.uniform() < 0.05 { 3.0 } else { 1.0 };
                let ns = 200.0 * self.scale * slow * (shared + self.of_region * own).exp();
                region(trace, of, name, 0, at, at + ns);
                at += ns;
            }
        }
    }
}
