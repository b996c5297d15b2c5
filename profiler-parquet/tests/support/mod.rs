//! Traces for tests and measurements.
#![allow(dead_code, reason = "each user needs a part of it")]

use profiler_test_tools::synthetic::{Content, Keep, SyntheticModule, SyntheticWarp, sized};
use profiler_trace::{Capture, Trace, Value, decode};
use profiler_wire::SiteKind;
use profiler_wire::header::Clock;

/// Numbers that look random and are the same in every run (Knuth's MMIX multiplier and increment).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A trace of so many regions, as tiles of a kernel leave them.
pub(crate) fn many_regions(regions: u64) -> Trace {
    decode(&sized(regions, Content::Regions).expect("the sites are whole"))
}

/// A capture in which everything occurs that a table can hold.
///
/// Two launches of two blocks of two warps, and a third by the timer's clock: nested, crossing, open
/// and zero-length regions, tracks, lanes, values of all types, a name list, marks, signals and
/// waits, names that a careless writer trips over, losses, and a warp that never left.
pub(crate) fn zoo_capture() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 96);
    module.lane_capacity = Some(8);
    let kernel = module.site(SiteKind::Kernel, "gemm");
    let tile = module.site(SiteKind::Region, "tile");
    let load = module.site_with_unit(SiteKind::Region, "load \"x\", 'y'", "bytes");
    let wait = module.site(SiteKind::Region, "warten auf ∞\n/");
    let flops = module.site_with_unit(SiteKind::Region, "mma", "flop");
    let same = module.site(SiteKind::Region, "tile");
    let tasks = module.names("TASK", &["first", "second"]);
    let note = module.site(SiteKind::Mark, "note");
    let full = module.site(SiteKind::Signal, "full");
    let for_full = module.site(SiteKind::Wait, "full");
    let timed = module.site(SiteKind::Kernel, "timed");
    let mut numbers = Numbers(7);
    for launch in 0..3 {
        for block in 0..2 {
            for index in 0..2 {
                let by_timer = launch == 2;
                let begin = 1_000_000 * (launch + 1) + 700 * u64::from(block);
                let mut warp =
                    SyntheticWarp::new(if by_timer { timed } else { kernel }, begin, begin / 2);
                warp.header.grid_id = launch + 1;
                warp.header.block = [block, 0, 0];
                warp.header.grid_dim = [2, 1, 1];
                warp.header.block_dim = [64, 1, 1];
                warp.header.warp = index;
                warp.header.sm = 3 * block + 1;
                warp.header.cluster_rank = (launch == 1).then_some(block);
                if by_timer {
                    warp.header.record_clock = Clock::GlobalTimer;
                }
                let mut at = if by_timer { begin / 2 } else { begin };
                for round in 0..6 {
                    let start = at + 10 + numbers.below(20);
                    let inner = start + 5 + numbers.below(9);
                    let middle = inner + 40 + numbers.below(50);
                    let end = middle + 30 + numbers.below(70);
                    warp.range(load, None, inner, middle);
                    warp.attach(load, middle, Value::Unsigned(512 * (round + 1)));
                    // Nested in itself by name, and in no time at all.
                    warp.range(same, None, middle + 3, middle + 3);
                    warp.range(wait, None, middle + 2, end - 2);
                    warp.range(tile, None, start, end);
                    at = end;
                }
                // Two that cross, on the user's track and on the warp's own, and one in both.
                for track in [None, Some(9)] {
                    let at = at + 20;
                    warp.begin(flops, track, at);
                    warp.begin(tasks + 1, track, at + 10);
                    warp.range(tile, track, at + 12, at + 18);
                    warp.end(flops, track, at + 30);
                    warp.attach(flops, at + 30, Value::Float(0.1 + f64::from(index)));
                    warp.end(tasks + 1, track, at + 40);
                    warp.attach(tasks + 1, at + 40, Value::Signed(-3));
                }
                at += 100;
                warp.value(note, at, Value::Unsigned(u64::MAX));
                warp.mark(note, Some(9), at + 1);
                if index == 0 {
                    warp.value(full, at + 2, Value::Unsigned(launch));
                } else {
                    warp.value(for_full, at + 400, Value::Signed(launch.cast_signed()));
                }
                // Never ended.
                warp.begin(tasks + 2, None, at + 410);
                warp.mark(note, None, at + 415);
                warp.lane(5).range(load, None, begin + 50, begin + 90);
                if by_timer {
                    warp.lanes.remove(&5);
                }
                if launch == 1 && block == 1 && index == 1 {
                    // More than fits, in a warp that leaves.
                    warp.lane(0);
                    for more in 0..120 {
                        warp.range(wait, None, at + 420 + 2 * more, at + 421 + 2 * more);
                    }
                }
                let exit = if by_timer { 2 * (at + 700) } else { at + 700 };
                if launch != 0 || block != 1 || index != 0 {
                    warp.leave(exit, exit / 2);
                }
                module.warps.push(warp);
            }
        }
    }
    module.into_capture().expect("the sites are whole")
}

/// [`zoo_capture`], decoded.
pub(crate) fn zoo() -> Trace {
    decode(&zoo_capture())
}
