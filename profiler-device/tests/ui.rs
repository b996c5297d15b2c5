//! The macros as a user meets them: what must compile without a warning, and what each mistake
//! says. `TRYBUILD=overwrite` rewrites the messages; read them as a user would before keeping them.

#[test]
fn pass() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

/// Kernels with `buffer = host`, which need a feature.
#[cfg(any(feature = "host-buffer", not(feature = "enabled")))]
#[test]
fn host_buffer() {
    trybuild::TestCases::new().pass("tests/ui/host_buffer/*.rs");
}

/// Messages name types of the runtime, which are other ones where profiling is off.
#[cfg(feature = "enabled")]
#[test]
fn fail() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/fail/*.rs");
    if !cfg!(feature = "host-buffer") {
        cases.compile_fail("tests/ui/without_host_buffer/*.rs");
    }
}
