//! What the ending of an output's name asks for.

mod support;

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
        ("export gemm.capture", "trace.speedscope.json"),
        ("export gemm.capture", "trace.json.gz"),
        ("report gemm.capture", "page.html"),
    ] {
        let capitals = name.to_uppercase();
        for name in [name, &capitals] {
            let ran = folder.run(&format!("{words} -o {name}"));
            assert_eq!(ran.code, Some(0), "{name}: {}", ran.stderr);
        }
        // A name may stand in the file, as it does in those of speedscope.
        let text = |name: &str| {
            let bytes = folder.bytes(name);
            String::from_utf8_lossy(&bytes).replace(name, "")
        };
        assert!(text(name) == text(&capitals), "{name}");
    }
}
