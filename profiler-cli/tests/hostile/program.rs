//! The program itself on damaged files, with its memory and time limited by the system.

#[path = "../cli/support/mod.rs"]
mod support;

use std::process::{Command, Output};

use super::small::small;
use super::{Damaged, alone, damaged_files};
use support::Folder;

/// KiB of address space, with the stacks of all threads and the program itself.
const MEMORY_KIB: u32 = 2 << 20;
/// Seconds on a core.
const SECONDS: u32 = 20;

/// Every command that reads captures, on the file `it.capture`, beside `whole.capture`.
const COMMANDS: [&str; 8] = [
    "info it.capture",
    "check it.capture",
    "stats it.capture",
    "timeline it.capture",
    "export it.capture --to perfetto -o it.pftrace",
    "report it.capture -o it.html",
    "diff it.capture whole.capture",
    "diff whole.capture it.capture --fail-above 5%",
];

fn run(folder: &Folder, words: &str) -> Output {
    let limited = format!("ulimit -v {MEMORY_KIB}; ulimit -t {SECONDS}; exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_profiler");
    let mut command = Command::new("sh");
    command.current_dir(folder.path(""));
    command.args(["-c", &limited, "sh", program]).args(words.split_whitespace());
    command.output().expect("the program can be run")
}

#[test]
fn the_program_ends_in_order_on_every_kind_of_damage() {
    let folder = Folder::new();
    let capture = small();
    folder.save("whole.capture", &capture);
    let files = {
        let _alone = alone();
        damaged_files()
    };
    for Damaged { what, bytes, error } in files {
        folder.write("it.capture", bytes);
        for words in COMMANDS {
            let output = run(&folder, words);
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{what}, `{words}`: {stderr}");
            assert!(
                stderr.contains(&format!("it.capture: {error}")),
                "{what}, `{words}`: {stderr}"
            );
        }
    }
}
