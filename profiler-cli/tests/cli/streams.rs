//! Files, pipes, standard input and output; what is damaged, and what is no capture.

use crate::support;

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use profiler_trace::Export;
use support::{Folder, program};

/// Every command that reads one capture and prints.
const READERS: [&str; 5] = [
    "info gemm.capture",
    "stats gemm.capture",
    "timeline gemm.capture",
    "check gemm.capture",
    "export gemm.capture --to perfetto",
];

#[test]
fn standard_input_is_read_as_a_file_is() {
    let folder = Folder::with_captures();
    let bytes = folder.bytes("gemm.capture");
    for words in READERS {
        let named = folder.run(words);
        let piped = folder.run_with(&words.replace("gemm.capture", "-"), &bytes, &[]);
        let expected = String::from_utf8_lossy(&named.stdout).into_owned();
        let expected = expected.replace("gemm.capture", "standard input");
        assert_eq!(String::from_utf8_lossy(&piped.stdout), expected, "{words}");
        assert_eq!((named.code, piped.code), (Some(0), Some(0)), "{words}");
        assert_eq!(piped.stderr, "");
    }
}

#[test]
fn standard_input_stands_for_one_capture_only() {
    let folder = Folder::with_captures();
    let bytes = folder.bytes("gemm.capture");
    for words in ["diff - -", "diff --before - --after gemm.capture -", "check - gemm.capture -"] {
        let ran = folder.run_with(words, &bytes, &[]);
        ran.refused("error: standard input is named 2 times, and can be read once");
    }
    folder.run_with("diff - gemm.capture", &bytes, &[]).done();
}

/// The arrays of the capture have 18 432 bytes, its metadata some thousand.
#[test]
fn a_capture_beyond_the_memory_limit_is_refused_by_every_command() {
    let folder = Folder::with_captures();
    let more = ["report gemm.capture -o -", "diff gemm.capture gemm.capture"];
    for words in READERS.into_iter().chain(more) {
        let within = folder.run(&format!("{words} --memory-limit 1M"));
        assert_eq!(within.stdout, folder.run(words).stdout, "{words}");
        let beyond = folder.run(&format!("{words} --memory-limit 16K"));
        let said = "gemm.capture holds more than the 16.38 kB that --memory-limit allows\n  \
                    help: if you trust";
        beyond.refused(said);
    }
    folder.run("stats gemm.capture --memory-limit much").refused("such as 512M or 2G");
}

#[test]
fn a_file_and_standard_output_get_the_same_bytes() {
    let folder = Folder::with_captures();
    for (format, name) in [
        ("perfetto", "a.pftrace"),
        ("chrome", "a.json"),
        ("chrome --gzip", "a.json.gz"),
        ("hatchet", "a.hatchet"),
        ("folded", "a.folded"),
        ("events-csv", "a.csv"),
        ("events-json", "a.jsonl"),
        #[cfg(feature = "parquet")]
        ("parquet", "a.parquet"),
        #[cfg(feature = "parquet")]
        ("arrow", "a.arrow"),
        ("flamegraph", "a.svg"),
    ] {
        folder.run(&format!("export gemm.capture -o {name}")).done();
        for output in ["", "-o -"] {
            let to_pipe = folder.run(&format!("export gemm.capture --to {format} {output}"));
            assert!(to_pipe.stdout == folder.bytes(name), "{format} {output}");
            assert!(!to_pipe.stdout.is_empty(), "{format} {output}");
            assert!(to_pipe.stderr.is_empty(), "{format} {output}: {}", to_pipe.stderr);
        }
    }
    for (format, name) in [("table", "stats.txt"), ("json", "stats.json"), ("csv", "stats.csv")] {
        for more in ["", "--by warp", "--show balance"] {
            // A file of CSV holds the table of regions.
            if (format, more) == ("csv", "--show balance") {
                continue;
            }
            let words = format!("stats gemm.capture --format {format} {more}");
            folder.run(&format!("{words} -o {name}")).done();
            let to_pipe = folder.run(&format!("{words} -o -"));
            assert!(to_pipe.stdout == folder.bytes(name), "{words}");
            assert!(!to_pipe.stdout.is_empty(), "{words}");
            // Of several launches the first is shown, and people are told.
            let told = if more == "--show balance" {
                "launch 0 of 0 to 1; --launch chooses\n"
            } else {
                ""
            };
            assert_eq!(to_pipe.stderr, told, "{words}");
        }
    }
    assert!(!folder.path("-").exists());
}

