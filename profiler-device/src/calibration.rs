//! The calibration kernel: measures on the device in use what a record costs, with the very code
//! that the module's own kernels record with.

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::STRATEGY_OF_KERNEL;
use profiler_wire::symbol::{CALIBRATION, CALIBRATION_COUNTS, CALIBRATION_EMPTY};

use crate::config::Config;
use crate::recorder::{Recorder, State};

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

/// A region around as many empty regions as there are arguments behind the first.
macro_rules! enclose {
    ($recorder:ident, $index:literal $(, $empty:tt)*) => {{
        let outer =
            $recorder.leader().region(site!(Region, CALIBRATION_COUNTS[$index].0, ""), 0, ());
        $(
            let () = $empty;
            $recorder.leader().region(site!(Region, CALIBRATION_EMPTY, ""), 0, ()).end();
        )*
        outer.end();
    }};
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
        enclose!(recorder, 0);
        enclose!(recorder, 1, ());
        enclose!(recorder, 2, (), ());
        enclose!(recorder, 3, (), (), (), ());
    }
}

/// See [`CALIBRATION`].
#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub extern "ptx-kernel" fn __profiler_calibrate_v1(rounds: u32) {
    calibrate(rounds);
}

/// See [`CALIBRATION`].
#[cfg(not(target_arch = "nvptx64"))]
pub fn __profiler_calibrate_v1(rounds: u32) {
    calibrate(rounds);
}
