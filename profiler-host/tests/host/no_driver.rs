//! What a program does where there is no GPU, no driver, or no compiler for one.

use profiler_host::{Backend, BackendChoice, Error};

#[test]
fn choices_parse() {
    for (text, choice) in [
        ("auto", BackendChoice::Auto),
        ("gpu", BackendChoice::Gpu),
        ("emulator", BackendChoice::Emulator),
    ] {
        assert_eq!(text.parse::<BackendChoice>().expect("a choice"), choice);
    }
    let error = "cuda".parse::<BackendChoice>().expect_err("no such back end");
    assert!(error.to_string().contains("`auto`, `gpu`, `emulator`"), "{error}");
}

#[test]
fn without_ptx_auto_takes_the_emulator_and_says_why() {
    let backend = Backend::choose(BackendChoice::Auto, None).expect("the emulator is there");
    assert!(!backend.is_gpu());
    let reason = backend.reason().expect("it was not asked for the emulator");
    assert!(reason.contains("rust-src"), "{reason}");
    assert!(backend.to_string().contains("not GPU times"));
    // A GPU that is asked for and missing is an error with help.
    let error = Backend::choose(BackendChoice::Gpu, None).expect_err("there is no PTX");
    let text = error.to_string();
    let help = match &error {
        #[cfg(feature = "cuda")]
        Error::Driver(_) => "; without a GPU, choose the emulator",
        #[cfg(not(feature = "cuda"))]
        Error::NoCudaFeature => "`cuda`",
        Error::NoPtx => return assert!(text.contains("rust-src"), "{text}"),
        other => panic!("another error: {other}"),
    };
    assert!(text.contains(help), "{text}");
    let absence = text.trim_end_matches("; without a GPU, choose the emulator");
    let both = format!("{absence}. Besides, {}", Error::NoPtx);
    assert_eq!(reason, both, "what is missing besides the PTX");
}

#[test]
fn the_emulator_that_was_asked_for_needs_no_reason() {
    let backend = Backend::choose(BackendChoice::Emulator, Some("")).expect("always there");
    assert_eq!(backend.reason(), None);
}

#[test]
#[cfg(feature = "cuda")]
fn linear_slots_are_refused_where_the_program_launches() {
    use profiler_host::{Profiler, RawModule, Slots};

    // SAFETY: it is not used, as the option is refused first.
    let module = unsafe { RawModule::new(std::ptr::null_mut()) };
    let profiler = Profiler::builder().slots(Slots::Linear).build().expect("options");
    let error = profiler.attach(&module, "").expect_err("launches do not pass through the session");
    assert!(matches!(error, Error::Options(_)), "{error}");
    assert!(error.to_string().contains("Slots::Linear"), "{error}");
}

/// This very test program must not ask for the driver's library, or it would not start where there is
/// none. (That it runs here proves it only on a machine without a driver.)
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu", feature = "cuda"))]
fn the_program_is_not_linked_to_the_driver() {
    // glibc's loader then says what the program asks for, and does not begin it.
    let output = std::process::Command::new(std::env::current_exe().expect("this program"))
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .arg("--list")
        .output()
        .expect("it can be begun");
    let asked = String::from_utf8_lossy(&output.stdout);
    assert!(asked.contains("libc.so.6"), "the loader says what it loads: {asked}");
    assert!(!asked.contains("libcuda"), "the program depends on the driver's library: {asked}");
}
