//! `profiler new`. That the tutorial's files, which are these, build and run is tested with the tutorial.

use std::fs;
use std::path::Path;

use crate::support::Folder;

/// A folder with what looks like a clone.
fn folder() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("profiler/profiler-host")).expect("a folder can be made");
    folder.write("profiler/profiler-host/Cargo.toml", b"");
    folder
}

/// The files that the tutorial shows.
fn shown() -> Vec<(String, String)> {
    let page = include_str!("../../../docs/tutorial.md");
    let sections = page.split("<!-- file: ").skip(1).map(|section| {
        let (path, rest) = section.split_once(" -->").expect("the comment ends");
        let code = rest.split_once("```").and_then(|(_, rest)| rest.split_once('\n'));
        let (code, _) = code.expect("a code block").1.split_once("```").expect("it ends");
        (path.to_owned(), code.to_owned())
    });
    sections.collect()
}

#[test]
fn the_project_is_that_of_the_tutorial() {
    let folder = folder();
    let ran = folder.run("new tour --profiler profiler");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(0), "wrote tour; next: cd tour && cargo run\n")
    );
    let shown = shown();
    assert_eq!(shown.len(), 6);
    for (path, text) in shown {
        let written = fs::read_to_string(folder.path("tour").join(&path)).expect("it is written");
        assert_eq!(written, text, "{path}");
    }
    assert!(folder.path("tour/.gitignore").is_file());
}

#[test]
fn projects_of_host_libraries_depend_on_them() {
    let folder = folder();
    for host in ["cudarc", "cust"] {
        let source = "https://example.org/p.git";
        folder.run(&format!("new {host}_tour --host {host} --profiler {source}")).done();
        let read = |name: &str| {
            fs::read_to_string(folder.path(&format!("{host}_tour")).join(name)).unwrap_or_default()
        };
        let manifest = read("Cargo.toml");
        let feature = format!(
            "profiler-host = {{ git = \"https://example.org/p.git\", features = [\"{host}\"] }}"
        );
        assert!(
            manifest.contains(&feature) && manifest.contains(&format!("\n{host} = ")),
            "{manifest}"
        );
        assert!(read("src/main.rs").contains(&format!("use {host}::")));
        assert_eq!(read(".cargo/config.toml").is_empty(), host == "cudarc");
    }
    folder.run("new packed --profiler crates.io");
    let manifest = fs::read_to_string(folder.path("packed/Cargo.toml")).expect("it is written");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        manifest.contains(&format!("profiler-host = {{ version = \"{version}\" }}")),
        "{manifest}"
    );
    // The clone that the program was built in is where the crates are, unless another place is named.
    folder.run("new here");
    let manifest = fs::read_to_string(folder.path("here/Cargo.toml")).expect("it is written");
    let clone = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    assert!(manifest.contains(&clone.join("profiler-host").display().to_string()), "{manifest}");
}

#[test]
fn what_cannot_be_a_project_is_refused() {
    let folder = folder();
    for (words, said) in [
        ("new kernels", "`kernels` cannot be the name of a project\n  help: give letters"),
        ("new a/b", "`a/b` cannot be the name"),
        ("new 3d", "`3d` cannot be the name"),
        ("new profiler", "there is a folder profiler already\n  help: give another name"),
        (
            "new tour --profiler nowhere",
            "nowhere has no crate profiler-host\n  help: name the folder",
        ),
        ("new tour --host vulkan", "[possible values: none, cudarc, cust]"),
    ] {
        folder.run(words).refused(said);
        assert!(!folder.path("tour").exists());
    }
}
