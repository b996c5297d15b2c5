//! Warps whose clock comes in steps of 32 ns.

use super::waits::waits;
use super::*;

const STEP: u64 = 32;
const NS_PER_CYCLE: f64 = 0.5;

/// What a made-up loop does in each turn.
#[derive(Clone, Copy, Debug)]
enum Do {
    /// Work of so many nanoseconds.
    Work(u64),
    Begin,
    End,
}

/// How long the regions of a loop's body, in the order of their begins, are on average of so many turns too
/// long, in nanoseconds, once the cost is subtracted.
fn mean_errors(cost: FormCosts, body: &[Do], turns: u32, eighths: &[u8]) -> Vec<f64> {
    let mut module = SyntheticModule::new(Keep::First, 1 << 14);
    let kernel = module.site(SiteKind::Kernel, "k");
    let begins = body.iter().filter(|step| matches!(step, Do::Begin)).count();
    let sites: Vec<u32> =
        (0..begins).map(|index| module.site(SiteKind::Region, &format!("r{index}"))).collect();
    let mut warp = SyntheticWarp::new(kernel, 640_000, 640_000);
    warp.header.record_clock = Clock::GlobalTimer;
    let mut holds = Holds::new(cost.waits, eighths);
    let (mut now, mut real) = (650_000.0, 650_000.0);
    let mut worked = vec![0.0; begins];
    for turn in 0..turns {
        let (mut open, mut begun) = (Vec::new(), 0);
        let mut stamp = |now: &mut f64, real: f64, cost: StampCost, is_begin: bool| {
            *now += cost.before_ticks * NS_PER_CYCLE;
            *now = holds.stamp(*now, real, cost, is_begin, NS_PER_CYCLE);
            let read = *now as u64 / STEP * STEP;
            *now += cost.after_ticks * NS_PER_CYCLE;
            read
        };
        for step in body {
            match step {
                Do::Work(ns) => {
                    now += *ns as f64;
                    real += *ns as f64;
                    open.iter().for_each(|&(index, _)| worked[index] += *ns as f64);
                }
                Do::Begin => {
                    open.push((begun, stamp(&mut now, real, cost.region_begin, true)));
                    begun += 1;
                }
                Do::End => {
                    let Some((index, start)) = open.pop() else { continue };
                    let end = stamp(&mut now, real, cost.region_end, false);
                    warp.range(sites[index], None, start, end);
                }
            }
        }
        while let Some((index, start)) = open.pop() {
            let end = stamp(&mut now, real, cost.region_end, false);
            warp.range(sites[index], None, start, end);
        }
        // Each turn begins elsewhere in a step: by the golden ratio, spread evenly.
        let pause = 200.0 + (f64::from(turn) * 0.618_034).fract() * 320.0;
        (now, real) = (now + pause, real + pause);
    }
    let leave = now as u64 + 1_000;
    warp.leave(2 * leave, leave);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(1000.0 / NS_PER_CYCLE);
    capture.record_cost = Some(RecordCost { one_lane: cost, ..RecordCost::default() });
    let mut trace = crate::decode(&capture);
    trace.timer_step_ns = STEP as f64;
    trace.subtract_record_cost();
    assert!(trace.diagnostics.is_empty(), "{}", trace.diagnostics);
    let mut recorded = vec![0.0; begins];
    for region in &trace.warps[0].regions {
        let name = &trace.site(region.site).name;
        let index: usize = name[1..].parse().expect("a number");
        recorded[index] += length(region) as f64;
    }
    let errors = recorded.iter().zip(&worked).map(|(got, real)| (got - real) / f64::from(turns));
    errors.collect()
}

/// Costs like those of an H200, of one lane and of an elected one, and small ones.
fn costs() -> [FormCosts; 3] {
    [(0.0, 8.0), (0.0, 40.0), (65.0, 40.0)].map(|(before_ticks, total)| {
        let costs = RecordCost::uniform(2.0, total).one_lane;
        let region_begin = StampCost { before_ticks, ..costs.region_begin };
        FormCosts { region_begin, waits: waits(), ..costs }
    })
}

