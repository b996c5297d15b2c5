//! Captures made by hand, and the program run on them.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::Expect;
use profiler_test_tools::synthetic::{Keep, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, ClockPair, HostCapture, HostRecord, RecordCost, ResourceEffect, Value,
};
use profiler_wire::SiteKind;

/// A folder that is gone with the value.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// One that holds `gemm.capture`, `hosted.capture` and `lossy.capture`.
    pub(crate) fn with_captures() -> Self {
        let folder = Self::new();
        folder.save("gemm.capture", &gemm(2));
        folder.save("hosted.capture", &hosted());
        folder.save("lossy.capture", &lossy());
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn save(&self, name: &str, capture: &Capture) {
        capture.write(self.path(name)).expect("the capture can be written");
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the file can be read")
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("the file can be written");
    }

    /// The names of its files, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder can be read");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Runs `profiler` in the folder with these words for arguments.
    pub(crate) fn run(&self, words: &str) -> Ran {
        self.run_with(words, b"", &[])
    }

    pub(crate) fn run_with(&self, words: &str, stdin: &[u8], variables: &[(&str, &str)]) -> Ran {
        let mut command = program(self.0.path());
        for (index, part) in words.split('\'').enumerate() {
            // Every second part stands in quotes.
            if index % 2 == 0 {
                command.args(part.split_whitespace());
            } else {
                command.arg(part);
            }
        }
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program can be run");
        let mut input = child.stdin.take().expect("it was piped");
        let bytes = stdin.to_vec();
        // It may end without having read all.
        let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("the writer ends");
        Ran {
            words: words.to_owned(),
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

/// The program, to be run in a folder, where no variable of the surroundings changes its output.
pub(crate) fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profiler"));
    command.current_dir(folder);
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(variable);
    }
    command
}

/// The result of a run of the program.
pub(crate) struct Ran {
    words: String,
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Ran {
    /// Requires that it did its work.
    #[track_caller]
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, Some(0), "{}: {}", self.words, self.stderr);
        self
    }

    /// Requires that it was refused, with these words.
    #[track_caller]
    pub(crate) fn refused(&self, said: &str) {
        assert_eq!((self.code, self.text().as_str()), (Some(2), ""), "{}", self.words);
        assert!(self.stderr.contains(said), "{}: {}", self.words, self.stderr);
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("stdout is text")
    }

    /// All of it, for comparison.
    pub(crate) fn transcript(&self) -> String {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        let mut transcript = self.text();
        if !self.stderr.is_empty() {
            transcript += &format!("--- stderr\n{}", self.stderr);
        }
        transcript + &format!("--- exit code {code}\n")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).expect("stdout is JSON")
    }
}

/// A tick is half a nanosecond.
fn globaltimer(ticks: u64) -> u64 {
    5_000_000 + ticks / 2
}

/// A kernel that nobody annotated, as nvcc might have made it.
pub(crate) const WAIT_PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.file 1 \"src/turns.cu\"
.visible .entry turns(.param .u64 out, .param .u32 count)
{
\t.reg .pred %p<2>;
\t.reg .b32 %r<3>;
\t.loc 1 4 5
\tld.param.u32 %r1, [count];
$again:
\t.loc 1 6 9
\tbar.sync 0;
\t.loc 1 8 9
\tcp.async.wait_group 0;
\tadd.s32 %r1, %r1, -1;
\tsetp.ne.s32 %p1, %r1, 0;
\t@%p1 bra $again;
\t.loc 1 11 5
\tbar.sync 0;
\tret;
}
";

/// Two launches of four blocks with two warps each, on two SMs: tiles of a load and a product, then
/// an epilogue. Everything lasts `tick` times as long.
pub(crate) fn gemm(tick: u64) -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 64);
    let kernel = module.site(SiteKind::Kernel, "gemm");
    let tile = module.site(SiteKind::Region, "tile");
    let load = module.site_with_unit(SiteKind::Region, "load", "bytes");
    let product = module.site(SiteKind::Region, "mma");
    let epilogue = module.site(SiteKind::Region, "epilogue");
    let mark = module.site(SiteKind::Mark, "half");
    for launch in 0..2 {
        for (block, index) in (0..4).flat_map(|block| [(block, 0), (block, 1)]) {
            let wave = u64::from(block / 2);
            let entry = 1000 + (launch * 20_000 + wave * 6000) * tick;
            let mut warp = SyntheticWarp::new(kernel, entry, globaltimer(entry));
            warp.header.grid_id = launch + 1;
            warp.header.grid_dim = [4, 1, 1];
            warp.header.block_dim = [64, 1, 1];
            warp.header.block = [block, 0, 0];
            warp.header.warp = index;
            warp.header.sm = block % 2;
            let mut at = entry + 100 * tick;
            for step in 0..4 {
                let loaded = at + (200 + 40 * ((step + u64::from(block + index)) % 3)) * tick;
                let end = loaded + 600 * tick;
                warp.range(load, None, at, loaded);
                warp.attach(load, loaded, Value::Unsigned(4096));
                warp.range(product, None, loaded + 20 * tick, end);
                warp.range(tile, None, at, end);
                if step == 1 {
                    warp.mark(mark, None, end);
                }
                at = end + 50 * tick;
            }
            warp.range(epilogue, None, at, at + 900 * tick);
            let exit = at + 1000 * tick;
            warp.leave(exit, globaltimer(exit));
            module.warps.push(warp);
        }
    }
    let mut capture = module.into_capture().expect("the sites are in order");
    capture.record_cost = Some(RecordCost::uniform(10.0, 24.0));
    capture
}

