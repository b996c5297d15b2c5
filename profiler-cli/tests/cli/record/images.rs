//! What kernels are loaded from, and `profiler ptxas`.

use super::{Bench, kernel, of, script};

use std::fs;

/// A cubin, as the driver of these tests takes it.
fn cubin(ptx: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x7fELF".to_vec();
    bytes.resize(64, 0);
    bytes[18] = 190;
    [&bytes, ptx].concat()
}

/// A fatbin with PTX for GPUs of this compute capability.
fn fatbin(ptx: &[u8], capability: u32) -> Vec<u8> {
    let mut bytes = vec![0; 80];
    let length = ptx.len() as u64 + 1;
    bytes[..8].copy_from_slice(b"\x50\xed\x55\xba\x01\x00\x10\x00");
    bytes[8..16].copy_from_slice(&(64 + length).to_le_bytes());
    // The image: its kind, the bytes of its header, its bytes, and for which GPUs it is.
    bytes[16..24].copy_from_slice(&[1, 0, 0, 0, 64, 0, 0, 0]);
    bytes[24..32].copy_from_slice(&length.to_le_bytes());
    bytes[44..48].copy_from_slice(&capability.to_le_bytes());
    [&bytes, ptx].concat()
}

#[track_caller]
fn check_reason(bench: &Bench, image: &str, variables: &[(&str, &str)], reason: &str) {
    let ran = bench.run(&format!("-- ./client {image} kernel=turns drain launch=4"), variables);
    assert_eq!((ran.code, ran.text()), (Some(0), "it ends\n".to_owned()), "{}", ran.stderr);
    let said = format!(
        "0 kernels recorded\n1 kernel shown as whole launches:\n  turns: 4 launches, 2.6 µs ({reason})\n"
    );
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    assert_eq!(bench.launches("profile.capture"), []);
    assert_eq!(bench.timed(), [1, 2, 4].map(|number| format!("turns #{number}")));
}

#[test]
fn kernels_that_do_not_record_are_named_with_the_cause() {
    let bench = Bench::new();
    bench.0.write("wait.cubin", &cubin(kernel().as_bytes()));
    bench.0.write("new.fatbin", &fatbin(kernel().as_bytes(), 120));
    bench.0.write("old.ptx", kernel().replace("sm_90", "sm_60").as_bytes());
    let shared = kernel().replace("$again:", "{ .shared .b32 word; }\n$again:");
    bench.0.write("shared.ptx", shared.as_bytes());
    for kind in ["module", "library"] {
        for (image, reason) in [
            ("wait.cubin", "its module holds machine code and no PTX"),
            ("new.fatbin", "its module has PTX for newer GPUs than sm_90 alone"),
            ("old.ptx", "sm_60 is too old: records need sm_70 or later"),
            ("shared.ptx", "it declares memory in a block of its own, which would be there twice"),
        ] {
            check_reason(&bench, &format!("{kind}={image}"), &[], reason);
        }
        let refuse = [("FAKE_REFUSE", "__profiler_descriptor")];
        let reason = "the driver refused the rewritten PTX (error 218)";
        check_reason(&bench, &format!("{kind}=wait.ptx"), &refuse, reason);
    }
    let ran = bench.client("--memory 64K", "module=wait.ptx kernel=turns launch=4");
    let reason = "(no memory for records was left: give more by `--memory`)";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
}

#[test]
fn ptx_is_found_in_fatbins_and_in_what_was_rewritten_before() {
    let bench = Bench::new();
    bench.0.write("wait.fatbin", &fatbin(kernel().as_bytes(), 90));
    assert_eq!(bench.0.run("instrument wait.ptx -o made.ptx").code, Some(0));
    bench.0.write("made.cubin", &cubin(&bench.0.bytes("made.ptx")));
    for image in ["module=wait.fatbin", "library=wait.fatbin", "module=made.ptx"] {
        bench.client("", &format!("{image} kernel=turns drain launch=2"));
        assert_eq!(bench.launches("profile.capture"), of("turns", 2, 8, 24), "{image}");
    }
    // Nobody has the names of its regions.
    let reason = "its module has records, but was not loaded from PTX";
    check_reason(&bench, "module=made.cubin", &[], reason);
}

#[test]
fn blocks_can_have_as_many_threads_as_without_records() {
    let bench = Bench::new();
    for kind in ["module", "library"] {
        for (few, last) in [("512", " within 80 registers"), ("768", "")] {
            let client = format!("-- ./client {kind}=wait.ptx kernel=turns drain launch=2");
            bench.run(&client, &[("FAKE_THREADS", few)]);
            assert_eq!(bench.launches("profile.capture"), of("turns", 2, 8, 24));
            let log = bench.log();
            let loads = log.lines().filter_map(|line| line.split_once("LoadData ")).map(|it| it.1);
            // The first is the profiler's own.
            let loads: Vec<&str> = loads.skip_while(|it| *it != "rewritten").collect();
            let last = format!("rewritten{last}");
            let before = ["rewritten", "original"].map(str::to_owned);
            let expected = [&before[..], &[last][..usize::from(few == "512")]].concat();
            assert_eq!(loads[..expected.len()], expected, "{log}");
        }
    }
}

