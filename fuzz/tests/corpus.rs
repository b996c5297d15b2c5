//! Whatever the targets found interesting so far still holds.

use std::path::Path;

use arbitrary::{Arbitrary, Unstructured};
use profiler_fuzz::{
    capture_content, capture_file, descriptor, ptx_process, raw_buffer, seeds, site_table,
};

/// A target's name, and what it checks.
type Target = (&'static str, fn(&[u8]));

fn content(bytes: &[u8]) {
    if let Ok(input) = capture_content::Input::arbitrary_take_rest(Unstructured::new(bytes)) {
        capture_content::check(&input);
    }
}

/// One test, as only one thread may measure memory.
#[test]
fn every_input_of_the_corpora_and_every_seed() {
    let targets: [Target; 6] = [
        ("capture_file", capture_file::check),
        ("capture_content", content),
        ("raw_buffer", raw_buffer::check),
        ("site_table", site_table::check),
        ("ptx_process", ptx_process::check),
        ("descriptor", descriptor::check),
    ];
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (target, check) in targets {
        let mut count = 0;
        for file in std::fs::read_dir(corpora.join(target)).expect("each target has a corpus") {
            let path = file.expect("a file").path();
            let bytes = std::fs::read(&path).expect("a file can be read");
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "{}", path.display());
            count += 1;
        }
        assert!(count > 1, "{target} has a corpus");
        for (_, name, bytes) in seeds::all().into_iter().filter(|seed| seed.0 == target) {
            let outcome = std::panic::catch_unwind(|| check(&bytes));
            assert!(outcome.is_ok(), "seed {name} of {target}");
        }
    }
}
