//! What a launch that cannot be says. `TRYBUILD=overwrite` rewrites the messages; read them as a user would
//! before keeping them.

#[test]
fn fail() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
