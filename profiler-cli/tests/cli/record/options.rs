//! Options of `profiler record`.

use super::{Bench, of, script};

use expect_test::expect;

#[test]
fn options_choose_what_is_recorded() {
    let bench = Bench::new();
    for (options, does, launches) in [
        ("--launches 3..6", "launch=9", of("turns", 3, 8, 24)),
        ("--launches 20..22", "launch=9", vec![]),
        ("--every 4", "launch=9", of("turns", 2, 8, 24)),
        ("--every 1", "launch=9", of("turns", 9, 8, 24)),
        ("--warps 1", "block=256 launch=1", of("turns", 1, 4, 12)),
        ("--warps 0-2,7,31", "block=256 launch=1", of("turns", 1, 16, 48)),
        // Every seventh block of 64: every eighth would always meet the same of four SMs.
        ("--blocks 8", "grid=64 launch=1", of("turns", 1, 20, 60)),
        ("--blocks 1000", "grid=64 launch=1", of("turns", 1, 128, 384)),
        ("", "grid=1600 regions=1 launch=1", of("turns", 1, 1068, 1068)),
        ("--blocks all", "grid=1600 regions=1 launch=1", of("turns", 1, 3200, 3200)),
        ("--blocks 64 --warps 0", "grid=64 regions=1 launch=1", of("turns", 1, 64, 64)),
    ] {
        bench.client(options, &format!("module=wait.ptx kernel=turns drain {does}")).done();
        assert_eq!(bench.launches("profile.capture"), launches, "{options} {does}");
    }
    bench.client("--launches 3..6", "module=wait.ptx kernel=turns drain launch=9");
    assert_eq!(bench.timed(), [1, 3, 4, 5, 6].map(|number| format!("turns #{number}")));
    let ran = bench.client("--quiet", "module=wait.ptx kernel=turns launch=1");
    assert_eq!(ran.transcript(), "it ends\n--- exit code 0\n");
    for (option, name) in [("-o new", "new"), ("--output other.capture", "other")] {
        let ran = bench.client(option, "module=wait.ptx kernel=turns launch=1");
        assert!(ran.stderr.contains(&format!("wrote {name}.capture (")), "{}", ran.stderr);
        assert_eq!(bench.launches(&format!("{name}.capture")), of("turns", 1, 8, 24));
    }
}

