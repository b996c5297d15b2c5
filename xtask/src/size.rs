//! How large the repository is: figures that must not grow.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use xtask::{Error, cargo, root};

use crate::tidy::tracked;

/// Folders of the product's crates.
const PRODUCT: [&str; 14] = [
    "profiler-wire/",
    "profiler-macros/",
    "profiler-device/",
    "profiler-emulator/",
    "profiler-kernel/",
    "profiler-build/",
    "profiler-host/",
    "profiler-trace/",
    "profiler-parquet/",
    "profiler-preload/",
    "profiler-ptx/",
    "profiler-report/",
    "profiler-cli/",
    "cuda-driver/",
];

/// Folders that no command of the product builds.
const APART: &str = "lab/";

/// Prints the figures.
pub(crate) fn print() -> Result<(), Error> {
    let files = tracked(root())?;
    let files: Vec<&str> =
        files.iter().map(String::as_str).filter(|name| root().join(name).is_file()).collect();
    let (mut code, mut tests) = (0, 0);
    for name in files.iter().filter(|name| name.ends_with(".rs") && !name.starts_with(APART)) {
        let text = std::fs::read_to_string(root().join(name))?;
        let (of_code, of_tests) = lines(name, &text);
        if PRODUCT.iter().any(|folder| name.starts_with(folder)) {
            code += of_code;
        }
        tests += of_tests;
    }
    let metadata = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let programs = packages.iter().map(test_programs).sum::<usize>();
    let is_page = |name: &&&str| {
        let of_docs = name.starts_with("docs/") && name.ends_with(".md");
        of_docs || **name == "README.md" || **name == "ARCHITECTURE.md"
    };
    let mut words = 0;
    for page in files.iter().filter(is_page) {
        words += count_words(&root().join(page))?;
    }
    let of_docs = files.iter().filter(|name| name.starts_with("docs/"));
    let bytes =
        of_docs.map(|name| std::fs::metadata(root().join(name)).map_or(0, |file| file.len()));
    let types = ["profiler-host", "profiler-trace"].map(|package| public_types(&files, package));
    println!("code of the product's crates, without comments and tests: {code} lines");
    println!("tests in the product's workspace: {tests} lines");
    println!("packages: {} · test programs: {programs}", packages.len());
    println!(
        "tracked files: {} · docs/: {:.1} MB · words of docs/, README and ARCHITECTURE: {words}",
        files.len(),
        bytes.sum::<u64>() as f64 / 1e6
    );
    println!(
        "ARCHITECTURE.md: {} words · README.md: {} words",
        count_words(&root().join("ARCHITECTURE.md"))?,
        count_words(&root().join("README.md"))?
    );
    let [host, trace] = types;
    println!("public types of profiler-host and profiler-trace: {}", host? + trace?);
    Ok(())
}

/// Lines of code and lines of tests of a Rust source; blank lines and comments are neither.
fn lines(name: &str, text: &str) -> (usize, usize) {
    let is_code = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    };
    // A module of tests stands at the end of its file.
    let (code, tests) = match text.split_once("\n#[cfg(test)]\nmod tests {") {
        Some((code, tests)) => (code, tests),
        None => (text, ""),
    };
    let (code, of_tests) = [code, tests].map(|part| part.lines().filter(is_code).count()).into();
    let is_test = crate::tidy::is_test(name) || name.starts_with("tests/");
    if is_test { (0, code + of_tests) } else { (code, of_tests) }
}

/// Programs that `cargo test` builds of a package's `tests` folder.
fn test_programs(package: &Value) -> usize {
    let targets = package["targets"].as_array().into_iter().flatten();
    targets.filter(|target| target["kind"][0] == "test").count()
}

/// Types of a crate that are declared `pub`, which a lint allows for what can be reached alone.
fn public_types(files: &[&str], package: &str) -> Result<usize, Error> {
    let mut defined = BTreeSet::new();
    let sources = format!("{package}/src/");
    for name in files.iter().filter(|name| name.starts_with(&sources) && name.ends_with(".rs")) {
        let text = std::fs::read_to_string(root().join(name))?;
        for line in text.lines().map(str::trim_start) {
            let after = ["pub struct ", "pub enum ", "pub trait ", "pub type ", "pub union "]
                .iter()
                .find_map(|kind| line.strip_prefix(kind));
            if let Some(after) = after {
                let end = after.find(|c: char| !c.is_alphanumeric() && c != '_');
                defined.insert(after[..end.unwrap_or(after.len())].to_owned());
            }
        }
    }
    Ok(defined.len())
}

fn count_words(path: &Path) -> Result<usize, Error> {
    Ok(std::fs::read_to_string(path)?.split_whitespace().count())
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn comments_and_blank_lines_are_not_counted() {
        let text = "//! A.\n\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(lines("profiler-host/src/a.rs", text), (1, 2));
        assert_eq!(lines("profiler-host/tests/a.rs", text), (0, 3));
    }
}
