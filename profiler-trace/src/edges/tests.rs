use super::*;
use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};

/// `(is a wait, key, ticks)`.
type Recorded = (bool, u64, u64);

/// Joins the marks of warps given as `(block, sm, marks)`.
fn joined(warps: &[(u32, u32, &[Recorded])]) -> (Trace, Vec<[(u64, u64); 2]>) {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "k");
    let signal = module.site(SiteKind::Signal, "full");
    let wait = module.site(SiteKind::Wait, "full");
    for (index, &(block, sm, marks)) in warps.iter().enumerate() {
        let mut warp = SyntheticWarp::new(kernel, 0, 3200);
        warp.header.block = [block, 0, 0];
        warp.header.warp = index as u32;
        warp.header.sm = sm;
        for &(is_wait, key, ticks) in marks {
            warp.value(if is_wait { wait } else { signal }, ticks, Value::Unsigned(key));
        }
        warp.leave(1_000_000, 1_003_200);
        module.warps.push(warp);
    }
    let trace = crate::decode(&module.into_capture().expect("the sites are whole"));
    let place = |at: MarkIndex| {
        let warp = &trace.warps[at.warp];
        (u64::from(warp.warp), warp.marks[at.mark].time.ticks)
    };
    let edges = trace.edges.iter().map(|edge| [place(edge.from), place(edge.to)]).collect();
    (trace, edges)
}

#[test]
fn the_latest_signal_of_the_same_key_before_the_wait() {
    let (trace, edges) = joined(&[
        (0, 0, &[(false, 1, 100), (false, 1, 200), (false, 2, 250), (false, 1, 400)]),
        (0, 0, &[(true, 1, 300), (true, 2, 300), (true, 3, 300)]),
    ]);
    assert_eq!(edges, [[(0, 200), (1, 300)], [(0, 250), (1, 300)]]);
    assert_eq!(trace.diagnostics.count(DiagnosticKind::WaitWithoutSignal), 1);
}

#[test]
fn the_own_block_is_preferred_and_others_will_do() {
    let (_, edges) = joined(&[
        (0, 0, &[(false, 1, 100)]),
        (1, 1, &[(false, 1, 200)]),
        (0, 0, &[(true, 1, 300)]),
        (2, 2, &[(true, 1, 300)]),
    ]);
    assert_eq!(edges, [[(0, 100), (2, 300)], [(1, 200), (3, 300)]]);
}

#[test]
fn tolerance_holds_only_between_sms() {
    let (trace, edges) =
        joined(&[(0, 0, &[(false, 1, 310)]), (1, 1, &[(true, 1, 300)]), (2, 0, &[(true, 1, 300)])]);
    assert!(trace.alignment_ns >= 10.0);
    assert_eq!(edges, [[(0, 310), (1, 300)]]);
}

#[test]
fn between_readings_of_the_timer_the_tolerance_is_its_step() {
    let (mut trace, _) = joined(&[(0, 0, &[(false, 1, 400)]), (1, 1, &[(true, 1, 300)])]);
    (trace.alignment_ns, trace.timer_step_ns) = (200.0, 32.0);
    assert_eq!(join(&trace).0.len(), 1);
    for warp in &mut trace.warps {
        warp.clock = Clock::GlobalTimer;
    }
    assert_eq!(join(&trace).0, []);
    trace.timer_step_ns = 100.0;
    assert_eq!(join(&trace).0.len(), 1);
}

#[test]
fn integers_of_either_sign_are_one_key() {
    assert_eq!(key(Value::Unsigned(5)), key(Value::Signed(5)));
    assert_ne!(key(Value::Unsigned(u64::MAX)), key(Value::Signed(-1)));
    assert_ne!(key(Value::Float(5.0)), key(Value::Signed(5)));
}
