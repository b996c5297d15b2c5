//! The macros as a user meets them: what must compile without a warning, and what each mistake
//! says. `TRYBUILD=overwrite` rewrites the messages; read them as a user would before keeping them.

#[test]
fn pass() {
    trybuild::TestCases::new().pass("tests/ui/pass/*.rs");
}

/// Messages name types of the runtime, which are other ones where profiling is off.
#[cfg(feature = "enabled")]
#[test]
fn fail() {
    trybuild::TestCases::new().compile_fail("tests/ui/fail/*.rs");
}
