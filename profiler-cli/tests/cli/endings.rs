//! The ending of an output's name, and arguments that are refused.

use crate::support;

use expect_test::expect;
use support::Folder;

#[test]
fn a_file_of_markdown_is_markdown() {
    let folder = Folder::with_captures();
    let of = |words: &str| {
        folder.run(&format!("stats gemm.capture {words} -o stats.md")).done();
        let text = String::from_utf8(folder.bytes("stats.md")).expect("text");
        assert_eq!(
            folder.run(&format!("stats gemm.capture {words} --format markdown")).stdout,
            text.as_bytes()
        );
        text
    };
    expect![[r#"
        synthetic, 132 SMs

        gemm, launch 0: critical path of 10.7 µs, through 0 signals and 1 following block

        | on the path                  |    time |   share |
        |------------------------------|--------:|--------:|
        | mma                          | 4.64 µs | 43.36 % |
        | load                         | 1.96 µs | 18.32 % |
        | epilogue                     |  1.8 µs | 16.82 % |
        | (no region)                  |  800 ns | 7.477 % |
        | tile                         |  160 ns | 1.495 % |
        | (from one block to the next) | 1.34 µs | 12.52 % |

        gemm, launch 0: who waits for whom

        no wait has a signal
    "#]]
    .assert_eq(&of("--show critical-path,waits"));
}

#[test]
fn an_ending_names_a_format_in_capitals_too() {
    let folder = Folder::with_captures();
    for format in ["json", "csv", "markdown", "table"] {
        let printed = folder.run(&format!("stats gemm.capture --format {format}")).stdout;
        let ending = match format {
            "markdown" => "md",
            "table" => "txt",
            same => same,
        };
        folder.run(&format!("stats gemm.capture -o named.{ending}")).done();
        assert!(folder.bytes(&format!("named.{ending}")) == printed, "{format}");
    }
    for (words, name) in [
        ("stats gemm.capture", "stats.json"),
        ("stats gemm.capture", "stats.md"),
        ("export gemm.capture", "trace.json"),
        ("export gemm.capture", "trace.folded"),
        ("export gemm.capture", "trace.json.gz"),
        ("report gemm.capture", "page.html"),
    ] {
        let capitals = name.to_uppercase();
        for name in [name, &capitals] {
            folder.run(&format!("{words} -o {name}")).done();
        }
        assert!(folder.bytes(name) == folder.bytes(&capitals), "{name}");
    }
}

#[test]
fn no_other_content_takes_the_name_of_a_capture() {
    let folder = Folder::with_captures();
    folder.run("export gemm.capture --to chrome -o ./gemm.capture").refused("would overwrite");
    folder.write("other.capture", b"a capture of yesterday");
    for words in [
        "export gemm.capture --to folded -o other.capture",
        "stats gemm.capture --format csv -o other.capture",
        "stats gemm.capture --format csv -o new.CAPTURE",
    ] {
        let said = "is the name of a capture, and the output is none\n  help: give";
        folder.run(words).refused(said);
    }
    assert_eq!(folder.bytes("other.capture"), b"a capture of yesterday");
    assert!(!folder.path("new.CAPTURE").exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_takes_the_place_of_another_is_for_the_same_readers() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::with_captures();
    folder.write("own.csv", b"");
    for mode in [0o600, 0o640] {
        let path = folder.path("own.csv");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("one's own file");
        folder.run("stats gemm.capture -o own.csv").done();
        let about = fs::metadata(&path).expect("it is there");
        assert!(about.len() > 0);
        assert_eq!(about.permissions().mode() & 0o777, mode);
    }
}

#[test]
fn numbers_that_cannot_be_are_refused_with_help() {
    let folder = Folder::with_captures();
    for (words, help) in [
        ("stats gemm.capture --warp -1", "write numbers and ranges, such as 0-3,8"),
        ("export gemm.capture --to folded --block -1", "write X, X,Y or X,Y,Z"),
        ("stats gemm.capture --block 9", "choose others by --sm, --block and --warp"),
        ("stats gemm.capture --launch 2", "the launches are 0 to 1"),
        ("timeline gemm.capture --launch 2", "the launches are 0 to 1"),
        ("timeline gemm.capture --warp 7", "choose others by --sm, --block and --warp"),
        ("timeline gemm.capture --launch 0-3", "`0-3` is no whole number; write one such as 3"),
        ("timeline gemm.capture --launch -3", "it is below 0"),
        ("timeline gemm.capture --rows -5", "it is below 0"),
        ("timeline gemm.capture --rows 0", "0 is not in 1 to 100000"),
        ("timeline gemm.capture --width abc", "`abc` is no whole number"),
        ("timeline gemm.capture --width 4294967296", "it is too large"),
        ("report gemm.capture -o a.html --detail 2000", "2000 is not in 0 to 1024"),
        ("diff gemm.capture gemm.capture --fail-above -5%", "such as 2.5%"),
        ("report gemm.capture", "--output <FILE>"),
        ("diff gemm.capture gemm.capture --false-discovery-rate 0", "above 0 and below 100 %"),
        ("stats gemm.capture --memory-limit -1", "one such as 512M or 2G"),
        ("check gemm.capture --deny buffer-to-small", "buffer-too-small"),
        ("check gemm.capture --allow nope", "open-region"),
    ] {
        let ran = folder.run(words);
        ran.refused(help);
        assert!(!ran.stderr.contains("-- -"), "{words}: {}", ran.stderr);
    }
}
