//! Kernels that nobody annotated: `profiler sites` and `profiler instrument`.

use crate::support;

use expect_test::expect;
use support::{Folder, WAIT_PTX};

/// A fatbin with PTX for sm_80 and sm_90.
const TWO_GPUS: &[u8] = include_bytes!("../../../profiler-ptx/tests/data/wait-zstd.fatbin");

#[test]
fn instrumented_ptx_is_written_once_and_keeps_what_it_does_not_touch() {
    let folder = Folder::new();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    let ran = folder.run("instrument wait.ptx -o out.ptx --budget 100").done();
    assert!(ran.stderr.contains("4 regions in 1 kernel;"), "{}", ran.stderr);
    let text = String::from_utf8(folder.bytes("out.ptx")).expect("text");
    let mut rest = text.as_str();
    for line in WAIT_PTX.lines() {
        let at = rest.find(line.trim()).unwrap_or_else(|| panic!("{line} is gone"));
        rest = &rest[at..];
    }
    folder.run("instrument out.ptx -o again.ptx").refused("instrumented already");
}

#[test]
fn what_cannot_be_instrumented_is_refused_by_its_cause() {
    let folder = Folder::with_captures();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    folder.write("words.txt", b"words");
    folder.write("cut.ptx", WAIT_PTX.split(".visible").next().expect("its begin").as_bytes());
    folder.write("two.fatbin", TWO_GPUS);
    folder.write("old.ptx", WAIT_PTX.replace(".version 8.0", ".version 5.0").as_bytes());
    folder.write("narrow.ptx", WAIT_PTX.replace("_size 64", "_size 32").as_bytes());
    for (words, cause) in [
        ("sites gemm.capture", "gemm.capture is a capture\n  help: `profiler info`"),
        ("sites words.txt", "holds no program for a GPU: give PTX"),
        ("sites none.ptx", "cannot read none.ptx"),
        ("sites wait.ptx --kernel other", "no kernel has a name that `other` matches"),
        ("sites wait.ptx --kernel (", "found open group without closing"),
        ("sites wait.ptx --budget -1", "give 0 to 10000"),
        ("sites old.ptx", "compile for PTX 6.2"),
        ("sites wait.ptx --no-auto", "nothing to record\n  help: choose code by --region"),
        ("sites wait.ptx --region 'lines a:3'", "`lines softmax.py:40-57=load`"),
        ("sites wait.ptx --region loops", "begin with `lines`, `function` or `instruction`"),
        ("sites wait.ptx --sites none.toml", "cannot read none.toml"),
        ("instrument narrow.ptx -o out.ptx", "64-bit addresses"),
        ("instrument wait.ptx -o wait.ptx", "would overwrite the file that is read"),
        ("instrument cut.ptx -o out.ptx", "no kernel in it can record, so nothing is written"),
        ("instrument two.fatbin -o out.ptx --arch sm_70", "give one of sm_90, sm_80 by --arch"),
        ("instrument two.fatbin -o out.ptx --arch new", "give a GPU like sm_90"),
    ] {
        folder.run(words).refused(cause);
    }
    assert!(!folder.path("out.ptx").exists());
}

#[test]
fn of_several_gpus_one_is_taken_and_of_kernels_those_that_match() {
    let folder = Folder::new();
    folder.write("two.fatbin", TWO_GPUS);
    for (arch, target) in [("", ".target sm_90"), ("--arch sm_80", ".target sm_80")] {
        folder.run(&format!("instrument two.fatbin -o out.ptx --kernel 'w.i' {arch}")).done();
        let text = String::from_utf8(folder.bytes("out.ptx")).expect("text");
        assert!(text.contains(target), "{arch}");
    }
}

#[test]
fn regions_are_chosen_by_hand() {
    let folder = Folder::new();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    let load = "--region 'function load'";
    let specs =
        format!("--region 'lines turns.cu:6-8=a step' --region 'instruction cp.async.*' {load}");
    let ran = folder.run(&format!("sites wait.ptx {specs}"));
    expect![[r#"
        turns
          barrier turns.cu:11
          a step (turns.cu:6)
          cp.async.* (turns.cu:8)
          left out: loop turns.cu:6: `a step` has a part or all of it
          left out: copy wait turns.cu:8: `cp.async.*` has a part or all of it
          left out: barrier turns.cu:6: it would take more than 5 % of its loop
        --- stderr
        no kernel has code of `function load`
        --- exit code 0
    "#]]
    .assert_eq(&ran.transcript());
    let ran = folder.run(&format!("instrument wait.ptx -o out.ptx --no-auto {specs}"));
    expect![[r#"
        --- stderr
        no kernel has code of `function load`
        wrote out.ptx, 22.5 kB
        2 regions in 1 kernel; `profiler sites` lists them
        --- exit code 0
    "#]]
    .assert_eq(&ran.transcript());
    let text = String::from_utf8(folder.bytes("out.ptx")).expect("text");
    assert_eq!(text.matches(".reg .b64 %profiler_begin").count(), 2);
    // Nothing at all is an error.
    let ran = folder.run(&format!("sites wait.ptx {load}"));
    expect![[r#"
        --- stderr
        error: no kernel has code of `function load`
          help: lines and inlined functions need line information (nvcc -lineinfo), and Triton does not name inlined functions: choose the lines that call them; patterns match whole opcodes, like `wgmma.*`
        --- exit code 2
    "#]].assert_eq(&ran.transcript());
}

#[test]
fn regions_are_read_from_a_file() {
    let folder = Folder::new();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    let region =
        "[[region]]\nlines = \"turns.cu:11\"\nname = \"end\"\n[[region]]\ninstruction = \"add*\"\n";
    folder.write("regions.toml", format!("auto = false\n{region}").as_bytes());
    let ran = folder.run("sites wait.ptx --sites regions.toml --region 'lines turns.cu:4=begin'");
    expect![[r#"
        turns
          end (turns.cu:11)
          add* (turns.cu:8)
          begin (turns.cu:4)
        --- exit code 0
    "#]]
    .assert_eq(&ran.transcript());
    for (text, said) in [
        ("auto = 1", "`auto` is neither true nor false"),
        ("\nauto = ", "line 2: "),
        ("auto = false", "without loops and waits there is nothing to record"),
        ("region = 1", "`region` is no list"),
        ("regions = []", "there is no key `regions`"),
        ("[[region]]\nname = \"a\"", "region 1: it has none of"),
        ("[[region]]\nlines = \"a:1\"\nfunction = \"b\"", "region 1: it has more than one of"),
        ("[[region]]\nlines = 3", "region 1: `lines` is no text"),
        ("[[region]]\nlines = \"a\"", "region 1: give a file, lines and a name"),
        ("[[region]]\nline = \"a\"", "region 1: there is no key `line`"),
        ("[[region]]\nfunction = \"a\"\nname = \"a=b\"", "region 1: a name has no `=`"),
    ] {
        folder.write("regions.toml", text.as_bytes());
        let ran = folder.run("sites wait.ptx --sites regions.toml");
        ran.refused(said);
        assert!(ran.stderr.contains("help:"), "{text}: {}", ran.stderr);
    }
}
