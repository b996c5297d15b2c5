//! The calibration kernel: it measures the cost of a record on the device in use, with the code that users'
//! kernels record with.
//!
//! For the GPU it is a module of its own, which the crate `profiler-calibration` makes and profiler-host
//! carries.

use core::cell::Cell;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use profiler_wire::site::{Buffer, STRATEGY_OF_KERNEL};
use profiler_wire::symbol::CALIBRATION;

use crate::config::{BufferChoice, Config};
use crate::hardware;
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

/// A region around `inner`.
macro_rules! region {
    ($leader:expr, $name:expr, $payload:expr, $inner:expr) => {{
        let region = $leader.region(site!(Region, $name, ""), 0, $payload);
        $inner;
        region.end();
    }};
}

/// One record of a form, by a leader, around `inner`; a mark and an anchor stand before it.
macro_rules! record {
    ($election:literal, region, $leader:expr, $value:ident, $inner:expr) => {
        region!($leader, concat!($election, " region"), (), $inner)
    };
    ($election:literal, value, $leader:expr, $value:ident, $inner:expr) => {
        region!($leader, concat!($election, " value"), Payload($value.get()), $inner)
    };
    ($election:literal, mark, $leader:expr, $value:ident, $inner:expr) => {{
        $leader.mark(site!(Mark, concat!($election, " mark"), ""));
        $inner;
    }};
    ($election:literal, anchor, $leader:expr, $value:ident, $inner:expr) => {{
        $leader.anchor();
        $inner;
    }};
}

/// Records of one form, each in the one before, as many as there are stars.
macro_rules! nest {
    ($election:literal, $form:ident, $leader:expr, $value:ident,) => {};
    ($election:literal, $form:ident, $leader:expr, $value:ident, * $($inner:tt)*) => {
        record!(
            $election,
            $form,
            $leader,
            $value,
            nest!($election, $form, $leader, $value, $($inner)*)
        )
    };
}

/// A region around `inner`, after a pause.
macro_rules! enclose {
    ($leader:expr, $value:ident, $name:expr, $inner:expr) => {{
        pause(&$value);
        region!($leader, $name, (), $inner);
    }};
}

/// All patterns of one election: see [`CALIBRATION`].
macro_rules! patterns {
    (
        $election:literal, $leader:expr, $value:ident,
        rows: $($row:ident)*,
        nests: $($nest:ident)*,
        apart: $($form:ident)*
    ) => {
        $(
            enclose!($leader, $value, concat!($election, " ", stringify!($row), " row"), {
                record!($election, $row, $leader, $value, ());
                record!($election, $row, $leader, $value, ());
                record!($election, $row, $leader, $value, ());
            });
        )*
        $(
            enclose!($leader, $value, concat!($election, " ", stringify!($nest), " nest"), {
                nest!($election, $nest, $leader, $value, * * * *);
            });
        )*
        enclose!($leader, $value, concat!($election, " apart"), {
            pause(&$value);
            pause(&$value);
            pause(&$value);
            pause(&$value);
            pause(&$value);
        });
        $(
            enclose!($leader, $value, concat!($election, " ", stringify!($form), " apart"), {
                pause(&$value);
                record!($election, $form, $leader, $value, pause(&$value));
                pause(&$value);
                record!($election, $form, $leader, $value, pause(&$value));
                pause(&$value);
            });
        )*
    };
}

/// A pause, longer than a record delays the next one, with work at its end. As ptxas removes unused results,
/// regions with a value carry the result.
#[inline(always)]
fn pause(value: &Cell<u32>) {
    value.set(hardware::work(hardware::pause(value.get())));
}

/// The patterns of an election.
macro_rules! election {
    (one_lane, $recorder:ident, $value:ident) => {
        patterns!(
            "one-lane", $recorder.leader(), $value,
            rows: region value mark,
            nests: region value,
            apart: region value mark anchor
        );
    };
    (elected, $recorder:ident, $value:ident) => {
        patterns!(
            "elected", $recorder.leader_elected(), $value,
            rows: region value mark,
            nests: region value,
            apart: region value mark anchor
        );
    };
}

/// Rounds of the patterns of both elections.
#[inline(always)]
fn calibrate(rounds: u32) {
    let site = site!(Kernel, "profiler calibration", CALIBRATION);
    let config = Config {
        enabled: true,
        strategy: Strategy::Warp,
        when: true,
        clock: Clock::Cycles,
        buffer: BufferChoice::new(Buffer::Global),
        track: 0,
    };
    let Some(block) = State::recorded_block(config) else { return };
    // SAFETY: the first thing that the kernel does; its function is inlined into it.
    let state = unsafe { State::enter_block(site, config, block) };
    let recorder = Recorder::new(&state);
    let value = Cell::new(rounds); // See `pause`.
    for _ in 0..rounds {
        election!(one_lane, recorder, value);
        election!(elected, recorder, value);
    }
}

hardware::kernel! {
    /// See [`CALIBRATION`].
    fn __profiler_calibrate_v1(rounds) {
        calibrate(rounds);
    }
}
