//! The calibration kernel: measures on the device in use what a record costs, with the very code
//! that the module's own kernels record with.

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::STRATEGY_OF_KERNEL;
use profiler_wire::symbol::CALIBRATION;

use crate::config::Config;
use crate::recorder::{Recorder, State};
use crate::value::Payload;

macro_rules! site {
    ($kind:ident, $name:expr, $symbol:expr) => {
        crate::__site!(
            kind = $kind,
            name = $name,
            unit = "",
            strategy = STRATEGY_OF_KERNEL,
            symbol = $symbol,
            max_threads = 0,
            min_blocks = 0,
            max_registers = 0,
            names = []
        )
    };
}

/// One record of a form, by a leader.
macro_rules! record {
    (region, $leader:expr, $name:expr) => {
        $leader.region(site!(Region, $name, ""), 0, ()).end()
    };
    (token, $leader:expr, $name:expr) => {
        $leader.start(site!(Region, $name, ""), 0).end()
    };
    (value, $leader:expr, $name:expr) => {
        $leader.region(site!(Region, $name, ""), 0, Payload(1_u32)).end()
    };
    (mark, $leader:expr, $name:expr) => {
        $leader.mark(site!(Mark, $name, ""))
    };
    (anchor, $leader:expr, $name:expr) => {
        $leader.anchor()
    };
}

/// A region around as many records as there are arguments behind the count.
macro_rules! enclose {
    ($leader:expr, $election:literal, $form:ident, $count:literal $(, $unit:tt)*) => {{
        let outer = $leader.region(
            site!(Region, concat!($election, " ", stringify!($form), " x", $count), ""),
            0,
            (),
        );
        $(
            let () = $unit;
            record!($form, $leader, concat!($election, " ", stringify!($form)));
        )*
        outer.end();
    }};
}

/// All patterns of one election.
macro_rules! patterns {
    ($leader:expr, $election:literal, $($form:ident)*) => {
        $(
            enclose!($leader, $election, $form, 0);
            enclose!($leader, $election, $form, 1, ());
            enclose!($leader, $election, $form, 2, (), ());
            enclose!($leader, $election, $form, 4, (), (), (), ());
        )*
    };
}

#[inline(always)]
fn calibrate(rounds: u32) {
    let site = site!(Kernel, "profiler calibration", CALIBRATION);
    let config = Config {
        enabled: true,
        strategy: Strategy::Warp,
        when: true,
        clock: Clock::Cycles,
        track: 0,
    };
    // SAFETY: the first thing that the kernel does; this function is inlined into it.
    let state = unsafe { State::enter(site, config) };
    let recorder = Recorder::new(&state);
    for _ in 0..rounds {
        patterns!(recorder.leader(), "one-lane", region token value mark anchor);
        patterns!(recorder.leader_elected(), "elected", region token value mark anchor);
    }
}

/// See [`CALIBRATION`].
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub extern "ptx-kernel" fn __profiler_calibrate_v2(rounds: u32) {
    calibrate(rounds);
}

/// See [`CALIBRATION`].
#[cfg(not(target_arch = "nvptx64"))]
pub fn __profiler_calibrate_v2(rounds: u32) {
    calibrate(rounds);
}
