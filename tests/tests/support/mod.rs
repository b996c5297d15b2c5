//! Reading PTX, and what several tests share.

pub(crate) mod carried;
pub(crate) mod graph;
pub(crate) mod modules;
pub(crate) mod watching;

use profiler_emulator::{Emulator, LaunchConfig, Stop};
use profiler_host::{Backend, BackendChoice, ProfilerBuilder};

/// Makes two tests of each function `fn(BackendChoice)`: on the emulator and, with `--ignored`, on a GPU.
macro_rules! on_both_back_ends {
    ($($name:ident)*) => {
        mod emulator {
            $(#[test]
            fn $name() {
                super::$name(profiler_host::BackendChoice::Emulator);
            })*
        }
        mod gpu {
            $(#[test]
            #[ignore = "needs an NVIDIA GPU"]
            fn $name() {
                super::$name(profiler_host::BackendChoice::Gpu);
            })*
        }
    };
}
pub(crate) use on_both_back_ends;

/// A test that needs the PTX of the test kernels; without a compiler it is listed as ignored.
macro_rules! ptx_test {
    ($(#[$attribute:meta])* fn $name:ident() $body:block) => {
        $(#[$attribute])*
        #[test]
        #[cfg_attr(
            no_nvptx_compiler,
            ignore = "needs a compiler for nvptx64; `cargo xtask tools` installs one"
        )]
        fn $name() $body
    };
}
pub(crate) use ptx_test;

/// PTX without comments and blank lines.
pub(crate) fn code(ptx: &str) -> Vec<&str> {
    ptx.lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim_end())
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// The lines of one kernel.
pub(crate) fn entry<'a>(ptx: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!(".entry {name}(");
    let lines = code(ptx);
    let begin = lines
        .iter()
        .position(|line| line.contains(&head))
        .unwrap_or_else(|| panic!("no kernel {name} in the PTX"));
    let length = lines[begin..]
        .iter()
        .position(|line| *line == "}")
        .unwrap_or_else(|| panic!("kernel {name} has no end"));
    lines[begin..=begin + length].to_vec()
}

/// How many lines of a kernel hold one of the instructions.
pub(crate) fn count(lines: &[&str], instructions: &[&str]) -> usize {
    let holds = |line: &str| {
        instructions
            .iter()
            .any(|instruction| line.split_whitespace().any(|word| word.starts_with(instruction)))
    };
    lines.iter().filter(|line| holds(line)).count()
}

/// A back end whose kernels may wait for ever, and what stops them where it is the emulator.
pub(crate) fn never_stopping(choice: BackendChoice, ptx: Option<&'static str>) -> (Backend, Stop) {
    let stop = Stop::new();
    let backend = match choice {
        BackendChoice::Emulator => {
            let mut template = LaunchConfig::new([1; 3], [1; 3]);
            template.yield_limit = u64::MAX;
            template.stop = Some(stop.clone());
            Backend::emulator(Emulator::default(), template)
        }
        choice => Backend::choose(choice, ptx).expect("the back end"),
    };
    (backend, stop)
}

/// Buffers of so many records for lanes, where `buffers` says that they have any: elsewhere a builder refuses their
/// size.
pub(crate) fn with_lane_buffers(
    builder: ProfilerBuilder,
    buffers: bool,
    records: u32,
) -> ProfilerBuilder {
    let builder = builder.lane_buffers(buffers);
    if buffers { builder.records_per_lane(records) } else { builder }
}
