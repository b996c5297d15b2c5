//! What a program does where there is no GPU, no driver, or no compiler for one.

use profiler_host::{Backend, BackendChoice, Error, UnknownBackend};

#[test]
fn choices_parse() {
    assert_eq!("auto".parse(), Ok(BackendChoice::Auto));
    assert_eq!("gpu".parse(), Ok(BackendChoice::Gpu));
    assert_eq!("emulator".parse(), Ok(BackendChoice::Emulator));
    let error: UnknownBackend = "cuda".parse::<BackendChoice>().expect_err("no such back end");
    assert!(error.to_string().contains("`auto`, `gpu`, `emulator`"), "{error}");
}

#[test]
fn without_ptx_auto_takes_the_emulator_and_says_why() {
    let backend = Backend::choose(BackendChoice::Auto, None).expect("the emulator is there");
    assert!(!backend.is_gpu());
    let reason = backend.reason().expect("it was not asked for the emulator");
    assert!(reason.contains("rust-src"), "{reason}");
    match Backend::choose(BackendChoice::Gpu, None).expect_err("there is no PTX") {
        Error::NoPtx => {}
        first => {
            let both = format!("{first}. Besides, {}", Error::NoPtx);
            assert_eq!(reason, both, "what is missing besides the PTX");
        }
    }
    assert!(backend.to_string().contains("not GPU times"));
}

#[test]
fn a_gpu_that_is_asked_for_and_missing_is_an_error_with_a_cure() {
    let error = Backend::choose(BackendChoice::Gpu, None).expect_err("there is no PTX");
    match &error {
        #[cfg(feature = "cuda")]
        Error::Driver(_) => {
            assert!(error.to_string().contains("choose the emulator"), "{error}");
        }
        #[cfg(not(feature = "cuda"))]
        Error::NoCudaFeature => assert!(error.to_string().contains("`cuda`"), "{error}"),
        Error::NoPtx => assert!(error.to_string().contains("rust-src"), "{error}"),
        other => panic!("another error: {other}"),
    }
}

#[test]
fn the_emulator_that_was_asked_for_needs_no_reason() {
    let backend = Backend::choose(BackendChoice::Emulator, Some("")).expect("always there");
    assert_eq!(backend.reason(), None);
}

/// The dynamic section of this very test program must not name the driver, or it would not start
/// where there is none. (That it runs here proves it only on a machine without a driver.)
#[test]
#[cfg(all(target_os = "linux", feature = "cuda"))]
fn the_program_is_not_linked_to_the_driver() {
    // Written backwards, so that the program does not hold the name for this test's sake.
    let backwards = std::hint::black_box(b"\x001.os.aducbil\0");
    let name: Vec<u8> = backwards.iter().rev().copied().collect();
    let program = std::fs::read(std::env::current_exe().expect("this program")).expect("readable");
    // A dynamic dependency is a string of its own, between zero bytes.
    let linked = program.windows(name.len()).any(|window| window == name);
    assert!(!linked, "the program depends on the driver's library");
}
