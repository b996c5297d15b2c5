//! What the ending of an output's name asks for.

use crate::support;

use expect_test::expect;
use support::Folder;

#[test]
fn statistics_refuse_an_ending_that_they_do_not_know() {
    let folder = Folder::with_captures();
    for name in ["stats.html", "stats.jsn", "stats.csv.gz", "stats.pftrace"] {
        let ran = folder.run(&format!("stats gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.stderr.contains(&format!("the name {name} does not say")), "{}", ran.stderr);
        assert!(ran.stderr.contains("endings .json, .csv, .md, .txt"), "{}", ran.stderr);
        assert!(!folder.path(name).exists());
        // Whoever says what is meant may call it as they like.
        let ran = folder.run(&format!("stats gemm.capture --format json -o {name}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let table = folder.run("stats gemm.capture").stdout;
    for name in ["stats", "stats.txt", "stats.TXT"] {
        let ran = folder.run(&format!("stats gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(folder.bytes(name) == table, "{name}");
    }
}

#[test]
fn a_file_of_markdown_is_markdown() {
    let folder = Folder::with_captures();
    let of = |words: &str| {
        let ran = folder.run(&format!("stats gemm.capture {words} -o stats.md"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = String::from_utf8(folder.bytes("stats.md")).expect("text");
        assert_eq!(
            folder.run(&format!("stats gemm.capture {words} --format markdown")).stdout,
            text.as_bytes()
        );
        text
    };
    expect![[r#"
        synthetic, 132 SMs

        224 records, none lost

        clock: resolution 0.5 ns, SMs aligned within 20 ns where their clocks were read, SM clock 2000 MHz

        cost of a record: a region takes 24 ticks, 10 of them in its own time (24 and 10 back to back); not subtracted

        the figures below are only of: launch 0

        | region                                                   | count |             total |              mean |           std dev |             p50 |            p95 |            p99 |            max |         per warp |   share | throughput |
        |----------------------------------------------------------|------:|------------------:|------------------:|------------------:|----------------:|---------------:|---------------:|---------------:|-----------------:|--------:|-----------:|
        | gemm<br>&nbsp;&nbsp;&nbsp;in cycles                      |     8 | 37.24 µs<br>74480 |  4.655 µs<br>9310 | 33.38 ns<br>66.76 | 4.66 µs<br>9320 | 4.7 µs<br>9400 | 4.7 µs<br>9400 | 4.7 µs<br>9400 | 4.655 µs<br>9310 |   100 % |            |
        | ╰─ tile<br>&nbsp;&nbsp;&nbsp;in cycles                   |    32 | 26.84 µs<br>53680 |  838.8 ns<br>1678 |   32.9 ns<br>65.8 |  840 ns<br>1680 | 880 ns<br>1760 | 880 ns<br>1760 | 880 ns<br>1760 | 3.355 µs<br>6710 | 72.07 % |            |
        | &nbsp;&nbsp;&nbsp;╰─ mma<br>&nbsp;&nbsp;&nbsp;in cycles  |    32 | 18.56 µs<br>37120 |    580 ns<br>1160 |         0 ns<br>0 |  580 ns<br>1160 | 580 ns<br>1160 | 580 ns<br>1160 | 580 ns<br>1160 |  2.32 µs<br>4640 | 49.84 % |            |
        | &nbsp;&nbsp;&nbsp;╰─ load<br>&nbsp;&nbsp;&nbsp;in cycles |    32 |  7.64 µs<br>15280 | 238.8 ns<br>477.5 |   32.9 ns<br>65.8 |   240 ns<br>480 |  280 ns<br>560 |  280 ns<br>560 |  280 ns<br>560 |   955 ns<br>1910 | 20.52 % | 17.16 GB/s |
        | ╰─ epilogue<br>&nbsp;&nbsp;&nbsp;in cycles               |     8 |   7.2 µs<br>14400 |    900 ns<br>1800 |         0 ns<br>0 |  900 ns<br>1800 | 900 ns<br>1800 | 900 ns<br>1800 | 900 ns<br>1800 |   900 ns<br>1800 | 19.33 % |            |

        | mark             | count |
        |------------------|------:|
        | gemm             |       |
        | &nbsp;&nbsp;half |     8 |
    "#]].assert_eq(&of("--by path --launch 0"));
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
fn endings_are_the_same_in_capitals() {
    let folder = Folder::with_captures();
    for (words, name) in [
        ("stats gemm.capture", "stats.json"),
        ("stats gemm.capture", "stats.csv"),
        ("stats gemm.capture", "stats.md"),
        ("export gemm.capture", "trace.json"),
        ("export gemm.capture", "trace.folded"),
        ("export gemm.capture", "trace.json.gz"),
        ("report gemm.capture", "page.html"),
    ] {
        let capitals = name.to_uppercase();
        for name in [name, &capitals] {
            let ran = folder.run(&format!("{words} -o {name}"));
            assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        }
        assert!(folder.bytes(name) == folder.bytes(&capitals), "{name}");
    }
}

#[test]
fn no_other_content_takes_the_name_of_a_capture() {
    let folder = Folder::with_captures();
    folder.write("other.capture", b"a capture of yesterday");
    for words in [
        "export gemm.capture --to folded -o other.capture",
        "stats gemm.capture --format csv -o other.capture",
        "stats gemm.capture --format csv -o new.CAPTURE",
    ] {
        let ran = folder.run(words);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("under the name of a capture\n  help: give -o a name"),
            "{words}"
        );
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
        let ran = folder.run("stats gemm.capture -o own.csv");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let about = fs::metadata(&path).expect("it is there");
        assert!(about.len() > 0);
        assert_eq!(about.permissions().mode() & 0o777, mode);
    }
}

#[test]
fn pages_are_to_be_called_pages() {
    let folder = Folder::with_captures();
    for (name, help) in [("a.csv", "a.html"), ("a.html.gz", "a.html"), ("a.htm.xz", "a.htm")] {
        let ran = folder.run(&format!("report gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("write -o {help};")), "{}", ran.stderr);
    }
}

#[test]
fn numbers_that_cannot_be_are_refused_with_help() {
    let folder = Folder::with_captures();
    for (words, help) in [
        ("stats gemm.capture --warp -1", "write numbers and ranges, such as 0-3,8"),
        ("export gemm.capture --to folded --block -1", "write X, X,Y or X,Y,Z"),
        ("timeline gemm.capture --launch 0-3", "`0-3` is no whole number; write one such as 3"),
        ("timeline gemm.capture --launch -3", "it is below 0"),
        ("timeline gemm.capture --rows -5", "it is below 0"),
        ("timeline gemm.capture --rows 0", "0 is not in 1 to 100000"),
        ("timeline gemm.capture --width abc", "`abc` is no whole number"),
        ("timeline gemm.capture --width 4294967296", "it is too large"),
        ("report gemm.capture -o a.html --detail 2000", "2000 is not in 0 to 1024"),
        ("diff gemm.capture gemm.capture --fail-above -5%", "such as 2.5%"),
        ("report gemm.capture", "add -o gemm.html"),
        ("diff gemm.capture gemm.capture --false-discovery-rate 0", "above 0 and below 100 %"),
        ("stats gemm.capture --memory-limit -1", "one such as 512M or 2G"),
        ("check gemm.capture --deny buffer-to-small", "buffer-too-small"),
        ("check gemm.capture --allow nope", "open-region"),
    ] {
        let ran = folder.run(words);
        assert_eq!(ran.code, Some(2), "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains(help), "{words}: {}", ran.stderr);
        assert!(!ran.stderr.contains("-- -"), "{words}: {}", ran.stderr);
    }
}

#[test]
fn a_name_that_says_another_format_than_the_one_asked_for_is_pointed_out() {
    let folder = Folder::with_captures();
    let note = |words: &str| {
        let ran = folder.run(&format!("export gemm.capture {words}"));
        assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
        let note =
            ran.stderr.lines().find(|line| line.starts_with("the ending ")).map(str::to_owned);
        note.unwrap_or_default()
    };
    let wanted = "the ending .json is that of chrome; the file will hold perfetto, as --to says";
    assert_eq!(note("--to perfetto -o it.json"), wanted);
    assert_eq!(folder.bytes("it.json")[0], 0x0a, "it holds packets");
    let wanted = "the ending .csv is that of events-csv; the file will hold folded, as --to says";
    assert_eq!(note("--to folded -o IT.CSV.GZ"), wanted);
    for words in [
        "--to perfetto -o it.json --quiet",
        "--to perfetto -o it.pftrace",
        "--to perfetto -o it.perfetto-trace.gz",
        "--to perfetto -o it",
        "-o it.json",
    ] {
        assert_eq!(note(words), "", "{words}");
    }
}