/// [`gemm`], and what two threads of its host did: a step with a copy, both launches and the wait for
/// them, and beside it a loader.
pub(crate) fn hosted() -> Capture {
    let span = |thread, name: &str, is_launch, start_ns: i64, end_ns: i64| {
        // The first kernel begins when the host's clock shows 100 000.
        let at = |ns: i64| (100_000 + ns).cast_unsigned();
        let (start_ns, end_ns) = (at(start_ns), at(end_ns));
        HostRecord { thread, name: name.to_owned(), is_launch, start_ns, end_ns }
    };
    let mut capture = gemm(2);
    capture.host = HostCapture {
        clock: vec![ClockPair {
            host_ns: 100_000,
            device_ns: globaltimer(1000),
            uncertainty_ns: 20.0,
        }],
        threads: vec!["main".to_owned(), "loader".to_owned()],
        spans: vec![
            span(0, "step", false, -9000, 34_000),
            span(0, "upload", false, -8500, -4000),
            span(0, "gemm", true, -3000, -1000),
            span(0, "gemm", true, -500, 2500),
            span(0, "synchronize", false, 2700, 33_000),
            span(1, "read file", false, -20_000, 6000),
        ],
    };
    capture
}

/// Buffers too small, too few slots, a region that was never ended, a warp that never left.
pub(crate) fn lossy() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    module.slots = 3;
    let kernel = module.site(SiteKind::Kernel, "lossy");
    let region = module.site(SiteKind::Region, "step");
    for index in 0..4 {
        let mut warp = SyntheticWarp::new(kernel, 1000, globaltimer(1000));
        warp.header.block_dim = [128, 1, 1];
        warp.header.warp = index;
        if index == 1 {
            warp.begin(region, None, 11_000);
        } else {
            for step in 0..10 {
                warp.range(region, None, 11_000 + step * 1000, 11_900 + step * 1000);
            }
            warp.leave(300_000, globaltimer(300_000));
        }
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are in order")
}

/// Two launches of two blocks on two SMs. In each a block works and signals, and the other waits for
/// it; a third wait has no signal.
pub(crate) fn waiting() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 16);
    let kernel = module.site(SiteKind::Kernel, "kernel");
    let [work, wait_for] =
        ["work", "wait, for \"work\""].map(|name| module.site(SiteKind::Region, name));
    let (signal, wait) =
        (module.site(SiteKind::Signal, "full"), module.site(SiteKind::Wait, "full"));
    for (launch, block) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let entry = 1_000 + 20_000 * launch;
        let ns = |ticks: u64| 64_000 + ticks / 2;
        let mut warp = SyntheticWarp::new(kernel, entry, ns(entry));
        warp.header.grid_id = 1 + launch;
        warp.header.grid_dim = [2, 1, 1];
        warp.header.block = [block, 0, 0];
        warp.header.sm = block;
        let at = entry + 100;
        if block == 0 {
            warp.range(work, None, at, at + 1_000);
            warp.value(signal, at + 1_000, Value::Unsigned(launch));
        } else {
            warp.range(wait_for, None, at, at + 1_100);
            warp.value(wait, at + 1_100, Value::Unsigned(launch));
            warp.value(wait, at + 1_200, Value::Unsigned(100 + launch));
        }
        warp.leave(at + 2_000, ns(at + 2_000));
        module.warps.push(warp);
    }
    module.into_capture().expect("the sites are whole")
}

/// A capture of a stranger whose names are escape sequences, and turn the direction of text.
pub(crate) fn steering() -> Capture {
    let mut module = SyntheticModule::new(Keep::First, 8);
    let kernel = module.site(SiteKind::Kernel, "kernel\x1b[2J");
    let region = module.site_with_unit(SiteKind::Region, "\u{202e}region\x1b[8m", "bytes\x07");
    let mut warp = SyntheticWarp::new(kernel, 1000, 5_000_500);
    warp.range(region, None, 2000, 3000);
    warp.attach(region, 3000, Value::Unsigned(64));
    warp.leave(300_000, 5_150_000);
    module.warps.push(warp);
    let mut capture = module.into_capture().expect("the sites are in order");
    capture.device.name = "GPU\x1b]0;title\x07".to_owned();
    capture.device.driver = "13\u{9b}1A".to_owned();
    capture.host.threads.push("thread\r\x1b[1A".to_owned());
    capture.host.clock.push(ClockPair { host_ns: 500, device_ns: 5_000_500, uncertainty_ns: 1.0 });
    let name = "span\x08\u{2066}".to_owned();
    let span = HostRecord { thread: 0, name, is_launch: false, start_ns: 0, end_ns: 100_000 };
    capture.host.spans.push(span);
    let kernel = "kernel\x1b[8m\x07".to_owned();
    capture.resources = vec![ResourceEffect { kernel, ..ResourceEffect::default() }];
    capture
}

/// Runs the program beside `gemm.capture` and `lossy.capture`.
#[track_caller]
pub(crate) fn check(words: &str, expected: Expect) {
    let transcript = Folder::with_captures().run(words).transcript();
    // These tests do not depend on compression.
    let line = |line: &str| match line.split_once("capture, ") {
        Some((file, _)) if line.starts_with("file ") => format!("{file}capture, (its size)\n"),
        _ => format!("{line}\n"),
    };
    expected.assert_eq(&transcript.lines().map(line).collect::<String>());
}

/// The first of the diagnostics of this kind.
pub(crate) fn diagnostic<'v>(list: &'v serde_json::Value, kind: &str) -> &'v serde_json::Value {
    let mut list = list.as_array().expect("a list of diagnostics").iter();
    list.find(|it| it["kind"] == kind).unwrap_or_else(|| panic!("no {kind}"))
}