#[test]
fn spans_of_the_host_are_written_or_said_to_be_left_out() {
    let folder = Folder::with_captures();
    for (format, has_them) in [
        ("perfetto", true),
        ("chrome", true),
        ("events-csv", true),
        ("events-json", true),
        ("hatchet", false),
        ("folded", false),
        ("flamegraph", false),
        #[cfg(feature = "parquet")]
        ("parquet", false),
        #[cfg(feature = "parquet")]
        ("arrow", false),
    ] {
        let ran = folder.run(&format!("export hosted.capture --to {format}"));
        let holds = ran.stdout.windows(11).any(|bytes| bytes == b"synchronize");
        let says = ran.stderr.starts_with("left out 6 spans of the host");
        assert_eq!((ran.code, holds, says), (Some(0), has_them, !has_them), "{format}");
        let quiet = folder.run(&format!("export hosted.capture --to {format} --quiet"));
        assert_eq!(quiet.stderr, "");
    }
}

#[test]
fn gzip_holds_what_the_file_would() {
    let folder = Folder::with_captures();
    let plain = folder.run("export gemm.capture --to perfetto").stdout;
    let piped = folder.run("export gemm.capture --to perfetto --gzip").stdout;
    assert_eq!(folder.run("export gemm.capture -o gemm.pftrace.gz").code, Some(0));
    let at = |level| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(&plain).expect("into memory");
        encoder.finish().expect("into memory").len()
    };
    for compressed in [piped, folder.bytes("gemm.pftrace.gz")] {
        let mut read = Vec::new();
        let mut decoder = flate2::read::GzDecoder::new(compressed.as_slice());
        decoder.read_to_end(&mut read).expect("it is gzip");
        assert!(read == plain && compressed.len() < plain.len());
        assert!(compressed.len().abs_diff(at(3)) < 64);
        assert!(compressed.len() + 64 < at(1), "a faster level makes {} bytes", at(1));
    }
    #[cfg(feature = "parquet")]
    assert_eq!(folder.run("export gemm.capture -o gemm.parquet.gz").code, Some(2));
}

#[test]
fn an_export_is_what_the_library_writes() {
    let folder = Folder::with_captures();
    let trace = profiler_trace::decode(&support::gemm(2));
    let options = profiler_trace::ExportOptions { by_sm: true, ..Default::default() };
    let mut expected = Vec::new();
    trace.write_chrome_to(&mut expected, &options).expect("a vector can be written");
    assert!(folder.run("export gemm.capture --to chrome --group-by sm").stdout == expected);
}

#[test]
fn an_output_that_fails_leaves_no_file() {
    let folder = Folder::with_captures();
    let before = folder.names();
    folder.run("export gemm.capture -o missing/a.json").refused("make the folder first");
    // Nothing is read before that is known.
    assert!(folder.run("export none.capture -o missing/a.json").stderr.contains("missing"));
    folder.run("export none.capture -o a.json").refused("none.capture");
    assert_eq!(folder.names(), before);
}

#[cfg(unix)]
#[test]
fn an_output_has_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_captures();
    folder.run("export gemm.capture -o a.json");
    folder.write("b.json", b"");
    let mode =
        |name: &str| fs::metadata(folder.path(name)).expect("it is there").permissions().mode();
    assert_eq!(mode("a.json"), mode("b.json"));
}

