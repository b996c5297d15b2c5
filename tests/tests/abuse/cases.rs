//! The list of the cases.

use std::time::Duration;

use crate::setting::{Case, Provoked, Setting};
use crate::{events, failures, modules, sessions, shapes};

/// What one case may take on a GPU without a sanitizer.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);
/// What it may take under a sanitizer.
pub(crate) const SANITIZER_LIMIT: Duration = Duration::from_secs(300);

/// A case that runs on the emulator too.
const fn case(name: &'static str, what: &'static str, run: fn(Setting)) -> Case {
    Case {
        name,
        what,
        run,
        emulator: true,
        limit: LIMIT,
        provokes: Provoked::NOTHING,
        alone: false,
    }
}

/// A case that needs streams, graphs or modules of its own.
const fn gpu_case(name: &'static str, what: &'static str, run: fn(Setting)) -> Case {
    Case { emulator: false, ..case(name, what, run) }
}

/// The driver refuses what the case asks of it, and memcheck reports that too.
const fn refused_by(call: &'static [&'static str]) -> Provoked {
    Provoked { always: &[], perhaps: call }
}

/// What a tool may say after a kernel that failed: that calls to the driver fail.
const AFTER_A_FAILURE: &[&str] = &["on CUDA API call to", "trap", "Trap", "xception"];

/// What a kernel that traps provokes: memcheck says of each thread that it did.
const A_TRAP: Provoked = Provoked { always: &["Trace/breakpoint trap"], perhaps: AFTER_A_FAILURE };

/// All cases, those that need the GPU for themselves last.
pub(crate) static CASES: [Case; 29] = [
    case(
        "too_many_events",
        "ten times too many records: 7 strategies, 2 clocks, buffers of 0 to 8 units, both ends kept",
        events::too_many_events,
    ),
    case("too_many_warps", "more warps than slots", events::too_many_warps),
    case(
        "in_memory_of_the_host",
        "`buffer = host`: ten times too many records, 7 strategies, 2 clocks, buffers of 0 to 8 units, both \
         ends kept, lanes that leave, more warps than slots",
        events::in_memory_of_the_host,
    ),
    case("grids", "grids of 1, 4097 and 65 537 blocks, 65 535 in y and in z", shapes::grids),
    Case {
        emulator: false,
        ..case("a_million_blocks", "2^20 blocks, all recorded", shapes::a_million_blocks)
    },
    case("blocks", "blocks of 1, 31, 33, 1023, 1024 and 7x5x3 threads", shapes::blocks),
    case("selections", "a few warps of a few blocks of large grids", shapes::selections),
    case("warps_that_leave", "warps that leave early", shapes::warps_that_leave),
    case("lanes_that_leave", "lanes that leave early, lane 0 among them", shapes::lanes_that_leave),
    case("a_thousand_launches", "1000 launches in one session", sessions::a_thousand_launches),
    case(
        "dropped_without_finish",
        "sessions dropped without finish",
        sessions::dropped_without_finish,
    ),
    case("read_several_times", "records read several times", sessions::read_several_times),
    case("nothing_selected", "a selection that nothing is in", sessions::nothing_selected),
    case("not_annotated", "a kernel without annotations", sessions::not_annotated),
    Case {
        provokes: refused_by(&["on CUDA API call to cuLaunchKernel"]),
        ..case(
            "refused_launches",
            "empty grids and blocks, and blocks of 1025 threads",
            sessions::refused_launches,
        )
    },
    case(
        "guards_are_overwritten",
        "a write before, within, between and after the arrays of a session, which the guards show",
        sessions::guards_are_overwritten,
    ),
    case(
        "guards_in_memory_of_the_host",
        "`buffer = host`: a write before, within, between and after the arrays, which the guards show",
        events::guards_in_memory_of_the_host,
    ),
    gpu_case("two_streams", "1000 launches in two streams at once", modules::two_streams),
    gpu_case("two_modules", "three modules in one session", modules::two_modules),
    gpu_case("two_sessions", "two sessions at once", modules::two_sessions),
    gpu_case("module_reloaded", "a module loaded again and again", modules::module_reloaded),
    gpu_case("graph_replays", "a CUDA graph of two kernels, replayed", modules::graph_replays),
    Case {
        // A session looks for the kernels of the PTX that it is given.
        provokes: refused_by(&[
            "on CUDA API call to cuModuleGetGlobal",
            "on CUDA API call to cuModuleGetFunction",
        ]),
        ..gpu_case(
            "module_without_annotations",
            "a module without annotations, and PTX of another module",
            modules::module_without_annotations,
        )
    },
    Case {
        alone: true,
        ..case(
            "clocks_kept",
            "clocks kept for no time and for longer than a kernel takes, ended in each way, begun twice",
            sessions::clocks_kept,
        )
    },
    Case {
        provokes: A_TRAP,
        alone: true,
        ..case("trap", "a trap in the middle of a region", failures::trap)
    },
    Case {
        provokes: A_TRAP,
        alone: true,
        ..case(
            "trap_while_clocks_are_kept",
            "`buffer = host`: a trap while clocks are kept, whose readings are in the trace",
            failures::trap_while_clocks_are_kept,
        )
    },
    Case {
        provokes: A_TRAP,
        alone: true,
        ..case(
            "guards_and_a_trap",
            "`buffer = host`: a write before all buffers, and then a trap; both are told",
            failures::guards_and_a_trap,
        )
    },
    Case {
        provokes: Provoked { always: &["Invalid __global__ write"], perhaps: AFTER_A_FAILURE },
        alone: true,
        ..gpu_case("illegal_address", "a write to nobody's memory", failures::illegal_address)
    },
    Case {
        alone: true,
        ..gpu_case(
            "trap_in_another_process",
            "a trap in another process, beside a session",
            failures::trap_in_another_process,
        )
    },
];
