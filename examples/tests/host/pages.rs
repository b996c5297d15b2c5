//! The Rust in the examples' pages is that of the examples: every line of a block stands in the
//! sources of the example that the page is about.

use std::fs;
use std::path::{Path, PathBuf};

/// Checked beside the program that it shows.
const ELSEWHERE: &str = "rust_cuda";

#[test]
fn blocks_of_rust_are_the_examples_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut blocks = 0;
    for page in files(&root.join("../docs/examples"), "md") {
        let name = page.file_stem().and_then(|stem| stem.to_str()).expect("a page has a name");
        if name == ELSEWHERE {
            continue;
        }
        let text = fs::read_to_string(&page).expect("the page is readable");
        let kernels = root.join("kernels/src");
        let own = [files(&root.join(name), "rs"), files(&kernels.join(name), "rs")].concat();
        let sources: String = own
            .into_iter()
            .chain(Some(kernels.join(name).with_extension("rs")).filter(|file| file.is_file()))
            .map(|source| fs::read_to_string(source).expect("the source is readable"))
            .collect();
        for block in text.split("```rust\n").skip(1) {
            blocks += 1;
            for line in block.lines().take_while(|line| *line != "```").map(code) {
                assert!(sources.contains(line), "{name}: no such line in the example: {line}");
            }
        }
        assert!(!text.contains("```rust,"), "{name}: a block that is not held against the sources");
    }
    assert!(blocks > 0, "a page shows Rust");
}

/// A line without its indentation and what is said about it.
fn code(line: &str) -> &str {
    line.split(" // ").next().unwrap_or(line).trim()
}

/// All files with an extension in a folder and the folders in it.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("the folder is readable").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}
