//! Keeps the list of `docs/cases.md` true: every test that it names exists, and where it says a
//! test runs, that test can run.

use std::path::Path;

/// The page.
const PAGE: &str = "docs/cases.md";
/// Where tests run.
const PLACES: [&str; 8] =
    ["emulator", "synthetic buffer", "PTX", "SASS", "GPU", "compiler", "host", "fuzzer"];
/// The cases of abuse, each of which runs on a GPU too.
const ABUSE: &str = "tests/tests/abuse/cases.rs";
/// How a case is written.
const FORM: &str = "- **CASE**: RESULT. *WHERE*: TESTS";

/// Every broken rule, as `docs/cases.md:line: rule`.
pub(crate) fn offences(root: &Path) -> Vec<String> {
    match std::fs::read_to_string(root.join(PAGE)) {
        Ok(page) => check(&page, |file| std::fs::read_to_string(root.join(file)).ok()),
        Err(error) => vec![format!("{PAGE}: cannot be read: {error}")],
    }
}

/// The rules that the page breaks; `read` gives the text of a file of the repository.
fn check(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut offences = Vec::new();
    let mut cases = 0;
    for (index, line) in page.lines().enumerate() {
        let mut offence = |rule: String| offences.push(format!("{PAGE}:{}: {rule}", index + 1));
        if !line.starts_with(['-', '|']) {
            continue;
        }
        cases += 1;
        let Some((result, places, tests)) = parts(line) else {
            offence(format!("a case reads `{FORM}`"));
            continue;
        };
        let places: Vec<&str> = places.split(',').map(str::trim).collect();
        for place in places.iter().filter(|place| !PLACES.contains(place)) {
            offence(format!("`{place}` is no place; there are {}", PLACES.join(", ")));
        }
        if result.is_empty() {
            offence("the case has no result".to_owned());
        }
        let links = links(tests);
        if links.is_empty() {
            offence("the case has no test".to_owned());
        }
        let mut runs_on_gpu = false;
        for (name, target) in links {
            let Some(file) = target.strip_prefix("../") else {
                offence(format!("{target} is not a file of the repository"));
                continue;
            };
            match read(file) {
                None => offence(format!("there is no file {file}")),
                Some(text) if is_test(name, file, &text) => {
                    runs_on_gpu |= is_for_gpu(name, file, &text);
                }
                Some(_) => offence(format!("{file} has no test `{name}`")),
            }
        }
        if places.contains(&"GPU") && !runs_on_gpu {
            offence("no test of the case runs on a GPU".to_owned());
        }
    }
    if cases == 0 {
        offences.push(format!("{PAGE}: has no case"));
    }
    offences
}

/// The result, the places and the tests of a case.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = line.strip_prefix("- **")?.split_once("**: ")?;
    let (result, rest) = rest.rsplit_once(" *")?;
    let (places, tests) = rest.split_once("*: ")?;
    Some((result.trim_end_matches('.'), places, tests))
}

/// Texts and targets of links.
fn links(text: &str) -> Vec<(&str, &str)> {
    let parts = text.split("](").collect::<Vec<_>>();
    parts
        .windows(2)
        .filter_map(|pair| {
            let (_, text) = pair[0].rsplit_once('[')?;
            let (target, _) = pair[1].split_once(')')?;
            Some((text.trim_matches('`'), target))
        })
        .collect()
}

/// Whether a file has a test of this name: a function with an attribute of a test before it or
/// listed by name elsewhere, the name of a trial, or the file itself where each is a test.
fn is_test(name: &str, file: &str, text: &str) -> bool {
    let (folder, stem) = file.rsplit_once('/').unwrap_or(("", file));
    let is_own = ["tests/ui/pass", "tests/ui/fail", "fuzz_targets"];
    if is_own.iter().any(|own| folder.ends_with(own)) {
        return stem.strip_suffix(".rs") == Some(name);
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let uses = text.match_indices(name).filter(|(at, _)| {
        !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part)
    });
    let mut defined = false;
    let mut listed = false;
    for (at, _) in uses {
        let before = &text[..at];
        let quoted = before.ends_with('"') || before.ends_with("::");
        if quoted && text[at + name.len()..].starts_with('"') {
            return true;
        }
        match before.strip_suffix("fn ") {
            Some(before) => {
                defined = true;
                listed |= is_marked(before);
            }
            None => listed = true,
        }
    }
    defined && listed
}

/// The lines before a function: its attributes, and the begin of a macro around it.
fn attributes(before: &str) -> impl Iterator<Item = &str> {
    let lines = before.trim_end().lines().rev();
    lines.take_while(|line| !line.trim().is_empty() && !line.trim_end().ends_with('}'))
}

/// Whether the attributes that end here, or the macro around, make a test of what follows.
fn is_marked(before: &str) -> bool {
    attributes(before).any(|line| line.contains("#[test]") || line.contains("ptx_test! {"))
}

