//! What the ending of an output's name asks for.

mod support;

use support::Folder;

#[test]
fn statistics_refuse_an_ending_that_they_do_not_know() {
    let folder = Folder::with_captures();
    for name in ["stats.html", "stats.jsn", "stats.csv.gz", "stats.pftrace"] {
        let ran = folder.run(&format!("stats gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.stderr.contains(&format!("the name {name} does not say")), "{}", ran.stderr);
        assert!(ran.stderr.contains("endings .json, .csv, .txt, .md"), "{}", ran.stderr);
        assert!(!folder.path(name).exists());
        // Whoever says what is meant may call it as they like.
        let ran = folder.run(&format!("stats gemm.capture --format json -o {name}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let table = folder.run("stats gemm.capture").stdout;
    for name in ["stats", "stats.txt", "stats.md", "stats.TXT"] {
        let ran = folder.run(&format!("stats gemm.capture -o {name}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(folder.bytes(name) == table, "{name}");
    }
}

#[test]
fn endings_are_the_same_in_capitals() {
    let folder = Folder::with_captures();
    for (words, name) in [
        ("stats gemm.capture", "stats.json"),
        ("stats gemm.capture", "stats.csv"),
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
