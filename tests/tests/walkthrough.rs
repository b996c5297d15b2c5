//! README's walk-through, followed to the letter in an empty folder outside the workspace.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The files that README shows: behind each `<!-- file: PATH -->` the text of the next code block.
fn files(readme: &str) -> Vec<(&str, &str)> {
    readme
        .split("<!-- file: ")
        .skip(1)
        .map(|section| {
            let (path, rest) = section.split_once(" -->").expect("the comment ends");
            let code = rest.split_once("```").expect("a code block").1;
            let code = code.split_once('\n').expect("the language").1;
            (path, code.split_once("```").expect("the code block ends").0)
        })
        .collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the workspace").to_owned()
}

#[test]
fn a_new_project_from_readme_alone() {
    let workspace = workspace();
    let readme = fs::read_to_string(workspace.join("README.md")).expect("README");
    let folder = tempfile::tempdir().expect("an empty folder");
    let tour = folder.path().join("tour");
    let files = files(&readme);
    assert_eq!(files.len(), 6, "README shows six files");
    // The kernel that README begins with is the one that is compiled here.
    let opening = readme.split("```").nth(1).and_then(|block| block.split_once('\n'));
    let opening = opening.expect("README begins with a kernel").1;
    let shown =
        files.iter().any(|(_, text)| text.ends_with(opening) && opening.contains("#[profiled]"));
    assert!(shown, "{opening}");
    for (path, text) in files {
        let path = tour.join(path);
        fs::create_dir_all(path.parent().expect("inside the project")).expect("a folder");
        fs::write(path, text).expect("the file");
    }

    // As a clone beside the new project.
    std::os::unix::fs::symlink(&workspace, folder.path().join("profiler")).expect("a link");

    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&tour).args(["run", "--release"]);
    // The lock file spares the resolver from asking the registry again.
    fs::copy(workspace.join("Cargo.lock"), tour.join("Cargo.lock")).expect("the lock file");
    // A target folder that stays, so that a second run of the tests is quick.
    cargo.env("CARGO_TARGET_DIR", workspace.join("target/walkthrough"));
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        cargo.env_remove(variable);
    }
    let output = cargo.output().expect("cargo runs");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    for expected in ["axpy", "load", "store"] {
        assert!(stdout.contains(expected), "no {expected} in the table:\n{stdout}");
    }
    let trace = fs::metadata(tour.join("axpy.pftrace")).expect("the trace was written");
    assert!(trace.len() > 0);
}