/// Whether a test runs on a GPU: by its attribute, in the list of those that run on both back ends, or in
/// a file whose tests all do.
fn is_for_gpu(name: &str, file: &str, text: &str) -> bool {
    let is_ignored = |before: &str| {
        attributes(before).any(|line| line.contains("#[ignore = \"needs an NVIDIA GPU\"]"))
    };
    let on_both = text.split("on_both_back_ends! {").skip(1);
    let mut listed = on_both.filter_map(|list| list.split('}').next());
    file.starts_with("lab/truth/src/")
        || file == ABUSE
        || listed.any(|list| list.split_whitespace().any(|word| word == name))
        || text.match_indices(&format!("fn {name}(")).any(|(at, _)| is_ignored(&text[..at]))
}

#[cfg(test)]
mod tests {
    use super::{check, is_test, offences};

    #[test]
    fn the_page_is_true() {
        let offences = offences(xtask::root());
        assert!(offences.is_empty(), "\n{}", offences.join("\n"));
    }

    const SOURCE: &str = "#[test]\n#[ignore = \"needs an NVIDIA GPU\"]\nfn whole() {}\n\
        fn helper() {}\non_both_back_ends! {\n    both\n}\nfn both() {}\n\n#[test]\nfn hosted() {}\n\
        Test { name: \"viewers::drawn\" };\n";

    fn offences_of(case: &str) -> Vec<String> {
        let page = format!("# Cases\n\n{case}\n");
        check(&page, |file| (file == "a/tests/b.rs").then(|| SOURCE.to_owned()))
    }

    #[test]
    fn cases_that_hold_pass() {
        let tests = ["whole", "both", "drawn"].map(|name| format!("[`{name}`](../a/tests/b.rs)"));
        let case = format!("- **a case**: holds. *GPU, PTX*: {}", tests.join(", "));
        assert_eq!(offences_of(&case), [""; 0]);
    }

    #[test]
    fn cases_that_do_not_hold_are_found() {
        let found = |case: &str, expected: &str| {
            let offences = offences_of(case);
            assert_eq!(offences.len(), 1, "{offences:?}");
            assert!(offences[0].starts_with("docs/cases.md:3: "), "{offences:?}");
            assert!(offences[0].contains(expected), "{offences:?}");
        };
        found("- **a**: holds. *PTX*: [helper](../a/tests/b.rs)", "no test `helper`");
        found("- **a**: holds. *PTX*: [who](../a/tests/b.rs)", "no test `who`");
        found("- **a**: holds. *PTX*: [whole](../a/tests/c.rs)", "no file a/tests/c.rs");
        found("- **a**: holds. *PTX*: [whole](a/tests/b.rs)", "not a file of the repository");
        found("- **a**: holds. *PTX*: by hand", "no test");
        found("- **a**: holds. *moon*: [whole](../a/tests/b.rs)", "`moon` is no place");
        found("- **a**: . *PTX*: [whole](../a/tests/b.rs)", "no result");
        found("- **a**: holds. [whole](../a/tests/b.rs)", "a case reads");
        found("| a | [whole](../a/tests/b.rs) | PTX | holds |", "a case reads");
        assert_eq!(check("no case", |_| None).len(), 1);
    }

    #[test]
    fn a_place_must_be_possible() {
        let page = "- **a**: holds. *GPU*: [x](../a.rs)";
        let offences = check(page, |_| Some("#[test]\nfn x() {}\n".to_owned()));
        assert_eq!(offences, ["docs/cases.md:1: no test of the case runs on a GPU"]);
        // Others of the file do.
        for name in ["hosted", "drawn"] {
            let case = format!("- **a**: holds. *GPU*: [`{name}`](../a/tests/b.rs)");
            let offences = offences_of(&case);
            assert_eq!(offences, ["docs/cases.md:3: no test of the case runs on a GPU"]);
        }
        for name in ["whole", "both"] {
            let case = format!("- **a**: holds. *GPU*: [`{name}`](../a/tests/b.rs)");
            assert_eq!(offences_of(&case), [""; 0]);
        }
    }

    #[test]
    fn files_can_be_tests() {
        assert!(is_test("hygiene", "a/tests/ui/pass/hygiene.rs", ""));
        assert!(!is_test("other", "a/tests/ui/pass/hygiene.rs", "fn other() {} other"));
        assert!(is_test("raw", "fuzz/fuzz_targets/raw.rs", ""));
        assert!(is_test("kept", "a.rs", "ptx_test! {\n    fn kept() {\n"));
        assert!(!is_test("kep", "a.rs", "ptx_test! {\n    fn kept() {\n"));
        assert!(!is_test("kept", "a.rs", "#[test]\nfn one() {}\nfn kept() {}\n"));
    }
}
