//! What a signal leaves behind.
#![cfg(unix)]

mod support;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use profiler_trace::Capture;
use profiler_trace::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_wire::SiteKind;
use support::Folder;

/// So many warps of a hundred regions.
fn long(warps: u32) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 128);
    let kernel = module.site(SiteKind::Kernel, "long");
    let region = module.site(SiteKind::Region, "step");
    for block in 0..warps {
        let mut warp = SyntheticWarp::new(kernel, 1000, 1_000_000);
        warp.header.grid_dim = [warps, 1, 1];
        warp.header.block = [block, 0, 0];
        for step in 0..100 {
            warp.range(region, None, 2000 + 100 * step, 2050 + 100 * step);
        }
        warp.leave(20_000, 1_009_500);
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are in order")
}

/// Whether a file is being written there.
fn has_part(folder: &Folder) -> bool {
    folder.names().iter().any(|name| Path::new(name).extension().is_some_and(|it| it == "part"))
}

/// Lets a shell run a command and sends the command a signal while it writes; the exit code that the
/// shell sees.
fn interrupted(folder: &Folder, words: &str, signal: &str) -> i32 {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$@\" & echo $!; wait $!; echo $?", "sh", env!("CARGO_BIN_EXE_profiler")]);
    shell.args(words.split_whitespace()).current_dir(folder.path(""));
    shell.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut shell = shell.spawn().expect("there is a shell");
    let mut said = BufReader::new(shell.stdout.take().expect("it was piped"));
    let mut process = String::new();
    said.read_line(&mut process).expect("the number of the process");
    let kill = |signal: &str| {
        let script = format!("kill -s {signal} {}", process.trim());
        let mut kill = Command::new("sh");
        kill.args(["-c", &script]).stderr(Stdio::null()).status().expect("a shell").success()
    };
    // While it is there and has not begun to write; signal 0 only asks.
    while !has_part(folder) && kill("0") {
        std::thread::yield_now();
    }
    kill(signal);
    let mut code = String::new();
    said.read_to_string(&mut code).expect("its exit code");
    shell.wait().expect("the shell ends");
    code.trim().parse().expect("a number")
}

#[test]
fn a_signal_leaves_no_part_of_a_file() {
    let folder = Folder::new();
    let mut warps = 500;
    for (words, output) in [
        ("export it.capture -o it.json", "it.json"),
        ("export it.capture -o it.csv.gz", "it.csv.gz"),
        ("report it.capture -o it.html", "it.html"),
        ("stats it.capture --by warp -o it.stats.csv", "it.stats.csv"),
    ] {
        for (signal, number) in [("TERM", 15), ("INT", 2)] {
            loop {
                folder.save("it.capture", &long(warps));
                folder.write(output, b"before");
                let code = interrupted(&folder, words, signal);
                assert_eq!(folder.names(), ["it.capture", output], "{words}");
                // What was there before stays, unless all was written before the signal came: then
                // there is more to write the next time.
                if code != 0 && folder.bytes(output) == b"before" {
                    assert_eq!(code, 128 + number, "{words}");
                    break;
                }
                warps *= 2;
                assert!(warps < 1 << 20, "{words} is never interrupted");
            }
            std::fs::remove_file(folder.path(output)).expect("it is there");
        }
    }
}
