//! PTX of any compiler, as text or in a fatbin, which `profiler-ptx` rewrites.

use profiler_ptx::{Image, Options, images, instrument};

use crate::check::MEMORY_FLOOR;
use crate::memory::within;

/// Bytes that each byte of a file may take: LZ4 packs 255 to one, and what is put in at every `ret` is long.
const MEMORY_FACTOR: usize = 255 * 64;

/// Looks for PTX in the bytes and rewrites it. In builds with debug assertions the rewriter checks on every path that
/// regions that begin also end.
///
/// # Panics
///
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    let memory = MEMORY_FLOOR + MEMORY_FACTOR * bytes.len();
    within(memory, || {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let found = images(bytes).unwrap_or_default();
        for Image { ptx, .. } in found.into_iter().chain([Image { arch: 0, ptx: text }]) {
            check_text(&ptx);
        }
    });
}

fn check_text(text: &str) {
    let mut none = Options::default();
    none.kernels = vec!["no kernel has this name".to_owned()];
    if let Ok(out) = instrument(text, &none) {
        assert_eq!(out.text, text, "what is not chosen stays byte for byte");
    }
    match instrument(text, &Options::default()) {
        Ok(out) if out.kernels.iter().any(|kernel| kernel.reason.is_none()) => {
            assert!(
                instrument(&out.text, &Options::default()).is_err(),
                "it is not rewritten twice"
            );
        }
        Ok(out) => assert_eq!(out.text, text),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
