//! The tutorial, followed to the letter in an empty folder outside the workspace, and what README quotes.
#![cfg(unix)]

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What a page shows after each `<!-- MARK: PATH -->`: the path, and the text of the next code block.
pub(crate) fn shown<'p>(page: &'p str, mark: &str) -> Vec<(&'p str, &'p str)> {
    page.split(&format!("<!-- {mark}: "))
        .skip(1)
        .map(|section| {
            let (path, rest) = section.split_once(" -->").expect("the comment ends");
            (path, code_block(rest))
        })
        .collect()
}

/// The text of the next code block.
fn code_block(text: &str) -> &str {
    let code = text.split_once("```").expect("a code block").1;
    let code = code.split_once('\n').expect("the language").1;
    code.split_once("```").expect("the code block ends").0
}

pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is in the workspace").to_owned()
}

pub(crate) fn page(name: &str) -> String {
    fs::read_to_string(workspace().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `cargo run` in the project, and what it printed.
fn run(tour: &Path) -> String {
    let stdout = printed(cargo(tour).arg("run"));
    for expected in ["sum_rows", "load", "reduce", "none lost"] {
        assert!(stdout.contains(expected), "no {expected} in the output:\n{stdout}");
    }
    assert_eq!(
        stdout.contains("CPU emulator"),
        stdout.contains("why not on the GPU: "),
        "{stdout}"
    );
    for written in ["sum_rows.pftrace", "sum_rows.capture"] {
        let file = fs::metadata(tour.join(written)).expect(written);
        assert!(file.len() > 0, "{written} is empty");
    }
    stdout
}

/// Cargo in a project, with a target folder that stays, so that a second run of the tests is quick.
pub(crate) fn cargo(project: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(project).env("CARGO_TARGET_DIR", workspace().join("target/walkthrough"));
    // Nobody debugs what is built there.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
    for variable in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER"] {
        cargo.env_remove(variable);
    }
    cargo
}

/// What a command that succeeds prints.
pub(crate) fn printed(command: &mut Command) -> String {
    let output = command.output().expect("cargo runs");
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    stdout.into_owned()
}

/// The folder of a new project with a clone beside it, at the place where it was the last time, so that libraries are
/// compiled once for all such projects.
pub(crate) fn beside_a_clone(project: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects");
    let project = folder.join(project);
    let _old = fs::remove_dir_all(&project);
    fs::create_dir_all(&project).expect("a folder");
    match std::os::unix::fs::symlink(workspace(), folder.join("profiler")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => panic!("no link: {error}"),
        _ => {}
    }
    // It spares the resolver from asking the registry again.
    fs::copy(workspace().join("Cargo.lock"), project.join("Cargo.lock")).expect("the lock file");
    project
}

/// How many regions of a name the printed table has.
fn regions(printed: &str, name: &str) -> u32 {
    let row = printed.lines().find(|line| line.split_whitespace().any(|word| word == name));
    let mut words = row.expect("a row").split_whitespace().skip_while(|word| *word != name);
    words.nth(1).and_then(|count| count.parse().ok()).expect("a count")
}

#[test]
fn a_new_project_from_the_tutorial_alone() {
    let tutorial = page("docs/tutorial.md");
    let tour = beside_a_clone("tour");
    let files = shown(&tutorial, "file");
    assert_eq!(files.len(), 6, "the tutorial shows six files");
    for (path, text) in files {
        let path = tour.join(path);
        fs::create_dir_all(path.parent().expect("inside the project")).expect("a folder");
        fs::write(path, text).expect("the file");
    }
    let before = run(&tour);

    // The loop takes the place of the one that begins alike.
    let edits = shown(&tutorial, "loop");
    let [(path, new)] = edits[..] else { panic!("the tutorial changes one loop: {edits:?}") };
    let path = tour.join(path);
    let kernel = fs::read_to_string(&path).expect("the kernel");
    let first = new.lines().next().expect("a line");
    let begin = kernel.find(first).expect("the loop begins as it did");
    let end = kernel.find("    profile_region!(\"reduce\"").expect("what follows it");
    fs::write(&path, format!("{}{new}{}", &kernel[..begin], &kernel[end..])).expect("the file");
    let after = run(&tour);
    assert_eq!(regions(&before, "load"), 8 * regions(&after, "load"), "eight loads in one region");

    // The line takes the place of the one that begins alike.
    let lines = shown(&tutorial, "line");
    let [(_, new)] = lines[..] else { panic!("the tutorial changes one line: {lines:?}") };
    let kernel = fs::read_to_string(&path).expect("the kernel");
    let old = "        for number in numbers {\n";
    assert!(kernel.contains(old) && new.starts_with("        for number in "), "{new}");
    // The first line has what a shared array takes, too.
    let array = "profiler_kernel::shared_array!(pub static TILE: [f32; 32]);\n";
    fs::write(&path, kernel.replace(old, new) + array).expect("the file");
    let last = run(&tour);
    for name in ["load", "reduce"] {
        assert_eq!(regions(&after, name), regions(&last, name), "{name}");
    }
    launches_that_cannot_be_say_why(&tour);
}

/// Of a program that launches such a kernel: in this project all that it needs is compiled already.
fn launches_that_cannot_be_say_why(project: &Path) {
    let numbered =
        |what: &str| (0..33).map(|n| what.replace('#', &n.to_string())).collect::<String>();
    for (kernel, launch, said) in [
        (
            "scale<T>(_: *mut T) {}".to_owned(),
            "scale::<f32><<<1, 1>>>(std::ptr::null_mut())".to_owned(),
            "a generic kernel has no entry in the PTX that a launch could name: make the work a \
             generic device function",
        ),
        (
            format!("many({}) {{}}", numbered("_p#: u32,")),
            format!("many<<<1, 1>>>({})", numbered("#,")),
            "`launch!` takes kernels of at most 32 parameters: give some of them as one, a \
             `#[repr(C)]` structure",
        ),
    ] {
        let source = format!(
            "use profiler_host::{{Backend, BackendChoice, launch}};\nunsafe fn {kernel}\n\
             fn main() {{\n    let backend = Backend::choose(BackendChoice::Emulator, None).unwrap();\n    \
             unsafe {{ launch!(backend, {launch}) }}.unwrap();\n}}\n"
        );
        fs::write(project.join("src/main.rs"), source).expect("the program");
        let output = cargo(project).arg("build").output().expect("cargo runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(said), "{stderr}");
    }
}

#[test]
fn commands_of_the_tutorial_name_what_is_there() {
    let tutorial = page("docs/tutorial.md");
    // Where its reader stands: beside the clone.
    let paths: Vec<&str> = tutorial
        .split("--path ")
        .skip(1)
        .filter_map(|rest| rest.split([' ', '`', '\n']).next())
        .collect();
    assert!(!paths.is_empty());
    for path in paths {
        let of_clone = path.strip_prefix("profiler/").expect("a path into the clone");
        assert!(workspace().join(of_clone).join("Cargo.toml").exists(), "{path}");
    }
    // One line for crates of kernels, wherever a person copies it from.
    let (_, line) = shown(&tutorial, "file")
        .into_iter()
        .find(|(path, _)| *path == "kernels/src/lib.rs")
        .expect("the kernel");
    let line = line.lines().next().expect("a line");
    for other in ["profiler-kernel/src/lib.rs", "profiler-device/src/lib.rs"] {
        assert!(page(other).contains(&format!("//! {line}\n")), "{other}");
    }
}

#[test]
fn what_readme_shows_is_compiled() {
    let readme = page("README.md");
    // The kernel that it begins with is that of the tutorial.
    let opening = code_block(&readme);
    assert!(opening.contains("#[profiled]"), "{opening}");
    let tutorial = page("docs/tutorial.md");
    assert!(shown(&tutorial, "file").iter().any(|(_, text)| text.ends_with(opening)), "{opening}");
    // And what it shows of sessions on a module is from the documentation of the crate, which is a test.
    let section = readme.split_once("### Kernels that you launch yourself").expect("the section").1;
    let library = page("profiler-host/src/lib.rs").replace("//! ", "");
    for line in code_block(section).lines() {
        assert!(library.contains(line.trim()), "not in profiler-host/src/lib.rs: {line}");
    }
}
