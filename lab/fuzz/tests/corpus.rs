//! Whatever the targets found interesting so far still holds.

use std::io::Read as _;
use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};
use profiler_fuzz::{
    capture_content, capture_file, descriptor, ptx_process, ptx_rewrite, raw_buffer, seeds,
    site_table,
};

/// A target's name, and what it checks.
type Target = (&'static str, fn(&[u8]));

fn content(bytes: &[u8]) {
    if let Ok(input) = capture_content::Input::arbitrary_take_rest(Unstructured::new(bytes)) {
        capture_content::check(&input);
    }
}

/// Names and bytes of the inputs in an archive.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("corpus/{target}.tar.gz"));
    let file = std::fs::File::open(archive).expect("each target has a corpus");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    let entries = archive.entries().expect("an archive").map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.header().entry_type().is_file());
    files
        .map(|mut file| {
            let name = file.path().expect("a path").display().to_string();
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("a file can be read");
            (name, bytes)
        })
        .collect()
}

/// One test, as only one thread may measure memory.
#[test]
fn every_input_of_the_corpora_and_every_seed() {
    let targets: [Target; 7] = [
        ("capture_file", capture_file::check),
        ("capture_content", content),
        ("raw_buffer", raw_buffer::check),
        ("site_table", site_table::check),
        ("ptx_process", ptx_process::check),
        ("ptx_rewrite", ptx_rewrite::check),
        ("descriptor", descriptor::check),
    ];
    for (target, check) in targets {
        let mut inputs = corpus(target);
        assert!(inputs.len() > 1, "{target} has a corpus");
        let seeds = seeds::all().into_iter().filter(|seed| seed.0 == target);
        inputs.extend(seeds.map(|(_, name, bytes)| (format!("seed {name}"), bytes)));
        for (name, bytes) in inputs {
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "{name} of {target}");
        }
    }
}
