//! Errors of every library say the same in `Debug` as in `Display`, as a `main` that returns one prints the
//! former.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

/// Each public error type, by its crate's folder and its name, and a value of it.
fn errors() -> Vec<(&'static str, Box<dyn Error>)> {
    use profiler_trace::diff::{DiffOptions, DiffSide};
    let capture = profiler_trace::Capture::read("none/a.capture").expect_err("there is none");
    let file = profiler_trace::Capture::default().write("none/a.capture");
    let options = DiffSide::new(&DiffOptions { min_effect: -1.0, ..DiffOptions::default() });
    vec![
        ("cuda-driver DriverError", Box::new(profiler_cuda_driver::DriverError::NoDevice)),
        (
            "profiler-build Error",
            Box::new(profiler_build::Error::NoCompiler {
                command: "install",
                rejected: Vec::new(),
            }),
        ),
        ("profiler-build ProcessError", Box::new(profiler_build::ProcessError::AlreadyProcessed)),
        ("profiler-emulator LaunchError", Box::new(profiler_emulator::LaunchError::Stopped)),
        ("profiler-host Error", Box::new(profiler_host::Error::NoPtx)),
        ("profiler-ptx Error", Box::new(profiler_ptx::Error::NotPtx)),
        ("profiler-ptx ImageError", Box::new(profiler_ptx::ImageError::NoPtx)),
        (
            "profiler-ptx SelectionError",
            Box::new("lines".parse::<profiler_ptx::Selection>().expect_err("it has no file")),
        ),
        (
            "profiler-trace CaptureDamage",
            Box::new(profiler_trace::CaptureDamage::Truncated { bytes: 3 }),
        ),
        ("profiler-trace CaptureError", Box::new(capture)),
        ("profiler-trace DiffError", Box::new(options.expect_err("it is below 0"))),
        ("profiler-trace FileError", Box::new(file.expect_err("there is no folder"))),
        (
            "profiler-trace SiteTableError",
            Box::new(profiler_trace::SiteTableError::NotProfiled { stamp: None }),
        ),
        ("profiler-wire SiteError", Box::new(profiler_wire::site::SiteError::NotASite)),
    ]
}

#[test]
fn an_error_that_main_returns_is_a_sentence() {
    for (name, error) in errors() {
        let text = error.to_string();
        assert!(text.split_whitespace().count() > 2, "{name}: {text}");
        for debug in [format!("{error:?}"), format!("{error:#?}")] {
            assert_eq!(debug, text, "{name}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_written_or_read_is_named() {
    for (name, error) in errors() {
        if ["FileError", "CaptureError"].iter().any(|of_file| name.ends_with(of_file)) {
            assert!(error.to_string().contains("none/a.capture"), "{name}: {error}");
        }
    }
}

#[test]
fn every_error_type_of_the_libraries_is_among_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository's root");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(root).expect("the folder is readable") {
        let package = entry.expect("the folder is readable").path();
        let name = package.file_name().and_then(|name| name.to_str()).expect("a name in text");
        // The command line's own errors never reach a `main`.
        if name == "cuda-driver" || name.starts_with("profiler-") && name != "profiler-cli" {
            let types = types(&package.join("src"));
            found.extend(types.into_iter().map(|of_type| format!("{name} {of_type}")));
        }
    }
    let listed: BTreeSet<String> = errors().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

/// Names of the error types in a folder.
fn types(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(types(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = std::fs::read_to_string(&path).expect("it is text");
            for (at, _) in text.match_indices("error::Error for ") {
                found.extend(word(&text[at..], "for "));
            }
            for (at, _) in text.match_indices("thiserror::Error)]") {
                let named = ["pub enum ", "pub struct "].map(|kind| (text[at..].find(kind), kind));
                let nearest = named.into_iter().filter(|(at, _)| at.is_some()).min();
                found.extend(nearest.and_then(|(_, kind)| word(&text[at..], kind)));
            }
        }
    }
    found
}

/// The word that follows.
fn word(text: &str, after: &str) -> Option<String> {
    let (_, rest) = text.split_once(after)?;
    Some(rest.chars().take_while(|c| c.is_alphanumeric()).collect())
}
