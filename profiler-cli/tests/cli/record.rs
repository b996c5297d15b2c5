//! `profiler record` on a machine without a GPU: a stand-in for the driver, and a client of it.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod images;
mod options;
mod processes;

use crate::support;

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use expect_test::expect;
use profiler_trace::Capture;
use support::{Folder, Ran, WAIT_PTX};

/// The folder with the driver and the client.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let sources = [
        ("cdylib", "libcuda.so.1", include_str!("record/driver.rs")),
        ("bin", "client", include_str!("record/client.rs")),
    ];
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = target.join(format!("record-{:016x}", hasher.finish()));
    if !folder.exists() {
        let new = tempfile::tempdir_in(target).expect("Cargo's folder can be written to");
        for (kind, name, source) in sources {
            let path = new.path().join(format!("{name}.rs"));
            fs::write(&path, source).expect("the source can be written");
            let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
            rustc.args(["--edition", "2024", "-O", "--crate-name", "fake", "--crate-type", kind]);
            rustc.arg(&path).arg("-o").arg(new.path().join(name));
            assert!(rustc.status().expect("there is a compiler").success(), "{name}");
        }
        symlink("libcuda.so.1", new.path().join("libcuda.so")).expect("a link can be made");
        // Another test program may have made it meanwhile.
        let _made = fs::rename(new.keep(), &folder);
    }
    folder
});

/// A folder with the client and a kernel, and the logs and captures of what is run in it.
struct Bench(Folder);

impl Bench {
    fn new() -> Self {
        let folder = Folder::new();
        symlink(BUILT.join("client"), folder.path("client")).expect("a link can be made");
        fs::create_dir(folder.path("tmp")).expect("a folder can be made");
        folder.write("wait.ptx", kernel().as_bytes());
        folder.write("two.ptx", two_kernels().as_bytes());
        Self(folder)
    }

    /// Records the client.
    fn client(&self, options: &str, does: &str) -> Ran {
        self.run(&format!("{options} -- ./client {does}"), &[])
    }

    fn run(&self, words: &str, variables: &[(&str, &str)]) -> Ran {
        let _old = fs::remove_file(self.0.path("log"));
        let [library, log, tmp] = [BUILT.clone(), self.0.path("log"), self.0.path("tmp")];
        let [library, log, tmp] = [&library, &log, &tmp].map(|it| it.to_str().expect("UTF-8"));
        let own = [("LD_LIBRARY_PATH", library), ("FAKE_LOG", log), ("TMPDIR", tmp)];
        let ran = self.0.run_with(&format!("record {words}"), b"", &[&own[..], variables].concat());
        let left = fs::read_dir(tmp).expect("it is there").count();
        assert!(left == 0 && !self.log().contains("fault"), "{left} left: {}", self.log());
        ran
    }

    /// What the driver saw.
    fn log(&self) -> String {
        fs::read_to_string(self.0.path("log")).unwrap_or_default()
    }

    /// The names of captures.
    fn captures(&self) -> Vec<String> {
        self.0.names().into_iter().filter(|name| name.ends_with(".capture")).collect()
    }

    /// The launches in a capture: the kernel, its warps and their records. None is lost.
    fn launches(&self, capture: &str) -> Vec<(String, u64, u64)> {
        let info = self.0.run(&format!("info {capture} --format json")).json();
        assert_eq!((&info["lost"], &info["is_sound"]), (&0.into(), &true.into()), "{info:#}");
        let launches = info["launches"].as_array().expect("a list").iter().map(|it| {
            let number = |name: &str| it[name].as_u64().expect("a number");
            let name = it["kernel"].as_str().expect("a name").to_owned();
            (name, number("warps"), number("recorded"))
        });
        launches.collect()
    }

    fn capture(&self, name: &str) -> Capture {
        Capture::read(self.0.path(name)).expect("it can be read")
    }

    /// The launches of which the time was taken.
    fn timed(&self) -> Vec<String> {
        let capture = self.capture("profile.capture");
        capture.host.spans.into_iter().map(|span| span.name).collect()
    }
}

/// The kernel `turns` with so much work in its loop that a wait in it is recorded, once a turn.
fn kernel() -> String {
    let work = "\tld.global.u32 %r2, [out];\n".repeat(20);
    WAIT_PTX.replace("\tadd.s32 %r1", &format!("{work}\tadd.s32 %r1"))
}

/// The same, and the same again as `other`.
fn two_kernels() -> String {
    let text = kernel();
    let (_, kernel) = text.split_once(".visible").expect("a kernel");
    format!("{text}.visible{}", kernel.replace("turns", "other"))
}

/// A program for a folder.
fn script(folder: &Folder, name: &str, text: &str) {
    folder.write(name, format!("#!/bin/sh\n{text}").as_bytes());
    let rights = fs::Permissions::from_mode(0o700);
    fs::set_permissions(folder.path(name), rights).expect("one's own file");
}

fn of(kernel: &str, launches: usize, warps: u64, records: u64) -> Vec<(String, u64, u64)> {
    vec![(kernel.to_owned(), warps, records); launches]
}

