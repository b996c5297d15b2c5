//! What `docs/examples/rust_cuda.md` shows is what is compiled: the build script in this package's
//! own, and the kernels and the host program here.

use std::path::Path;

/// A device crate's `lib.rs`, which Rust-CUDA's compiler would be given.
#[path = "../../rust_cuda/kernels.rs"]
#[expect(unreachable_pub, reason = "it has what a crate has")]
mod kernels;

/// Never run: it needs a module that Rust-CUDA's compiler made.
#[path = "../../rust_cuda/main.rs"]
#[expect(dead_code, clippy::print_stdout, reason = "a program that is type-checked")]
mod program;

/// Programs that `profiler new` writes, likewise.
#[path = "../../../profiler-cli/templates/main_cudarc.rs"]
#[expect(dead_code, clippy::print_stdout, reason = "a program that is type-checked")]
mod of_cudarc;
#[path = "../../../profiler-cli/templates/main_cust.rs"]
#[expect(dead_code, clippy::print_stdout, reason = "a program that is type-checked")]
mod of_cust;

/// The sources that are compiled, each of which the page shows a part or the whole of.
const SOURCES: [&str; 3] = ["kernels.rs", "build.rs", "main.rs"];

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rust_cuda").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The page's code blocks in Rust.
fn snippets(page: &str) -> Vec<&str> {
    let fenced = page.split("```").skip(1).step_by(2);
    let blocks = fenced.map(|block| block.split_once('\n').expect("a language and lines"));
    let rust = blocks.filter(|(language, _)| language.starts_with("rust"));
    rust.map(|(_, text)| text).collect()
}

#[test]
fn every_snippet_is_compiled() {
    let page = read("../../docs/examples/rust_cuda.md");
    let sources = SOURCES.map(read);
    let snippets = snippets(&page);
    for text in &snippets {
        let shown = sources.iter().filter(|source| source.contains(text)).count();
        assert_eq!(shown, 1, "no source, or more than one, has the lines\n{text}");
    }
    for (path, source) in SOURCES.iter().zip(&sources) {
        let is_shown = snippets.iter().any(|text| source.contains(text));
        assert!(is_shown, "{path} is not on the page any more");
    }
}