#[test]
fn means_of_nests_are_right_within_eight_cycles() {
    for cost in costs() {
        for eighths in [&[][..], &[0], &[8, 3], &[1, 7, 5]] {
            for depth in [1, 2, 4, 8] {
                for work in [40, 500] {
                    let body = [vec![Do::Begin; depth], vec![Do::Work(work)], vec![Do::End; depth]];
                    let errors = mean_errors(cost, &body.concat(), 256, eighths);
                    let limit = 8.0 * NS_PER_CYCLE;
                    let is_right = errors.iter().all(|error| error.abs() <= limit);
                    assert!(is_right, "{depth} {work} {errors:?} {cost:?}");
                }
            }
        }
    }
}

#[test]
fn regions_shorter_than_a_step_are_not_cut() {
    for work in [0, 10, 20, 31] {
        let body = [Do::Begin, Do::Work(work), Do::End];
        let errors = mean_errors(costs()[0], &body, 256, &[0]);
        assert!(errors[0].abs() < 2.0, "{work} {errors:?}");
    }
}

/// Subtracts a cost from a warp by the timer, at 1 ns a cycle, that `record`s regions of as many names, and
/// marks of one.
fn subtracted(
    cost: RecordCost,
    names: usize,
    record: impl FnOnce(&mut SyntheticWarp, &[u32], u32),
) -> Trace {
    let mut module = SyntheticModule::new(Keep::First, 1 << 14);
    let kernel = module.site(SiteKind::Kernel, "k");
    let sites: Vec<u32> =
        (0..names).map(|index| module.site(SiteKind::Region, &format!("r{index}"))).collect();
    let mut warp = SyntheticWarp::new(kernel, 640_000, 640_000);
    warp.header.record_clock = Clock::GlobalTimer;
    let mark = module.site(SiteKind::Mark, "m");
    record(&mut warp, &sites, mark);
    warp.leave(1_800_000, 1_800_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are whole");
    capture.device.clock_mhz = Some(1000.0);
    capture.record_cost = Some(cost);
    let mut trace = crate::decode(&capture);
    assert_eq!(trace.lost(), 0);
    trace.timer_step_ns = STEP as f64;
    trace.subtract_record_cost();
    trace
}

fn lengths_of(trace: &Trace, name: &str) -> Vec<u64> {
    let regions = trace.warps[0].regions.iter();
    regions.filter(|region| trace.site(region.site).name == name).map(length).collect()
}

#[test]
fn what_was_read_in_no_known_order_does_not_add_up() {
    // Nothing but records, and a pause after each turn: `(`, `)` and `|` are begins, ends and marks.
    for (body, names) in
        [("(|)", 1), ("|()", 1), ("()|", 1), ("|()|", 1), ("(()())", 3), ("(())", 1)]
    {
        let mut around = 0;
        let after = subtracted(RecordCost::uniform(4.0, 17.0), names + 1, |warp, sites, mark| {
            let mut now = 650_004.0;
            let mut pauses = 0.0;
            for turn in 0..500 {
                let (mut open, mut begun) = (Vec::new(), 0);
                for stamp in body.chars() {
                    let read = now as u64 / STEP * STEP;
                    match stamp {
                        '(' => {
                            open.push((sites[1 + begun % names], read));
                            begun += 1;
                            now += 4.0;
                        }
                        ')' => {
                            let (site, start) = open.pop().expect("it was begun");
                            warp.range(site, None, start, read);
                            now += 13.0;
                        }
                        _ => {
                            warp.mark(mark, None, read);
                            now += 17.0;
                        }
                    }
                }
                let pause = 200.0 + (f64::from(turn) * 0.618_034).fract() * 320.0;
                (now, pauses) = (now + pause, pauses + pause);
            }
            warp.range(sites[0], None, 650_000 / STEP * STEP, now as u64 / STEP * STEP);
            around = pauses as u64;
        });
        let length = lengths_of(&after, "r0")[0];
        assert!(length.abs_diff(around) <= 2 * STEP, "{body}: {length}, not {around}");
    }
}
