//! Kernels that nobody annotated: `profiler sites` and `profiler instrument`.

use crate::support;

use support::{Folder, WAIT_PTX};

#[test]
fn instrumented_ptx_is_written_once_and_keeps_what_it_does_not_touch() {
    let folder = Folder::new();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    let ran = folder.run("instrument wait.ptx -o out.ptx --budget 100");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("4 regions in 1 kernel;"), "{}", ran.stderr);
    let text = String::from_utf8(folder.bytes("out.ptx")).expect("text");
    let mut rest = text.as_str();
    for line in WAIT_PTX.lines() {
        let at = rest.find(line.trim()).unwrap_or_else(|| panic!("{line} is gone"));
        rest = &rest[at..];
    }
    let again = folder.run("instrument out.ptx -o again.ptx");
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("instrumented already"), "{}", again.stderr);
}

#[test]
fn what_cannot_be_instrumented_is_refused_by_its_cause() {
    let folder = Folder::with_captures();
    folder.write("wait.ptx", WAIT_PTX.as_bytes());
    folder.write("old.ptx", WAIT_PTX.replace(".version 8.0", ".version 5.0").as_bytes());
    folder.write("narrow.ptx", WAIT_PTX.replace("_size 64", "_size 32").as_bytes());
    for (words, cause) in [
        ("sites gemm.capture", "holds no program for a GPU"),
        ("sites none.ptx", "cannot read none.ptx"),
        ("sites wait.ptx --kernel other", "there is no kernel `other`"),
        ("sites wait.ptx --budget -1", "give 0 to 10000"),
        ("sites old.ptx", "compile for PTX 6.2"),
        ("instrument narrow.ptx -o out.ptx", "64-bit addresses"),
        ("instrument wait.ptx -o wait.ptx", "wait.ptx"),
    ] {
        let ran = folder.run(words);
        assert_eq!(ran.code, Some(2), "{words}");
        assert!(ran.stderr.contains(cause), "{words}: {}", ran.stderr);
    }
}