#[test]
fn a_module_may_be_unloaded_and_another_takes_its_handle() {
    let bench = Bench::new();
    for (kind, function) in [("module", ""), ("library", ""), ("library", " function")] {
        let load = format!("{kind}=wait.ptx kernel=turns{function} drain");
        let again = format!("{load} launch=3 unload {load} launch=4");
        let ran = bench.client("", &again);
        assert!(ran.stderr.contains("  turns: 7 launches, 5 recorded,"), "{}", ran.stderr);
        assert_eq!(bench.launches("profile.capture"), of("turns", 5, 8, 24));
        let other =
            format!("{load} launch=3 unload {kind}=two.ptx kernel=other{function} launch=1");
        bench.client("", &other);
        let launches = [of("turns", 2, 8, 24), of("other", 1, 8, 24)].concat();
        assert_eq!(bench.launches("profile.capture"), launches);
        // Its records are copied even if it goes at once.
        let load = format!("{kind}=wait.ptx kernel=turns{function} launch=1 unload");
        bench.client("", &format!("{load} {load} {load}"));
        assert_eq!(bench.launches("profile.capture"), of("turns", 3, 8, 24));
        // One that is left out is forgotten like others.
        let two = format!("{kind}=two.ptx kernel=other{function} drain launch=1 unload");
        let ran = bench.client("--kernel turns", &format!("{two} {load}"));
        assert!(ran.stderr.contains("  turns: 1 launch, 1 recorded,"), "{}", ran.stderr);
    }
}

/// A real ptxas keeps its arguments in a file, and makes a cubin of its input.
const PTXAS: &str = "\
printf '%s\\n' \"$0\" \"$@\" > arguments
[ $# = 5 ] || exit 3
cp \"$3\" input.ptx
cat elf \"$3\" > \"$5\"
";

#[test]
fn ptxas_is_given_rewritten_ptx() {
    let bench = Bench::new();
    bench.0.write("elf", &cubin(b""));
    for folder in ["path", "own"] {
        fs::create_dir(bench.0.path(folder)).expect("a folder can be made");
        for name in ["ptxas", "ptxas-blackwell"] {
            script(&bench.0, &format!("{folder}/{name}"), PTXAS);
        }
    }
    let path = format!("{}:/usr/bin:/bin", bench.0.path("path").display());
    let own = bench.0.path("own/ptxas");
    let own = own.to_str().expect("UTF-8");
    for (called, variables, real) in [
        ("ptxas", vec![], "path/ptxas"),
        ("$TRITON_PTXAS_PATH", vec![], "path/ptxas"),
        ("$TRITON_PTXAS_PATH", vec![("TRITON_PTXAS_PATH", own)], "own/ptxas"),
        ("$TRITON_PTXAS_BLACKWELL_PATH", vec![], "path/ptxas-blackwell"),
    ] {
        let text = format!("{called} --gpu-name=sm_90a -v wait.ptx -o out.cubin || exit\n");
        let runs =
            format!("{text}exec ./client module=out.cubin kernel=turns drain launch=2 exit=6");
        script(&bench.0, "compile", &runs);
        let variables = [&[("PATH", path.as_str())], &variables[..]].concat();
        let ran = bench.run("-- ./compile", &variables);
        assert_eq!((ran.code, ran.text().as_str()), (Some(6), "it ends\n"), "{}", ran.stderr);
        assert_eq!(bench.launches("profile.capture"), of("turns", 2, 8, 24), "{called}");
        let arguments = String::from_utf8(bench.0.bytes("arguments")).expect("UTF-8");
        let real = fs::canonicalize(bench.0.path(real)).expect("it is there");
        let real = real.to_str().expect("UTF-8");
        let [first, name, verbose, input, flag, output] =
            arguments.lines().collect::<Vec<_>>().try_into().expect("six");
        assert_eq!(
            [first, name, verbose, flag, output],
            [real, "--gpu-name=sm_90a", "-v", "-o", "out.cubin"]
        );
        assert!(input.ends_with(".ptx") && !input.ends_with("wait.ptx"), "{input}");
        let rewritten = String::from_utf8(bench.0.bytes("input.ptx")).expect("UTF-8");
        assert!(rewritten.contains("__profiler_descriptor_v1"), "{rewritten}");
    }
    // Of regions it has those that were chosen.
    let chosen = "--no-auto --region 'instruction ret=end' -- ./compile";
    let ran = bench.run(chosen, &[("PATH", path.as_str())]);
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    let rewritten = String::from_utf8(bench.0.bytes("input.ptx")).expect("UTF-8");
    assert_eq!(rewritten.matches(".reg .b64 %profiler_begin").count(), 1, "{rewritten}");
    // What it refuses is compiled as it was.
    let name = "path/ptxas-blackwell";
    script(&bench.0, name, &format!("grep -q __profiler \"$3\" && exit 1\n{PTXAS}"));
    let ran = bench.run("-- ./compile", &[("PATH", path.as_str())]);
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    assert!(ran.stderr.contains("(ptxas refused the rewritten PTX)"), "{}", ran.stderr);
    assert!(bench.0.bytes("arguments").ends_with(b"-v\nwait.ptx\n-o\nout.cubin\n"));
    script(&bench.0, name, PTXAS);
    // Its exit status, and its arguments where none is PTX.
    let ran = bench.run("-- ptxas --version wait.none", &[("PATH", &path)]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(bench.0.bytes("arguments").ends_with(b"--version\nwait.none\n"));
    // What cannot be rewritten is compiled as it is, and named with the cause.
    bench.0.write("wait.ptx", kernel().replace("sm_90", "sm_60").as_bytes());
    let ran = bench.run("-- ./compile", &[("PATH", &path)]);
    assert_eq!(ran.code, Some(6), "{}", ran.stderr);
    let reason = "(sm_60 is too old: records need sm_70 or later)";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    assert!(bench.0.bytes("arguments").ends_with(b"-v\nwait.ptx\n-o\nout.cubin\n"));
}
