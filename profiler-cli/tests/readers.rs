//! Other programs read the output: shells the completions, a terminal colours and progress.
//!
//! If a program is missing, its tests are ignored with a message; with
//! `PROFILER_REQUIRE_TOOLS=1` they fail. `cargo xtask tools` installs them.

#[path = "cli/support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_test_tools::synthetic::{Content, sized};
use profiler_test_tools::{Missing, announce, are_required};
use support::Folder;

/// A test by its name, with the program that it needs, and arguments that this understands.
type Test = (&'static str, &'static str, &'static [&'static str], fn() -> Result<(), Failed>);

const TESTS: &[Test] = &[
    ("bash_completes_commands", "bash", &["--version"], bash),
    ("zsh_reads_the_completions", "zsh", &["--version"], zsh),
    ("fish_completes_commands", "fish", &["--version"], fish),
    ("colour_is_used_on_a_terminal", "script", &["--version"], colour),
    ("progress_is_shown_on_a_terminal", "script", &["--version"], progress),
    ("progress_stands_before_what_is_written", "script", &["--version"], progress_of_writing),
    ("no_name_steers_a_terminal_instead_of_a_file", "script", &["--version"], names),
    ("lines_fit_a_terminal", "script", &["--version"], fits),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tests = TESTS.iter().map(|&(name, program, probe, test)| {
        let found = Command::new(program).args(probe).stdin(Stdio::null()).output();
        let is_there = found.is_ok_and(|output| output.status.success());
        if !is_there {
            let missing = format!("{program} is not installed; `cargo xtask tools` installs it");
            announce(name, &Missing::new(missing));
        }
        Trial::test(name, test).with_ignored_flag(!is_there && !are_required())
    });
    // Takes half a minute and a gibibyte: `-- --ignored large`.
    let large = Trial::test("large::progress_at_ten_million_regions", progress_of_ten_million);
    let tests = tests.chain([large.with_ignored_flag(true)]).collect();
    libtest_mimic::run(&arguments, tests).exit_code()
}

