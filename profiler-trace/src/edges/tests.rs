use proptest::prelude::*;

use super::*;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

#[test]
fn between_readings_of_the_timer_the_tolerance_is_its_step() {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    for (sm, kind, ticks) in [(0, SiteKind::Signal, 400), (1, SiteKind::Wait, 300)] {
        let site = module.site(kind, "full");
        let mut warp = SyntheticWarp::new(kernel, 0, 3200);
        (warp.header.block, warp.header.sm) = ([sm, 0, 0], sm);
        warp.mark(site, None, ticks).leave(1_000_000, 1_003_200);
        module.warps.push(warp);
    }
    let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
    (trace.alignment_ns, trace.timer_step_ns) = (200.0, 32.0);
    assert_eq!(join(&trace).0.len(), 1);
    for warp in &mut trace.warps {
        warp.clock = Clock::GlobalTimer;
    }
    assert_eq!(join(&trace).0, []);
    trace.timer_step_ns = 100.0;
    assert_eq!(join(&trace).0.len(), 1);
}

/// Signals that follow the waits for them on their own SM, at times that would do on another: each wait
/// once went through all of them.
#[test]
fn waits_before_many_signals_of_their_sm_take_no_time_out_of_proportion() {
    const COUNT: u64 = 50_000;
    let mut module = SyntheticModule::new(Keep::First, 4 * COUNT as u32);
    let kernel = module.site(SiteKind::Kernel, "k");
    let signal = module.site(SiteKind::Signal, "full");
    let wait = module.site(SiteKind::Wait, "full");
    let mut warp = SyntheticWarp::new(kernel, 0, 3200);
    warp.mark(signal, None, 1);
    for ticks in 2..COUNT {
        warp.mark(wait, None, ticks);
    }
    for ticks in COUNT..2 * COUNT {
        warp.mark(signal, None, ticks);
    }
    warp.leave(1_000_000, 1_003_200);
    module.warps.push(warp);
    let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
    trace.alignment_ns = 1e9;
    let (edges, unmatched) = join(&trace);
    assert_eq!((edges.len() as u64, unmatched.count), (COUNT - 2, 0));
    assert!(edges.iter().all(|edge| edge.from == MarkIndex { warp: 0, mark: 0 }));
}

#[test]
fn integers_of_either_sign_are_one_key() {
    assert_eq!(key(Value::Unsigned(5)), key(Value::Signed(5)));
    assert_ne!(key(Value::Unsigned(u64::MAX)), key(Value::Signed(-1)));
    assert_ne!(key(Value::Float(5.0)), key(Value::Signed(5)));
}

/// What [`join`] says that it does, done for each wait by looking at every signal.
fn joined_one_by_one(trace: &Trace) -> (Vec<Edge>, u64) {
    let (mut edges, mut unmatched) = (Vec::new(), 0);
    let means = |mark: &Mark| (trace.site(mark.site).name.clone(), mark.value.map(key));
    for (launch, of) in trace.launches.iter().enumerate() {
        for to in marks(trace, of.warps.clone(), SiteKind::Wait) {
            let (of, wait) = get(trace, to);
            let mut latest: Option<(bool, f64, MarkIndex)> = None;
            for from in marks(trace, 0..trace.warps.len(), SiteKind::Signal) {
                let (by, signal) = get(trace, from);
                let tolerance = if by.sm == of.sm { 0.0 } else { trace.alignment_ns };
                let is_possible = by.launch == launch
                    && means(signal) == means(wait)
                    && signal.time.ns <= wait.time.ns + tolerance;
                let found = (by.block == of.block, signal.time.ns, from);
                // Of two at one time, the one that stands later.
                let is_later = |(own, ns, _)| (found.0, found.1) >= (own, ns);
                if is_possible && latest.is_none_or(is_later) {
                    latest = Some(found);
                }
            }
            match latest {
                Some((_, _, from)) => edges.push(Edge { from, to }),
                None => unmatched += 1,
            }
        }
    }
    (edges, unmatched)
}

prop_compose! {
    /// Marks at few times, so that many are at the same ones.
    fn a_mark()(site in 0..4_usize, number in 0..3_u8, ticks in 1..30_u64) -> (usize, u8, u64) {
        (site, number, ticks)
    }
}

proptest! {
    #[test]
    fn each_wait_has_the_signal_that_is_found_one_by_one(
        warps in prop::collection::vec(
            (0..2_u64, 0..3_u32, 0..3_u32, prop::collection::vec(a_mark(), 0..12)),
            1..8,
        ),
        tolerance in 0..10_u32,
    ) {
        let mut module = SyntheticModule::new(Keep::First, 64);
        let kernel = module.site(SiteKind::Kernel, "k");
        // Two channels, each with a signal and a wait.
        let sites = [
            module.site(SiteKind::Signal, "full"),
            module.site(SiteKind::Wait, "full"),
            module.site(SiteKind::Wait, "empty"),
            module.site(SiteKind::Signal, "empty"),
        ];
        for (index, (launch, block, sm, marks)) in warps.into_iter().enumerate() {
            let mut warp = SyntheticWarp::new(kernel, 0, 3200);
            warp.header.grid_id = 1 + launch;
            warp.header.block = [block, 0, 0];
            warp.header.grid_dim = [3, 1, 1];
            warp.header.warp = index as u32;
            warp.header.sm = sm;
            for (site, number, ticks) in marks {
                match number {
                    0 => warp.mark(sites[site], None, ticks),
                    1 => warp.value(sites[site], ticks, Value::Unsigned(1)),
                    _ => warp.value(sites[site], ticks, Value::Signed(1)),
                };
            }
            warp.leave(1_000_000, 1_003_200);
            module.warps.push(warp);
        }
        let mut trace = crate::decode(&module.into_capture().expect("the sites are whole"));
        trace.alignment_ns = f64::from(tolerance);
        let (edges, unmatched) = join(&trace);
        prop_assert!(edges.is_sorted_by_key(|edge| edge.to));
        prop_assert_eq!((edges, unmatched.count), joined_one_by_one(&trace));
    }
}
