//! The search, in folders made for the test; compilers are shell scripts.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Search, Toolchain};
use crate::error::Error;

/// The contents of a toolchain folder.
#[derive(Clone, Copy)]
enum Has {
    Source,
    Target,
    Nothing,
}

fn install(prefix: &Path, version: &str, has: Has) {
    std::fs::create_dir_all(prefix.join("bin")).expect("created");
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --print ]; then echo {}; else echo release: {version}; fi\n",
        prefix.display()
    );
    for tool in ["cargo", "rustc"] {
        let path = prefix.join("bin").join(tool);
        std::fs::write(&path, &script).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("executable");
    }
    let folder = match has {
        Has::Source => "lib/rustlib/src/rust/library/core",
        Has::Target => "lib/rustlib/nvptx64-nvidia-cuda/lib",
        Has::Nothing => "lib",
    };
    std::fs::create_dir_all(prefix.join(folder)).expect("created");
}

fn find(root: &Path) -> Result<Toolchain, Error> {
    search(root).find()
}

fn search(root: &Path) -> Search {
    Search {
        named: None,
        rustup: Some(root.join("toolchains")),
        system: root.join("usr"),
        packages: root.join("status"),
    }
}

#[test]
fn nightly_with_source_goes_before_stable_before_target_before_system() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let toolchains = root.join("toolchains");
    install(&root.join("usr"), "1.96.0", Has::Source);
    assert_eq!(find(root).expect("found").cargo, root.join("usr/bin/cargo"));
    install(&toolchains.join("1.97.0"), "1.97.0", Has::Target);
    let found = find(root).expect("found");
    assert_eq!(found.rustc, toolchains.join("1.97.0/bin/rustc"));
    assert!(!found.build_core);
    install(&toolchains.join("stable-x86_64"), "1.98.0", Has::Source);
    let found = find(root).expect("found");
    assert_eq!(found.rustc, toolchains.join("stable-x86_64/bin/rustc"));
    assert!(found.build_core);
    install(&toolchains.join("nightly-x86_64"), "1.99.0-nightly", Has::Source);
    assert_eq!(find(root).expect("found").version.trim(), "release: 1.99.0-nightly");
}

#[test]
fn what_does_not_serve_is_passed_over_and_named_with_its_reason() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    install(&root.join("toolchains/old"), "1.63.0", Has::Source);
    install(&root.join("toolchains/bare"), "1.97.0", Has::Nothing);
    let error = find(root).expect_err("nothing here serves");
    assert_eq!(
        error.install_command(),
        Some("rustup toolchain install nightly --component rust-src")
    );
    let rejected = error.to_string();
    assert!(rejected.contains("old: is Rust 1.63.0, and the profiler needs 1."), "{rejected}");
    assert!(rejected.contains("bare: has neither rust-src nor the target"), "{rejected}");
    assert!(rejected.contains("usr: has no cargo"), "{rejected}");
}

#[test]
fn the_named_cargo_goes_first_and_never_falls_through() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    install(&root.join("usr"), "1.96.0", Has::Source);
    install(&root.join("own"), "1.96.1", Has::Source);
    let mut search = search(root);
    search.named = Some(root.join("own/bin/cargo"));
    assert_eq!(search.find().expect("found").rustc, root.join("own/bin/rustc"));
    search.named = Some(root.join("none/bin/cargo"));
    let error = search.find().expect_err("no such file");
    assert!(!error.is_no_compiler(), "{error}");
    let reason = "which cannot be used: there is no such file; point it at a cargo";
    assert!(error.to_string().contains(reason), "{error}");
    install(&root.join("bare"), "1.96.0", Has::Nothing);
    search.named = Some(root.join("bare/bin/cargo"));
    let error = search.find().expect_err("nothing to compile core from").to_string();
    assert!(error.contains("has neither rust-src"), "{error}");
}

#[test]
fn what_is_watched_exists_and_changes_when_a_toolchain_is_installed() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    std::fs::create_dir(root.join("update-hashes")).expect("created");
    install(&root.join("toolchains/bare"), "1.97.0", Has::Nothing);
    let watched = search(root).watched();
    assert!(watched.contains(&root.join("update-hashes")), "{watched:?}");
    assert!(watched.contains(&root.join("toolchains/bare/bin/rustc")), "{watched:?}");
    assert!(watched.iter().all(|path| path.exists()), "{watched:?}");
}

#[test]
fn a_rustup_that_is_yet_to_install_something_is_watched() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    let hashes = root.join("update-hashes");
    let command = || search(root).find().expect_err("nothing is installed").to_string();
    assert!(command().contains("rustup toolchain install"), "{}", command());
    assert_eq!(search(root).watched(), [hashes.as_path()]);
    // Debian's packages are the remedy there, and their state says when they are installed.
    std::fs::write(root.join("status"), "").expect("written");
    assert!(command().contains("apt-get install"), "{}", command());
    assert_eq!(search(root).watched(), [root.join("status")]);
    std::fs::create_dir(root.join("toolchains")).expect("created");
    assert!(command().contains("rustup toolchain install"), "{}", command());
    assert_eq!(search(root).watched(), [root.join("status"), hashes]);
}
