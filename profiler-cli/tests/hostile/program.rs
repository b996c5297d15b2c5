//! The program itself on damaged files, with its memory and time limited by the system.

#[path = "../cli/support/mod.rs"]
mod support;

use std::process::{Command, Output};

use profiler_trace::decode;

use super::small::small;
use super::{alone, damaged_files};
use support::Folder;

/// KiB of address space, with the stacks of all threads and the program itself.
const MEMORY_KIB: u32 = 2 << 20;
/// Seconds on a core.
const SECONDS: u32 = 20;

/// Every command on the file `it.capture`, beside `whole.capture`; all formats, all groupings.
const COMMANDS: [&str; 32] = [
    "info it.capture",
    "info it.capture --format json",
    "check it.capture",
    "check it.capture --format json",
    "stats it.capture",
    "stats it.capture --by path",
    "stats it.capture --by launch --format csv",
    "stats it.capture --by sm --format json",
    "stats it.capture --by block",
    "stats it.capture --by warp --window 10%..90%",
    "stats it.capture --show balance,waits,critical-path",
    "stats it.capture --subtract-cost",
    "stats it.capture --launch 0 --sm 0-1",
    "timeline it.capture",
    "timeline it.capture --sm 0 --window 25%.. --rows 3",
    "export it.capture --to perfetto -o it.pftrace",
    "export it.capture -o it.pftrace.gz --group-by sm --no-counters",
    "export it.capture --to chrome",
    "export it.capture --to hatchet",
    "export it.capture --to folded --group-by warp",
    "export it.capture --to events-csv",
    "export it.capture --to events-json",
    "export it.capture --to parquet -o it.parquet",
    "export it.capture --to arrow -o it.arrow",
    "export it.capture --to flamegraph",
    "report it.capture -o it.html",
    "export it.capture --to perfetto -o it.pftrace --launch 0 --sm 0,1",
    "export it.capture --to folded --block 0 --warp 0",
    "report it.capture -o it.html --kernel * --launch 0-9",
    "diff it.capture whole.capture",
    "diff whole.capture it.capture --fail-above 5%",
    "diff whole.capture it.capture --format json",
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
    let whole = decode(&capture);
    folder.save("whole.capture", &capture);
    let files = {
        let _alone = alone();
        damaged_files()
    };
    for damaged in files {
        let what = &damaged.what;
        folder.write("it.capture", &damaged.bytes);
        for words in COMMANDS {
            let output = run(&folder, words);
            let stderr = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0..=3)),
                "{what}, `{words}`: {:?}\n{stderr}",
                output.status
            );
            let Some(read) = &damaged.capture else {
                assert_eq!(code, Some(2), "{what}, `{words}`");
                let said = if damaged.bytes.is_empty() {
                    "the file is empty"
                } else {
                    "damaged or missing"
                };
                assert!(stderr.contains(said), "{what}, `{words}`: {stderr}");
                continue;
            };
            if words.starts_with("check") {
                assert_eq!(code, Some(1), "{what}, `{words}`");
            }
            // A comparison says it where its figures may be others.
            if words.starts_with("diff") && decode(read).warps == whole.warps {
                continue;
            }
            let said = format!("{stderr}{}", String::from_utf8_lossy(&output.stdout));
            assert!(
                said.contains("damaged") || said.contains("LOST"),
                "{what}, `{words}` says nothing of the damage:\n{said}"
            );
        }
    }
}