#[cfg(unix)]
#[test]
fn an_output_after_a_link_stays_after_it() {
    let folder = Folder::with_captures();
    folder.write("real.json", b"old");
    std::os::unix::fs::symlink("real.json", folder.path("link.json")).expect("a link");
    assert_eq!(folder.run("export gemm.capture -o link.json").code, Some(0));
    assert!(fs::symlink_metadata(folder.path("link.json")).expect("it is there").is_symlink());
    assert!(folder.bytes("real.json").starts_with(b"{"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::with_captures();
    for words in ["export gemm.capture --to chrome", "stats gemm.capture"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let ran = program(&folder.path(""))
            .args(words.split_whitespace())
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .expect("the program can be run");
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{words}");
        assert!(stderr.contains("cannot write standard output: No space left"), "{stderr}");
        assert!(stderr.contains("\n  help: make room"), "{stderr}");
    }
    let ran = folder.run("export gemm.capture --to chrome -o /dev/full");
    ran.refused("cannot write /dev/full: No space left");
    assert!(ran.stderr.contains("\n  help: make room"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn what_is_not_allowed_is_said_with_help() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with_captures();
    let allow = |name: &str, mode: u32| {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(folder.path(name), permissions).expect("it is ours");
    };
    fs::create_dir(folder.path("closed")).expect("a folder");
    allow("gemm.capture", 0o000);
    allow("closed", 0o500);
    // Some users may do everything, as in a container.
    if fs::File::open(folder.path("gemm.capture")).is_err() {
        let said = "\n  help: ask whoever owns it for the right to read it";
        folder.run("stats gemm.capture").refused(said);
        let said = "\n  help: name a file in a folder of your own";
        folder.run("export hosted.capture -o closed/a.json").refused(said);
    }
}

/// Runs the program with pipes that nobody reads.
fn unread(folder: &Folder, words: &str) -> Option<i32> {
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        writer
    };
    let mut command = program(&folder.path(""));
    command.args(words.split_whitespace()).stdout(closed()).stderr(closed());
    command.status().expect("the program can be run").code()
}

#[test]
fn a_reader_that_stops_is_no_failure() {
    let folder = Folder::with_captures();
    for words in READERS {
        assert_eq!(unread(&folder, words), Some(0), "{words}");
    }
    for words in ["completions bash", "--help", "stats --help", "--version"] {
        assert_eq!(unread(&folder, words), Some(0), "{words}");
    }
    // What was found stays found, and what failed has failed.
    assert_eq!(unread(&folder, "check lossy.capture --deny losses"), Some(1));
    assert_eq!(unread(&folder, "stats none.capture"), Some(2));
    assert_eq!(unread(&folder, "stats --bad"), Some(2));
}

/// As `head` does, which must not hide that records were lost.
#[test]
fn what_was_lost_is_said_to_a_reader_that_stops() {
    let folder = Folder::with_captures();
    for format in ["perfetto", "folded", "events-csv", "flamegraph", "chrome --gzip"] {
        let words = format!("export lossy.capture --to {format}");
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let mut command = program(&folder.path(""));
        command.args(words.split_whitespace()).stdout(writer).stderr(Stdio::piped());
        let ran = command.output().expect("the program can be run");
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(stderr.contains("4 records did not fit"), "{format}: {stderr}");
        assert_eq!(stderr, folder.run(&words).stderr, "{format}");
        assert_eq!(ran.status.code(), Some(0), "{format}");
    }
}

#[test]
fn what_is_no_capture_is_refused_with_help() {
    let folder = Folder::with_captures();
    folder.write("empty.capture", b"");
    folder.write("text.capture", b"not a capture at all, only some words\n");
    folder.run("export gemm.capture -o gemm.pftrace");
    for command in ["info", "stats", "timeline", "check", "export --to chrome"] {
        for (file, said) in [
            ("none.capture", "none.capture"),
            ("empty.capture", "empty.capture: the file is empty"),
            ("text.capture", "no capture"),
            ("gemm.pftrace", "cannot be read back"),
            (".", "it is a folder"),
        ] {
            folder.run(&format!("{command} {file}")).refused(said);
        }
    }
}

#[test]
fn colour_is_used_where_it_is_asked_for() {
    let folder = Folder::with_captures();
    let colored = |words: &str, variables: &[(&str, &str)]| {
        let ran = folder.run_with(words, b"", variables);
        (ran.stdout.contains(&0x1b), ran.stderr.contains('\x1b'))
    };
    assert_eq!(colored("timeline lossy.capture", &[]), (false, false));
    assert_eq!(colored("timeline lossy.capture --color always", &[]), (false, true));
    assert_eq!(colored("timeline lossy.capture", &[("CLICOLOR_FORCE", "1")]), (false, true));
    assert_eq!(
        colored("timeline lossy.capture --color never", &[("CLICOLOR_FORCE", "1")]),
        (false, false)
    );
    assert_eq!(colored("check lossy.capture --color always", &[]), (true, false));
}

#[test]
fn quiet_leaves_results_and_errors() {
    let folder = Folder::with_captures();
    let loud = folder.run("timeline lossy.capture");
    let quiet = folder.run("timeline lossy.capture --quiet");
    assert!(loud.stderr.contains("warning["));
    assert_eq!(quiet.stderr, "");
    assert_eq!(quiet.text(), loud.text());
    assert!(folder.run("stats none.capture -q").stderr.contains("error: "));
    // What stands in a result is held to the same.
    for words in ["stats lossy.capture", "info lossy.capture"] {
        let loud = folder.run(words).text();
        let quiet = folder.run(&format!("{words} --quiet"));
        let is_odd = |line: &&str| line.contains("warning[") || line.starts_with("warning:");
        assert!(loud.lines().any(|line| is_odd(&line)), "{loud}");
        let left: Vec<&str> = loud.lines().filter(|line| !is_odd(line)).collect();
        assert_eq!(quiet.text().lines().collect::<Vec<_>>(), left);
        // Not what programs read.
        let json = |more: &str| folder.run(&format!("{words} --format json {more}")).json();
        assert_eq!(json("")["diagnostics"], json("-q")["diagnostics"]);
    }
}
