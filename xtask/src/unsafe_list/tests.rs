use super::{find, offence};
use crate::command::Run;
use crate::tidy::is_test;

fn found(text: &str) -> Vec<(String, String)> {
    let found = find(text).expect("Rust");
    found.into_iter().map(|found| (found.what, found.reason)).collect()
}

#[test]
fn the_list_is_true() {
    let offence = offence(crate::root()).expect("every `unsafe` has a reason");
    assert_eq!(offence, None);
}

#[test]
fn every_kind_is_found_also_within_macros() {
    let text = r#"
//! Nothing.

/// A function.
///
/// # Safety
///
/// `x` must
/// be valid.
#[inline]
unsafe fn one(x: *const u8, f: unsafe extern "C" fn(u8)) {
    // SAFETY: the
    // caller's.
    let a =
        unsafe { *x };
    other!("unsafe { }", {
        // SAFETY: as above.
        unsafe { f(a) }
    });
}

// SAFETY: it is.
unsafe impl Send for Carried {}

#[unsafe(no_mangle)]
fn plain() {}

macro_rules! made {
    () => {
        // SAFETY: by the macro.
        unsafe { 1 }
    };
}

// SAFETY: as declared there.
unsafe extern "C" {
    fn c();
}
"#;
    let expected = [
        ("`unsafe fn one`", "`x` must be valid."),
        ("`one`, a block", "the caller's."),
        ("`one`, a block", "as above."),
        ("`unsafe impl Send for Carried`", "it is."),
        ("`#[unsafe(no_mangle)]`", "no other item bears this name"),
        ("`made!`, a block", "by the macro."),
        ("`unsafe extern`, a block", "as declared there."),
    ];
    let expected = expected.map(|(what, reason)| (what.to_owned(), reason.to_owned()));
    assert_eq!(found(text), expected);
}

#[test]
fn what_has_no_reason_is_seen() {
    let without = "fn f() {\n    unsafe { g() };\n}\n";
    assert_eq!(found(without), [("`f`, a block".to_owned(), String::new())]);
    // A comment about something else, above.
    let above = "// SAFETY: of another.\nunsafe impl A for B {}\n\nunsafe fn g() {}\n";
    assert_eq!(found(above)[1], ("`unsafe fn g`".to_owned(), String::new()));
    // One for the whole file.
    let file = "//! # Safety\n//!\n//! As the caller's.\n\nunsafe fn g() {}\n";
    assert_eq!(found(file)[0].1, "As the caller's.");
}

#[test]
fn every_file_with_atomics_is_on_their_page() {
    let root = crate::root();
    let page = std::fs::read_to_string(root.join("docs/atomics.md")).expect("the page is there");
    // Put together, so that this file does not hold them.
    let signs = [concat!("sync::", "atomic"), concat!("\"at", "om."), concat!("\"fen", "ce.")];
    let listed = Run::new("git").args(["ls-files", "*.rs"]).output().expect("git lists files");
    let mut with_atomics = 0;
    for name in listed.lines().filter(|name| !is_test(name)) {
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.any(|line| signs.iter().any(|sign| line.contains(sign))) {
            assert!(page.contains(name), "docs/atomics.md does not name {name}");
            with_atomics += 1;
        }
    }
    assert!(with_atomics > 5, "{with_atomics} files have atomics");
}
