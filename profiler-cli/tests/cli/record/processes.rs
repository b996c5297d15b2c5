//! Processes: how they end, and which of them are recorded.

use super::{BUILT, Bench, of, script};

use std::fs;
use std::path::Path;
use std::process::Command;

use expect_test::expect;

#[test]
fn what_a_killed_program_recorded_is_kept() {
    let bench = Bench::new();
    for before in ["", "module=wait.ptx kernel=turns drain launch=1 unload"] {
        let does = "module=wait.ptx kernel=turns until=3:cuMemcpy2DAsync_v2 kill";
        let ran = bench.client("", &format!("{before} {does}"));
        assert_eq!((ran.code, ran.text()), (None, String::new()), "{}", ran.stderr);
        assert!(ran.stderr.contains("\na process was ended from outside: "), "{}", ran.stderr);
        // What was copied before the last time is written.
        let launches = bench.launches("profile.capture");
        assert!(launches.len() >= 2 && launches == of("turns", launches.len(), 8, 24));
    }
}

#[test]
fn every_process_that_launches_kernels_has_a_capture() {
    let bench = Bench::new();
    let load = "module=wait.ptx kernel=turns drain";
    let ran = bench.client("", &format!("fork {load} launch=3 parent {load} launch=5 exit=4"));
    assert_eq!((ran.code, ran.text().as_str()), (Some(4), "it ends\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("  turns: 8 launches, 5 recorded,"), "{}", ran.stderr);
    let captures = bench.captures();
    let mut launches: Vec<usize> = captures.iter().map(|it| bench.launches(it).len()).collect();
    launches.sort_unstable();
    assert_eq!(launches, [2, 3], "{captures:?}");
    for name in &captures {
        let process = name.strip_prefix("profile.").and_then(|it| it.strip_suffix(".capture"));
        assert!(process.is_some_and(|it| it.parse::<u32>().is_ok()), "{name}");
        assert!(ran.stderr.contains(&format!("wrote {name} (")), "{}", ran.stderr);
        fs::remove_file(bench.0.path(name)).expect("it is there");
    }
    // One that was forked off later cannot be recorded; it is not hindered, and does not spoil its parent's.
    for child in ["", "launch=10"] {
        let does = format!("{load} launch=3 fork {child} parent launch=1");
        let ran = bench.client("", &does).done();
        assert!(ran.stderr.contains("  turns: 4 launches, 3 recorded,"), "{}", ran.stderr);
        assert_eq!(bench.captures(), ["profile.capture"]);
        assert_eq!(bench.launches("profile.capture"), of("turns", 3, 8, 24));
    }
}

#[test]
fn programs_that_launch_nothing_run_as_they_are() {
    let bench = Bench::new();
    for words in ["-- ./client", "-- true", "-- ./client module=wait.ptx kernel=turns"] {
        let ran = bench.run(words, &[]).done();
        assert!(ran.stderr.starts_with("no kernel was launched through"), "{}", ran.stderr);
        assert_eq!(bench.captures(), [""; 0]);
    }
    script(&bench.0, "ncu", "echo it profiles");
    let ran = bench.run("-- ./ncu", &[]);
    let said = "so nothing will be recorded: run one after the other\n";
    assert!(ran.code == Some(0) && ran.stderr.contains(said), "{}", ran.stderr);
    // The file of that name in the program's folder is not where the loader looks.
    bench.0.write("libcuda.so.1", b"");
    let usual = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/nvidia/lib64"];
    let has_driver = usual.iter().any(|it| Path::new(it).join("libcuda.so.1").exists());
    let listed = Command::new("/sbin/ldconfig").arg("-p").output().map(|it| it.stdout);
    if !has_driver && !String::from_utf8_lossy(&listed.unwrap_or_default()).contains("libcuda.so") {
        let ran = bench.run("-- ./client", &[("LD_LIBRARY_PATH", "")]);
        expect![[r#"
            there is no driver
            --- stderr
            no CUDA driver on this machine: the program runs as it is
            --- exit code 3
        "#]]
        .assert_eq(&ran.transcript());
    }
}

#[test]
fn signals_are_the_programs() {
    let bench = Bench::new();
    for (signal, bit) in [("USR1", 9), ("USR2", 11), ("TERM", 14)] {
        // It waits until its parent passes signals on, and gives up after a minute.
        let text = format!(
            "trap 'echo asked; exit 5' {signal}\n\
             asked=\n\
             for wait in $(seq 6000); do\n\
             caught=0x$(sed -n 's/SigCgt:.//p' /proc/$PPID/status)\n\
             [ $asked ] || [ $((caught >> {bit} & 1)) = 0 ] || {{ asked=yes; kill -{signal} $PPID; }}\n\
             sleep 0.01\n\
             done\n"
        );
        script(&bench.0, "asks", &text);
        let ran = bench.run("-- ./asks", &[]);
        assert_eq!((ran.code, ran.text().as_str()), (Some(5), "asked\n"), "{}", ran.stderr);
    }
}

#[test]
fn processes_that_go_on_keep_what_they_run_with() {
    let bench = Bench::new();
    let text = "(for wait in $(seq 6000); do [ -e stop ] && break; sleep 0.01; done) \
                >&- 2>&- <&- &\n\
                echo $! > number\n";
    script(&bench.0, "leaves", text);
    let tmp = bench.0.path("tmp");
    let variables = [
        ("LD_LIBRARY_PATH", BUILT.to_str().expect("UTF-8")),
        ("TMPDIR", tmp.to_str().expect("UTF-8")),
    ];
    let ran = bench.0.run_with("record ./leaves", b"", &variables);
    let number = String::from_utf8(bench.0.bytes("number")).expect("text");
    bench.0.write("stop", b"");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = format!("processes that the program started go on ({}", number.trim());
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let folder = fs::read_dir(tmp).expect("it is there").next().expect("a folder").expect("one");
    assert!(folder.path().join("libcuda.so.1").exists());
    assert!(ran.stderr.contains(&*folder.path().to_string_lossy()), "{}", ran.stderr);
}
