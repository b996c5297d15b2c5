//! Signals leave nothing behind.
#![cfg(unix)]

use crate::support;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::Capture;
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

/// Lets a shell become a command, after what it does `first`, and sends the command a signal while it
/// writes; the exit code that another shell would see.
fn interrupted(folder: &Folder, first: &str, words: &str, signal: &str) -> i32 {
    let mut shell = Command::new("sh");
    let script = format!("{first} echo $$; exec \"$@\"");
    shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_profiler")]);
    shell.args(words.split_whitespace()).current_dir(folder.path(""));
    shell.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut shell = shell.spawn().expect("there is a shell");
    let mut said = BufReader::new(shell.stdout.take().expect("it was piped"));
    let mut process = String::new();
    said.read_line(&mut process).expect("the number of the process");
    let mut is_running = || shell.try_wait().expect("it is a child").is_none();
    while is_running() && !has_part(folder) {
        std::thread::yield_now();
    }
    if is_running() {
        let script = format!("kill -s {signal} {}", process.trim());
        Command::new("sh").args(["-c", &script]).status().expect("a shell");
    }
    said.read_to_string(&mut String::new()).expect("what else it says");
    let ended = shell.wait().expect("it ends");
    ended.code().or_else(|| ended.signal().map(|number| 128 + number)).expect("one of them")
}

/// Whether whoever runs this test had signals of this number ignored, as its children then do.
fn is_ignored(number: u32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 != 0)
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
        for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
            // Where it is not known which signals are ignored, a closed terminal is not answered.
            if is_ignored(number) || number == 1 && !cfg!(target_os = "linux") {
                continue;
            }
            loop {
                folder.save("it.capture", &long(warps));
                folder.write(output, b"before");
                let code = interrupted(&folder, "", words, signal);
                assert_eq!(folder.names(), ["it.capture", output], "{words}");
                // What was there before stays, unless all was written before the signal came: then
                // there is more to write the next time.
                if code != 0 && folder.bytes(output) == b"before" {
                    assert_eq!(code as u32, 128 + number, "{words}");
                    break;
                }
                warps *= 2;
                assert!(warps < 1 << 20, "{words} is never interrupted");
            }
            std::fs::remove_file(folder.path(output)).expect("it is there");
        }
    }
}

/// As `nohup` and shells that run a command in the background have it.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let folder = Folder::new();
    folder.save("it.capture", &long(2_000));
    assert_eq!(folder.run("export it.capture -o whole.json").code, Some(0));
    let whole = folder.bytes("whole.json");
    for signal in ["HUP", "INT"] {
        if signal == "INT" && !cfg!(target_os = "linux") {
            continue;
        }
        let first = format!("trap '' {signal};");
        let code = interrupted(&folder, &first, "export it.capture -o it.json", signal);
        assert_eq!(code, 0, "SIG{signal}");
        assert_eq!(folder.names(), ["it.capture", "it.json", "whole.json"]);
        assert!(folder.bytes("it.json") == whole, "SIG{signal}");
        std::fs::remove_file(folder.path("it.json")).expect("it is there");
    }
}
