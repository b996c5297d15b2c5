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
/// be [valid](Self::is_valid), as [a page](../x.md) and [another](https://x.y/z) say, and [i](j).
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
        (
            "`unsafe fn one`",
            "`x` must be valid, as [a page](../x.md) and [another](https://x.y/z) say, and i.",
        ),
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
    // Put together, so that this file does not hold them. In PTX no quotes stand before them.
    let signs = [concat!("sync::", "atomic"), concat!("\"at", "om."), concat!("\"fen", "ce.")];
    let in_ptx = ["\tatom.", "\tfence.", "\tred."];
    let listed = Run::new("git").args(["ls-files", "*.rs", "profiler-*/src/*.ptx"]).output();
    let listed = listed.expect("git lists files");
    let mut with_atomics = 0;
    for name in listed.lines().filter(|name| !is_test(name)) {
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        let mut code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let signs = if name.ends_with(".ptx") { in_ptx } else { signs };
        if code.any(|line| signs.iter().any(|sign| line.contains(sign))) {
            assert!(page.contains(name), "docs/atomics.md does not name {name}");
            let missing = not_named(&page, name, &text);
            assert!(missing.is_empty(), "docs/atomics.md does not say of {name}: {missing:?}");
            with_atomics += 1;
        }
    }
    assert!(with_atomics > 5, "{with_atomics} files have atomics");
    assert!(listed.lines().any(|name| name.ends_with(".ptx")), "kernels in PTX are among them");
}

/// Orderings of a file, and instructions in its PTX that order or are atomic, that no line of the page which
/// names the file has.
fn not_named(page: &str, name: &str, text: &str) -> Vec<String> {
    const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];
    let lines: Vec<&str> = page.lines().filter(|line| line.contains(name)).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':');
    let has = |word: &str| lines.iter().any(|line| line.contains(&format!("`{word}`")));
    let mut missing = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        let orderings = line.split("Ordering::").skip(1).map(|behind| {
            behind.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default()
        });
        let orderings = orderings.filter(|word| ORDERINGS.contains(word));
        // An instruction stands at the begin of a string, or behind a space in it; in PTX behind a tab.
        let instructions = line
            .split(['"', ' ', '\t'])
            .map(|part| part.split(|c| !is_word(c)).next().unwrap_or_default());
        let instructions = instructions.filter(|word| {
            let parts: Vec<&str> = word.split('.').collect();
            parts.len() > 2
                && (["atom", "fence"].contains(&parts[0])
                    || ["ld", "st"].contains(&parts[0])
                        && ["relaxed", "acquire", "release"].contains(&parts[1]))
        });
        for word in orderings.chain(instructions).filter(|word| !has(word)) {
            if !missing.contains(&word.to_owned()) {
                missing.push(word.to_owned());
            }
        }
    }
    missing
}

#[test]
fn an_ordering_that_the_page_does_not_name_is_seen() {
    let page = "`a.rs` by `Release`\n`b.rs`: `Relaxed`, `SeqCst`; `fence.sc.cta`\n";
    let text = "// Ordering::SeqCst\nx.store(1, Ordering::Release);\ny.load(Ordering::Acquire);\n\
                a.cmp(b) == Ordering::Less; z.swap(2, Ordering::Relaxed);\n";
    assert_eq!(not_named(page, "a.rs", text), ["Acquire", "Relaxed"]);
    let text =
        "\"fence.sc.cta;\"\n\"@%p st.relaxed.sys.b64 [{a}], {b};\", \"st.global.u64 [{a}], 1;\"\n";
    assert_eq!(not_named(page, "b.rs", text), ["st.relaxed.sys.b64"]);
}