#[test]
fn a_program_is_recorded_and_ends_as_it_would() {
    let bench = Bench::new();
    let ran = bench.client("", "module=wait.ptx kernel=turns drain launch=10 exit=7");
    expect![[r#"
        it ends
        --- stderr
        1 kernel recorded; recorded launches took +3.1 % (median)
          turns: 10 launches, 4 recorded, 2.6 µs, +3.1 % when recorded
        Fake GPU, compute capability 9.0, 4 SMs, driver CUDA 13.0
        96 records, none lost
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
         region              count    total     mean   std dev      p50      p95      p99      max   per warp   share
        ══════════════════════════════════════════════════════════════════════════════════════════════════════════════
         turns                  32    48 µs   1.5 µs      0 ns   1.5 µs   1.5 µs   1.5 µs   1.5 µs     1.5 µs   100 %
           loop turns.cu:6      96   9.6 µs   100 ns      0 ns   100 ns   100 ns   100 ns   100 ns     300 ns    20 %
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────
        wrote profile.capture (`profiler stats`, `export`, `report` read it)
        --- exit code 7
    "#]]
    .assert_eq(&ran.transcript());
    let info = bench.0.run("info profile.capture --all").text();
    let info = info.split_once("device").expect("a device").1;
    expect![[r#"
            Fake GPU, compute capability 9.0, 4 SMs, driver CUDA 13.0
        clock     SM clock 2000 MHz, resolution 0.5 ns, SMs aligned within 10 ns where their clocks were read
        cost      not measured: times hold what recording cost
        records   96 (96 regions, 0 marks), none lost; 32 warps, 0 edges
        host      1 thread, 7 spans, 0 launch calls, on the clock of the device itself
        module    0: wire version 1, 1 kernel, 3 other sites, 32 slots, 6.144 kB
        kernel    turns
                  loop turns.cu:6 (src/turns.cu:6:9)
                  copy wait turns.cu:8 (src/turns.cu:8:9)
                  barrier turns.cu:11 (src/turns.cu:11:5)
        launch    0: turns, grid 4, block 64, at 5 ns, 1.57 µs, 8 warps, 24 records
        launch    1: turns, grid 4, block 64, at 3.685 µs, 1.57 µs, 8 warps, 24 records
        launch    2: turns, grid 4, block 64, at 10.96 µs, 1.57 µs, 8 warps, 24 records
        launch    3: turns, grid 4, block 64, at 21.45 µs, 1.57 µs, 8 warps, 24 records
    "#]].assert_eq(info);
    let stats = bench.0.run("stats profile.capture --format json").json();
    assert_eq!((&stats["rows"][0]["count"], &stats["rows"][1]["count"]), (&32.into(), &96.into()));
    // Of each launch that is recorded, the next is timed.
    let timed = [1, 2, 3, 4, 5, 8, 9].map(|number| format!("turns #{number}"));
    assert_eq!(bench.timed(), timed);
}

#[test]
fn nothing_waits_for_the_streams_of_the_program() {
    let bench = Bench::new();
    for (does, count) in [
        ("launch=50", 50),
        ("stream launch=9 stream launch=9", 18),
        ("drain launch=3 stream launch=2", 5),
        ("grid=1 block=32 threads=4", 16),
    ] {
        // Where threads hold each other up for longer than a launch waits, all that they recorded is dropped.
        let mut runs =
            (0..5).map(|_| bench.client("", &format!("module=wait.ptx kernel=turns {does}")));
        let ran = runs.find(|_| !bench.launches("profile.capture").is_empty());
        let ran = ran.expect("one of the runs records");
        assert_eq!((ran.code, ran.text()), (Some(0), "it ends\n".to_owned()), "{}", ran.stderr);
        // The library's own streams wait for no other.
        let log = bench.log();
        let calls = |what: &str| log.lines().filter(|line| line.contains(what)).collect::<Vec<_>>();
        let waits = [calls("Synchronize"), calls("cuMemcpy")].concat();
        assert!(waits.len() > 4 && waits.iter().all(|line| line.ends_with("flags 1")), "{log}");
        assert_eq!(calls("cuLaunchKernel turns").len(), count);
        assert!(ran.stderr.contains(&format!("  turns: {count} launches, ")), "{}", ran.stderr);
        // Which launches are recorded depends on when others were copied. Each is whole.
        let launches = bench.launches("profile.capture");
        let warps = if does.contains("threads") { 1 } else { 8 };
        let all = of("turns", launches.len(), warps, 3 * warps);
        assert!(!launches.is_empty() && launches == all, "{does}: {launches:?}");
    }
    // Two switches are around each launch that is timed, in its stream.
    bench.client("", "module=wait.ptx kernel=turns stream by=table drain launch=3");
    let log = bench.log();
    let kernels = log.lines().filter(|line| line.contains(" stream "));
    let stream = log.lines().find_map(|line| line.strip_prefix("switch 1 ")).expect("a switch");
    assert_ne!(stream, "stream 0");
    let around = |version, warps| {
        let launch = format!("cuLaunchKernel turns {stream} warps {warps}");
        [format!("switch {version} {stream}"), launch, format!("switch 0 {stream}")]
    };
    assert!(kernels.eq([around(1, 8), around(1, 8), around(0, 0)].as_flattened()), "{log}");
}

#[test]
fn a_kernel_may_come_while_another_of_its_module_records() {
    let bench = Bench::new();
    // Their grids differ, and with them the blocks that record.
    let does = "module=two.ptx kernel=turns grid=600 launch=1 kernel=other grid=5000 launch=2 kernel=turns \
                launch=2";
    let ran = bench.run(&format!("--launches 1..2 -- ./client {does}"), &[("FAKE_LATE", "1")]);
    assert!(ran.stderr.starts_with("2 kernels recorded"), "{}", ran.stderr);
    let warps = bench.launches("profile.capture").into_iter().map(|(name, warps, _)| (name, warps));
    let expected = [("turns", 1200), ("other", 1112)].map(|(name, warps)| (name.to_owned(), warps));
    assert_eq!(warps.collect::<Vec<_>>(), expected);
}

#[test]
fn every_way_to_launch_records() {
    let bench = Bench::new();
    for (way, call) in [
        ("dlsym", "cuLaunchKernel turns"),
        ("table", "cuLaunchKernel turns"),
        ("per-thread", "cuLaunchKernel_ptsz turns"),
        // A launch between the switches may not overlap with them, which its attribute 6 asks for.
        ("ex", "cuLaunchKernelEx [8] turns"),
    ] {
        for image in ["module", "library"] {
            let does = format!("{image}=wait.ptx kernel=turns by={way} drain launch=5");
            bench.client("", &does).done();
            assert_eq!(bench.launches("profile.capture"), of("turns", 3, 8, 24), "{does}");
            assert_eq!(bench.log().matches(call).count(), 5, "{}", bench.log());
        }
    }
    let does = "-- ./client module=wait.ptx kernel=turns drain launch=5";
    bench.run(does, &[("CLIENT_OPENS", "libcuda.so")]);
    assert_eq!(bench.launches("profile.capture"), of("turns", 3, 8, 24));
    bench.client("--launches 2..3", "module=wait.ptx kernel=turns by=ex drain launch=4");
    let log = bench.log();
    // The first launch is timed even if none of it is recorded, and so is the one after the second.
    let calls = ["[8]", "[8]", "[8]", "[6, 8]"].map(|it| format!("cuLaunchKernelEx {it} turns"));
    let seen = log.lines().filter_map(|line| Some(line.split_once(" stream")?.0));
    assert!(seen.filter(|line| !line.starts_with("switch")).eq(calls), "{log}");
}

#[test]
fn a_launch_that_becomes_a_part_of_a_graph_is_left_alone() {
    let bench = Bench::new();
    let does = "module=wait.ptx kernel=turns stream capture launch=3 captured drain launch=3";
    bench.client("", does);
    assert_eq!(bench.launches("profile.capture"), of("turns", 2, 8, 24));
    let log = bench.log();
    let before = log.split("switch").next().expect("a part");
    assert_eq!(before.matches("cuLaunchKernel turns").count(), 3, "{log}");
}

#[test]
fn graphs_record_when_they_are_launched() {
    let bench = Bench::new();
    // The function at the graph's own handle is another one.
    let capture = "module=wait.ptx kernel=turns stream capture launch=2 captured drain";
    let ran = bench.client("", &format!("{capture} graph=5 launch=3"));
    assert!(ran.stderr.contains("  (CUDA graph): 5 launches, 3 recorded,"), "{}", ran.stderr);
    assert!(ran.stderr.contains("  turns: 3 launches, 2 recorded,"), "{}", ran.stderr);
    // Two kernels of each of three graphs, and two launches by themselves.
    assert_eq!(bench.launches("profile.capture"), of("turns", 8, 8, 24));
    let log = bench.log();
    let recorded = |line: &&str| line.starts_with("cuGraphLaunch") && line.ends_with(" warps 8");
    assert_eq!(log.lines().filter(recorded).count(), 6, "{log}");
}

#[test]
fn losses_in_several_streams_are_counted_exactly() {
    let bench = Bench::new();
    // Of 128 warps some find memory, in streams that take turns.
    let streams = "stream launch=2 ".repeat(6);
    let does = format!("module=wait.ptx kernel=turns grid=64 drain {streams}");
    bench.client("--every 1 --memory 1M", &does);
    let log = bench.log();
    let lines: Vec<_> = log.lines().collect();
    let on = lines.windows(2).filter(|pair| pair[0].starts_with("switch 1"));
    let (mut recorded, mut lost) = (0, 0);
    for pair in on {
        let (_, warps) = pair[1].rsplit_once(' ').expect("a number at the end");
        let warps: u64 = warps.parse().expect("a number");
        (recorded, lost) = (recorded + 3 * warps, lost + 3 * (128 - warps));
    }
    let info = bench.0.run("info profile.capture --format json").json();
    assert!(lost > 0 && recorded > 0, "{log}");
    assert_eq!((&info["recorded"], &info["lost"]), (&recorded.into(), &lost.into()), "{info:#}");
}
