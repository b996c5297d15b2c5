//! Names in a stranger's capture must not steer the terminal.

use crate::support;

use support::{Folder, program, steering};

#[test]
fn no_name_steers_the_terminal() {
    let folder = Folder::new();
    folder.save("steering\x1b[1A.capture", &steering());
    let commands = [
        "info --all",
        "stats",
        "stats --by path",
        "stats --by warp --kernel nobody --name nobody",
        "stats --show balance,waits,critical-path",
        "timeline",
        "export -o out\x1b[1A.csv",
        "check",
        "check missing\x1b[1A.capture",
        "diff steering\x1b[1A.capture --fail-above 1%",
    ];
    for words in commands {
        let (command, more) = words.split_once(' ').unwrap_or((words, ""));
        let ran = folder.run(&format!("{command} steering\x1b[1A.capture {more} --color always"));
        let said = format!("{}{}", ran.text(), ran.stderr);
        assert!(!said.contains("\x1b[8m"), "{words}: {said:?}");
        let plain = without_colours(&said);
        let steers = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c);
        assert!(!plain.contains(steers), "{words}: {said:?}");
        assert!(said.len() > 20, "{words}: {said:?}");
    }
}

#[test]
fn an_empty_path_is_called_empty() {
    let folder = Folder::with_captures();
    for (words, said) in [
        (["stats", "", "--by", "sm"], "cannot read a capture: the path is empty"),
        (["stats", "gemm.capture", "-o", ""], "cannot write a file: the path is empty"),
    ] {
        let output = program(&folder.path("")).args(words).output().expect("the program runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(said), "{words:?}: {stderr}");
    }
}

/// Without the sequences that only choose a colour or a weight.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain + rest,
            None => plain + "\x1b[" + part,
        }
    })
}