/// Runs a program to its end; what it says goes to standard output.
fn run(command: &mut Command) -> Result<String, Failed> {
    let output = command.stdin(Stdio::null()).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !stderr.trim().is_empty() {
        return Err(format!("{command:?}: {}: {stderr}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The completions of a shell, in a file.
fn completions(folder: &Folder, shell: &str) -> Result<PathBuf, Failed> {
    let ran = folder.run(&format!("completions {shell}")).done();
    folder.write("completions", &ran.stdout);
    Ok(folder.path("completions"))
}

fn bash() -> Result<(), Failed> {
    let folder = Folder::new();
    let script = completions(&folder, "bash")?;
    run(Command::new("bash").arg("-n").arg(&script))?;
    let complete = |words: &str, count: usize| {
        let program = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD={count}; \
             _profiler profiler \"${{COMP_WORDS[$COMP_CWORD]}}\" \"${{COMP_WORDS[$COMP_CWORD-1]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        run(Command::new("bash").args(["--norc", "-c", &program]))
    };
    assert_eq!(complete("profiler ti", 1)?.trim(), "timeline");
    assert_eq!(complete("profiler export --to pe", 3)?.trim(), "perfetto");
    assert!(complete("profiler check --deny los", 3)?.contains("losses"));
    Ok(())
}

fn zsh() -> Result<(), Failed> {
    let folder = Folder::new();
    let script = completions(&folder, "zsh")?;
    run(Command::new("zsh").args(["-f", "-n"]).arg(script)).map(drop)
}

fn fish() -> Result<(), Failed> {
    let folder = Folder::new();
    let script = completions(&folder, "fish")?;
    run(Command::new("fish").args(["--no-config", "--no-execute"]).arg(&script))?;
    let program = format!("source '{}'; complete -C 'profiler ti'", script.display());
    let completed = run(Command::new("fish").args(["--no-config", "-c", &program]))?;
    assert!(completed.starts_with("timeline\t"), "{completed}");
    Ok(())
}

/// Runs a line of shell on a terminal, where `$PROFILER` is the program.
fn on_terminal(folder: &Folder, line: &str, variables: &[(&str, &str)]) -> Result<String, Failed> {
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", line, "/dev/null"]);
    command.current_dir(folder.path("")).env("PROFILER", env!("CARGO_BIN_EXE_profiler"));
    // What the tests themselves run under says nothing here: with CI set, a dumb terminal is taken
    // for a log that shows colour.
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").envs(variables.iter().copied());
    run(&mut command)
}

fn colour() -> Result<(), Failed> {
    let folder = Folder::with_captures();
    let is_colored = |line: &str, variables: &[(&str, &str)]| {
        on_terminal(&folder, line, variables).map(|text| {
            assert!(text.contains("lossy"), "{line}: {text}");
            text.contains('\x1b')
        })
    };
    for line in ["$PROFILER timeline lossy.capture", "$PROFILER check lossy.capture"] {
        assert!(is_colored(line, &[])?, "{line}");
        assert!(!is_colored(line, &[("NO_COLOR", "1")])?, "{line}");
        assert!(!is_colored(line, &[("TERM", "dumb")])?, "{line}");
        assert!(!is_colored(&format!("{line} --color never"), &[])?, "{line}");
        assert!(!is_colored(&format!("{line} 2>&1 | cat"), &[])?, "{line}");
    }
    Ok(())
}

fn progress() -> Result<(), Failed> {
    let folder = Folder::with_captures();
    // A reader that waits for longer than the program's patience.
    let slow = "(sleep 2; cat gemm.capture) | $PROFILER stats -";
    let shown = on_terminal(&folder, slow, &[])?;
    assert!(shown.contains("reading standard input"), "{shown:?}");
    assert!(shown.contains("epilogue"), "{shown:?}");
    for line in [format!("{slow} --quiet"), format!("({slow}) 2>&1 | cat")] {
        let hidden = on_terminal(&folder, &line, &[])?;
        assert!(!hidden.contains("reading"), "{hidden:?}");
    }
    // Each capture takes less than that, and the command more.
    let slow = "mkfifo a b; for pipe in a b; do \
                (exec > $pipe; sleep 0.7; cat gemm.capture) & done; $PROFILER check a b; wait";
    let shown = on_terminal(&folder, slow, &[])?;
    assert!(shown.contains("reading b"), "{shown:?}");
    let quick = on_terminal(&folder, "$PROFILER stats gemm.capture", &[])?;
    assert!(!quick.contains("reading"), "{quick:?}");
    // A terminal refuses what it cannot show.
    let refused = on_terminal(&folder, "$PROFILER export gemm.capture --to perfetto || true", &[])?;
    assert!(refused.contains("write it to a file with -o FILE"), "{refused:?}");
    Ok(())
}

/// Output for programs is exact in a pipe. On a terminal nothing in it steers that, and JSON means the same.
fn names() -> Result<(), Failed> {
    let folder = Folder::new();
    folder.save("steering.capture", &support::steering());
    let steers =
        |c: &char| c.is_control() && !"\n\t".contains(*c) || "\u{202e}\u{2066}".contains(*c);
    for words in [
        "export steering.capture --to events-csv",
        "export steering.capture --to events-json",
        "export steering.capture --to chrome",
        "export steering.capture --to hatchet",
        "export steering.capture --to folded",
        "export steering.capture --to flamegraph",
        "export steering.capture --to events-csv -o /dev/stdout",
        "report steering.capture -o -",
        "stats steering.capture --format csv",
        "stats steering.capture --format json",
        "stats steering.capture --show balance,waits --format json",
        "info steering.capture --format json",
        "check steering.capture --format json",
        "diff steering.capture steering.capture --format json",
    ] {
        let shown = on_terminal(&folder, &format!("$PROFILER {words} 2> /dev/null"), &[])?;
        // The terminal's own ends of lines.
        let shown = shown.replace("\r\n", "\n");
        assert!(!shown.contains(|c| steers(&c)), "{words}: {shown:?}");
        let piped = folder.run(words).text();
        if words.contains("csv") {
            assert!(shown.contains("kernel [2J") && piped.contains("kernel\x1b[2J"), "{piped:?}");
        }
        // As JSON escapes it or, where nothing does, as a space.
        for (shown, piped) in shown.lines().zip(piped.lines()).filter(|_| words.contains("json")) {
            let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
            assert_eq!(value(shown), value(piped), "{words}");
        }
        assert_eq!(shown.lines().count(), piped.lines().count(), "{words}");
    }
    Ok(())
}

/// Commands that write only at the end show progress and the time left, even if the output is a
/// terminal; the bar is gone when the output begins.
fn progress_of_writing() -> Result<(), Failed> {
    let folder = Folder::new();
    let mut regions = 200_000;
    folder.save("it.capture", &sized(regions, Content::Regions)?);
    for (words, doing, begin) in [
        ("export - --to folded", "writing ", "kernel "),
        ("export - --to hatchet", "writing ", "[{"),
        ("export - --to hatchet > it.hatchet", "writing ", ""),
        ("export - -o it.folded.gz", "writing it.folded.gz ", "wrote it.folded.gz"),
        ("report - -o it.html", "writing it.html ", "wrote it.html"),
        ("stats -", "gathering statistics ", "synthetic, 132 SMs"),
        ("timeline -", "drawing ", "launch 0: kernel"),
        ("diff - it.capture", "gathering ", "side A: 1 capture"),
        ("stats - --show balance", "decoding ", "synthetic, 132 SMs"),
        ("stats - --show waits", "decoding ", "synthetic, 132 SMs"),
        ("stats - --show critical-path", "decoding ", "synthetic, 132 SMs"),
        ("info -", "decoding ", "file      standard input"),
        ("check -", "decoding ", "standard input: passed"),
    ] {
        // By then the program has lost its patience, so that a bar is there from the begin of all
        // else; how much it takes for a second frame depends on the machine.
        let line = format!("(sleep 2; cat it.capture) | $PROFILER {words}");
        let is_frame = |line: &&str| line.contains(doing) && line.ends_with(" left");
        let shown = loop {
            let shown = on_terminal(&folder, &line, &[])?;
            if shown.split(['\r', '\n']).any(|line| is_frame(&line)) {
                break shown;
            }
            regions *= 2;
            assert!(regions < 1 << 24, "{words}: {shown:?}");
            folder.save("it.capture", &sized(regions, Content::Regions)?);
        };
        let (bars, output) = shown.split_at(shown.rfind("\x1b[2K").ok_or("nothing is erased")?);
        assert!(bars.contains(doing), "{words}: {shown:?}");
        let output = output.trim_start_matches("\x1b[2K");
        assert!(output.starts_with(begin) && !output.contains(" left"), "{words}: {output:?}");
    }
    Ok(())
}

/// Output for people fits the terminal's width: tables leave columns out and name them, and long lines wrap.
/// Output to a pipe is whole.
fn fits() -> Result<(), Failed> {
    let folder = Folder::with_captures();
    let with_columns = |columns: usize, words: &str| {
        let line = format!("stty cols {columns} rows 24; $PROFILER {words}");
        on_terminal(&folder, &line, &[("NO_COLOR", "1")]).map(|text| text.replace('\r', ""))
    };
    for words in [
        "stats lossy.capture",
        "stats lossy.capture --show balance,waits,critical-path",
        "diff lossy.capture gemm.capture --fail-above 5% || true",
        "info lossy.capture --all",
        "check lossy.capture --deny losses || true",
        "timeline lossy.capture",
        "export lossy.capture -o lossy.json --to chrome",
    ] {
        for columns in [60, 80, 120] {
            let shown = with_columns(columns, words)?;
            let widest = shown.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            assert!(widest.chars().count() <= columns, "{words}, {columns}: {widest:?}");
        }
    }
    let left_out = "no room for: std dev, per warp";
    assert!(with_columns(90, "stats gemm.capture")?.contains(left_out));
    let wide = with_columns(400, "stats gemm.capture")?;
    assert!(wide.contains("std dev") && !wide.contains("no room for"), "{wide}");
    assert_eq!(with_columns(60, "stats gemm.capture | cat")?, wide);
    Ok(())
}

/// Ten million regions are written with a bar that goes on, in many frames.
fn progress_of_ten_million() -> Result<(), Failed> {
    let folder = Folder::new();
    folder.save("it.capture", &sized(10_000_000, Content::Regions)?);
    let shown = on_terminal(&folder, "$PROFILER export it.capture -o it.pftrace.gz", &[])?;
    let frames: Vec<&str> = (shown.split(['\r', '\n']))
        .filter(|line| line.contains("writing it.pftrace.gz") && line.ends_with(" left"))
        .collect();
    assert!(frames.len() > 4, "{shown:?}");
    let mut distinct = frames.clone();
    distinct.dedup();
    assert!(distinct.len() > 4, "{frames:?}");
    assert!(shown.contains("wrote it.pftrace.gz"), "{shown:?}");
    Ok(())
}
