//! A session is looked at while its kernel runs. It stands here, as this package is run under sanitizers;
//! what a view shows is the concern of the repository's `tests/tests/kernels/watched.rs`.

use std::sync::atomic::{AtomicU32, Ordering};

use profiler_device::hardware::lane_id;
use profiler_device::{profile_mark, profile_region, profiled, region_end, region_start};
use profiler_host::trace::DiagnosticKind as Kind;
use profiler_host::{Backend, BackendChoice, Keep, Profiler, Trace, launch};

/// Looks that the kernel waits for.
const LOOKS: u32 = 40;

/// Rounds of [`lanes_go_on`], of three regions each.
const ROUNDS: u32 = 30;

/// What every lane records: in each round two regions around one that each half of them leaves by itself. Looked at
/// from round to round.
///
/// # Safety
///
/// `looks` must be valid.
#[profiled(buffer = host, by = thread, clock = globaltimer)]
unsafe extern "ptx-kernel" fn lanes_go_on(looks: *const AtomicU32) {
    for round in 0..ROUNDS {
        profile_region!("together", {
            let across = region_start!("across");
            let apart = region_start!("apart");
            if lane_id().is_multiple_of(2) {
                region_end!(apart);
            } else {
                profile_mark!("odd");
                region_end!(apart);
            }
            region_end!(across);
        });
        // SAFETY: the caller's.
        while unsafe { &*looks }.load(Ordering::Relaxed) < round {
            std::thread::yield_now();
        }
    }
}

/// Lets the kernel end, whatever becomes of who looks.
struct Enough<'a>(&'a AtomicU32);

impl Drop for Enough<'_> {
    fn drop(&mut self) {
        self.0.store(LOOKS, Ordering::Relaxed);
    }
}

/// What a kernel that runs on never leaves.
fn check_whole(trace: &Trace) {
    for kind in [Kind::UnitInFlight, Kind::DamagedUnit, Kind::TimeNotMonotonic, Kind::DamagedHeader]
    {
        assert_eq!(trace.diagnostics.count(kind), 0, "{}", trace.diagnostics);
    }
}

/// How many regions each lane has ended.
fn ended(trace: &Trace) -> [usize; 32] {
    check_whole(trace);
    let mut ended = [0; 32];
    for region in trace.warps.iter().flat_map(|warp| &warp.regions) {
        ended[usize::from(region.lane)] += usize::from(region.end.is_some());
    }
    ended
}

#[test]
fn lanes_are_looked_at_while_they_run() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    for (keep, records) in [(Keep::First, 1 << 9), (Keep::Last, 8)] {
        let profiler =
            Profiler::builder().keep(keep).records_per_warp(records).records_per_lane(records);
        let profiler = profiler.lane_buffers(true).max_warps(1).build();
        let mut session = backend.session(&profiler.expect("the options")).expect("a session");
        let watch = session.watch().expect("a view");
        let looks = AtomicU32::new(0);
        let seen = std::thread::scope(|scope| {
            let seen = scope.spawn(|| {
                let enough = Enough(&looks);
                let seen = (0..LOOKS).map(|_| {
                    let ended = ended(&watch.snapshot().expect("a snapshot"));
                    enough.0.fetch_add(1, Ordering::Relaxed);
                    ended
                });
                seen.collect::<Vec<_>>()
            });
            // SAFETY: the number lives until the launch has ended.
            unsafe { launch!(session, lanes_go_on<<<1, 32>>>(&raw const looks)) }
                .expect("the launch");
            seen.join().expect("every look shows what is right")
        });
        let trace = session.finish().expect("a trace");
        // Two records for each region, and a mark in half of the lanes.
        let emitted = u64::from((32 * 2 * 3 + 16) * ROUNDS);
        assert_eq!(trace.recorded() + trace.lost(), emitted, "{}", trace.diagnostics);
        let last = ended(&trace);
        if keep == Keep::First {
            assert_eq!((trace.lost(), last), (0, [3 * ROUNDS as usize; 32]));
            for looks in seen.windows(2) {
                assert!(looks[0].iter().zip(looks[1]).all(|(one, next)| *one <= next), "{looks:?}");
            }
        }
        assert_eq!(watch.snapshot().expect("a snapshot").warps, trace.warps);
    }
}