#[test]
fn kernels_are_chosen_by_their_names() {
    let bench = Bench::new();
    let does = "module=two.ptx kernel=turns drain launch=3 kernel=other launch=5";
    let [turns, other] = [of("turns", 2, 8, 24), of("other", 3, 8, 24)];
    bench.client("", does);
    assert_eq!(bench.launches("profile.capture"), [&turns[..], &other].concat());
    bench.client("--kernel turns|other", does);
    assert_eq!(bench.launches("profile.capture"), [&turns[..], &other].concat());
    let ran = bench.client("--kernel ^oth", does);
    assert_eq!(bench.launches("profile.capture"), other);
    expect![[r#"
        1 kernel recorded; recorded launches took +3.1 % (median)
          other: 5 launches, 3 recorded, 2.6 µs, +3.1 % when recorded
        1 kernel shown as whole launches:
          turns: 3 launches, 2.6 µs
        Fake GPU, compute capability 9.0, 4 SMs, driver CUDA 13.0
        72 records, none lost
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
         region              count    total     mean   std dev      p50      p95      p99      max   per warp   share
        ══════════════════════════════════════════════════════════════════════════════════════════════════════════════
         other                  24    36 µs   1.5 µs      0 ns   1.5 µs   1.5 µs   1.5 µs   1.5 µs     1.5 µs   100 %
           loop turns.cu:6      72   7.2 µs   100 ns      0 ns   100 ns   100 ns   100 ns   100 ns     300 ns    20 %
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
        wrote profile.capture (`profiler stats`, `export`, `report` read it)
    "#]]
    .assert_eq(&ran.stderr);
    bench.client("--kernel none", does);
    assert_eq!(bench.launches("profile.capture"), []);
    assert!(!bench.log().contains("rewritten"), "{}", bench.log());
}

#[test]
fn regions_are_chosen_by_hand() {
    let bench = Bench::new();
    bench
        .0
        .write("regions.toml", b"auto = false\n[[region]]\ninstruction = \"ret\"\nname = \"end\"");
    let does = "module=wait.ptx kernel=turns regions=1 drain launch=1";
    for (options, name) in [
        ("", "loop turns.cu:6"),
        ("--no-auto --region 'lines turns.cu:6-8=a step'", "a step"),
        ("--sites regions.toml --region 'instruction wgmma.*'", "end"),
    ] {
        let ran = bench.client(options, does).done();
        let said = "no kernel that records has code of `instruction wgmma.*`\n";
        assert_eq!(ran.stderr.contains(said), options.contains("wgmma"), "{}", ran.stderr);
        // The driver writes records of the first site alone.
        let stats = bench.0.run("stats profile.capture").text();
        assert!(stats.contains(name), "{options}: {stats}");
    }
}

#[test]
fn the_first_or_the_last_records_of_a_warp_are_kept() {
    let bench = Bench::new();
    let mut begins = Vec::new();
    for keep in ["first", "last"] {
        let does = "module=wait.ptx kernel=turns regions=1500 drain launch=1";
        bench.client(&format!("--keep {keep}"), does);
        let info = bench.0.run("info profile.capture --format json").json();
        assert_eq!((&info["recorded"], &info["lost"]), (&8192.into(), &3808.into()), "{keep}");
        // The record at the begin of the memory: the first one, or the one after the 1024 that it had room for.
        let capture = bench.capture("profile.capture");
        let bytes = capture.modules[0].records.first_chunk().expect("a record");
        begins.push(u64::from_le_bytes(*bytes));
    }
    assert_eq!(begins[1] - begins[0], 400 * 1024);
    // Of 128 warps 30 find memory: all others are counted.
    bench.client("--memory 1M", "module=wait.ptx kernel=turns grid=64 launch=1");
    let info = bench.0.run("info profile.capture --format json").json();
    assert_eq!((&info["recorded"], &info["lost"]), (&90.into(), &294.into()), "{info:#}");
}

#[test]
fn wrong_options_are_refused_before_the_program_runs() {
    let bench = Bench::new();
    for (words, said) in [
        ("--launches 3..", "give two numbers, like 1..11 for the first ten, or one"),
        ("--launches 0..3", "launches are counted from 1"),
        ("--launches 5..5", "it has no launch"),
        ("--every 0", "it must be 1 or more"),
        ("--every -1", "it is below 0; write a whole number such as 3"),
        ("--every x", "`x` is no whole number; write one such as 3"),
        ("--every 2 --launches 1..3", "cannot be used with '--launches <A..B>'"),
        ("--blocks 0", "give a number from 1 on, or `all`"),
        ("--blocks -1", "give a number from 1 on, or `all`"),
        ("--warps 3-1", "give numbers from 0 to 31, like 0-3,8"),
        ("--warps 32", "give numbers from 0 to 31, like 0-3,8"),
        ("--keep middle", "[possible values: first, last]"),
        ("--kernel (", "found open group without closing ')'"),
        ("--memory lots", "write a number of bytes, or one such as 512M or 2G"),
        ("--budget -1", "give 0 to 10000"),
        ("--region lines", "give a file, lines and a name"),
        ("--sites none.toml", "cannot read none.toml"),
        ("--no-auto", "nothing to record"),
        ("-o none/it", "there is no folder none\n  help: make it"),
        ("-o .", ". is no name of a capture\n  help: give one"),
        ("-o tmp/", "tmp/ is no name of a capture\n  help: give one"),
        ("-o /proc/it", "nothing can be written to the folder /proc: "),
    ] {
        bench.run(&format!("{words} -- echo it runs"), &[]).refused(said);
    }
    script(&bench.0, "strange", "");
    bench.0.write("strange", b"#!/nowhere/sh\n");
    for (program, status, said) in [
        ("./nothing", 127, "No such file or directory (os error 2)\n  help: check its name"),
        (
            "./strange",
            127,
            "No such file or directory (os error 2)\n  help: the interpreter that its first line names",
        ),
        ("./two.ptx", 126, "Permission denied (os error 13)\n  help: make it executable"),
    ] {
        // As of other programs that run one, `--` is not needed.
        let ran = bench.run(program, &[]);
        assert_eq!(ran.code, Some(status), "{}", ran.stderr);
        let said = format!("error: cannot run {program}: {said}");
        assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    }
}

#[test]
fn kernels_are_listed_without_records() {
    let bench = Bench::new();
    let ran =
        bench.client("--list", "module=two.ptx kernel=turns drain launch=2 kernel=other launch=1");
    assert_eq!(ran.code, Some(0));
    expect![[r#"
        2 kernels
          other: 1 launch
            loop turns.cu:6
            copy wait turns.cu:8
            barrier turns.cu:11
          turns: 2 launches
            loop turns.cu:6
            copy wait turns.cu:8
            barrier turns.cu:11
    "#]]
    .assert_eq(&ran.stderr);
    assert!(!bench.log().contains("switch 1"), "{}", bench.log());
    let ran = bench.0.run("record --list --open -- ./client");
    assert!(ran.stderr.contains("cannot be used with"), "{}", ran.stderr);
}
