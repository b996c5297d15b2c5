//! The repository's own rules.

use std::path::Path;

use xtask::Error;
use xtask::command::Run;

/// A file with more lines is hard to review.
const LINES_MAX: usize = 600;

/// Files outside of profiler-wire that may spell its names, each with its reason.
const SPELLS_WIRE_NAMES: &[(&str, &str)] =
    &[("profiler-device/src/site.rs", "a static's name cannot come from a constant")];

/// Words that stand for work not done. Put together so that this file does not hold them.
const UNFINISHED: [&str; 3] = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// Names of the wire format: a second spelling would drift from the first.
const WIRE_NAMES: [&str; 4] = [
    concat!("__profiler_", "descriptor"),
    concat!("__PROFILER_", "SITE"),
    concat!("profiler", "-site"),
    concat!("// profiler", "-build:"),
];

/// Paths of the repository's own files: what programs and people leave beside them obeys no rule.
pub(crate) fn tracked(root: &Path) -> Result<Vec<String>, Error> {
    let listed = Run::new("git").args(["ls-files", "-z"]).folder(root).output()?;
    Ok(listed.split_terminator('\0').map(str::to_owned).collect())
}

/// Every broken rule, as `file:line: rule`.
pub(crate) fn offences(root: &Path) -> Result<Vec<String>, Error> {
    let listed = tracked(root)?;
    let mut offences = Vec::new();
    for name in &listed {
        // A file may be listed and deleted, or hold no text.
        let Ok(text) = std::fs::read_to_string(root.join(name)) else { continue };
        offences.extend(check(name, &text));
    }
    Ok(offences)
}

/// The rules that one file breaks.
fn check(name: &str, text: &str) -> Vec<String> {
    let mut offences = Vec::new();
    let file = name.rsplit('/').next().unwrap_or(name);
    if file == "Cargo.lock" {
        return offences;
    }
    let lines = text.lines().count();
    // What a program wrote is as long as what it measured.
    let written = [".jsonl", ".svg"].iter().any(|end| name.ends_with(end));
    if lines > LINES_MAX && !written {
        offences.push(format!("{name}: has {lines} lines, more than {LINES_MAX}; split it"));
    }
    if file == "Cargo.toml" && text.contains("[package]") && !has_license(text) {
        offences.push(format!("{name}: has no `license`"));
    }
    let spells_names = !name.ends_with(".rs")
        || name.starts_with("profiler-wire/")
        || is_test(name)
        || listed(SPELLS_WIRE_NAMES, name);
    for (index, line) in text.lines().enumerate() {
        let mut offence = |rule: String| offences.push(format!("{name}:{}: {rule}", index + 1));
        for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
            offence(format!("{word}: do it now or write an issue"));
        }
        for path in MACHINE_PATHS.iter().filter(|path| line.contains(*path)) {
            offence(format!("`{path}` exists on one machine only"));
        }
        let is_comment = line.trim_start().starts_with("//");
        for wire in WIRE_NAMES.iter().filter(|wire| line.contains(*wire)) {
            if !spells_names && !is_comment {
                offence(format!("`{wire}` is spelled here; use profiler_wire::symbol"));
            }
        }
    }
    offences
}

fn listed(list: &[(&str, &str)], name: &str) -> bool {
    list.iter().any(|(listed, _)| *listed == name)
}

/// Tests spell names on purpose: what they expect must not move with the code.
pub(crate) fn is_test(name: &str) -> bool {
    name.split('/').any(|part| part == "tests" || part == "tests.rs" || part.ends_with("_tests.rs"))
}

fn has_license(manifest: &str) -> bool {
    manifest.lines().any(|line| {
        let line = line.trim_start();
        line.starts_with("license") && line.contains('=')
    })
}

/// Whether the word stands in the line by itself.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::{LINES_MAX, MACHINE_PATHS, UNFINISHED, WIRE_NAMES, check, offences};
    use xtask::command::Run;

    #[test]
    fn the_repository_keeps_its_rules() {
        let offences = offences(xtask::root()).expect("git lists the files");
        assert!(offences.is_empty(), "\n{}", offences.join("\n"));
    }

    #[test]
    fn what_programs_leave_beside_the_files_obeys_no_rule() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = |arguments: &[&str]| {
            Run::new("git").args(arguments).folder(folder.path()).output().expect("git runs")
        };
        git(&["init", "--quiet"]);
        let long = "{}\n".repeat(LINES_MAX + 1);
        std::fs::write(folder.path().join("quickstart.json"), &long).expect("written");
        let of_result =
            |offences: &[String]| offences.iter().any(|one| one.starts_with("quickstart.json:"));
        assert!(!of_result(&offences(folder.path()).expect("git lists the files")));
        git(&["add", "quickstart.json"]);
        assert!(of_result(&offences(folder.path()).expect("git lists the files")));
    }

    #[test]
    fn continuous_integration_runs_the_commands_of_the_readme_in_their_order() {
        let read = |name| std::fs::read_to_string(xtask::root().join(name)).expect("is there");
        let (readme, script) = (read("README.md"), read(".ci/run"));
        let (_, section) = readme.split_once("## Two commands\n\n```sh\n").expect("the section");
        let (block, _) = section.split_once("```").expect("the block ends");
        let commands = block.lines().filter_map(|line| line.split(" #").next()).map(str::trim);
        let of_script: Vec<&str> = script.lines().filter(|l| l.starts_with("cargo ")).collect();
        let of_readme: Vec<&str> = commands.collect();
        assert_eq!(of_readme.len(), 2);
        assert!(of_script.starts_with(&of_readme), "{of_script:?} and {of_readme:?}");
        assert!(script.contains("\nset -euo pipefail\n"));
    }

    #[test]
    fn planted_words_and_paths_are_found() {
        for word in UNFINISHED {
            assert_eq!(check("a/src/lib.rs", &format!("// {word}: later")).len(), 1, "{word}");
            assert!(check("a/src/lib.rs", &format!("let MY_{word}_X = 1;")).is_empty(), "{word}");
        }
        for path in MACHINE_PATHS {
            let found = check("README.md", &format!("one\nsee {path}x"));
            assert_eq!(found, [format!("README.md:2: `{path}` exists on one machine only")]);
        }
    }

    #[test]
    fn wire_names_are_spelled_in_the_wire_crate_and_in_tests_only() {
        for name in WIRE_NAMES {
            let line = format!("const A: &str = \"{name}\";");
            assert_eq!(check("profiler-host/src/lib.rs", &line).len(), 1, "{name}");
            for allowed in ["profiler-wire/src/symbol.rs", "a/tests/b.rs", "a/src/tests.rs"] {
                assert!(check(allowed, &line).is_empty(), "{name} {allowed}");
            }
        }
    }

    #[test]
    fn long_files_and_crates_without_a_licence_are_found() {
        assert_eq!(check("a.rs", &"x\n".repeat(LINES_MAX + 1)).len(), 1);
        assert!(check("a.rs", &"x\n".repeat(LINES_MAX)).is_empty());
        assert!(check("Cargo.lock", &"x\n".repeat(LINES_MAX + 1)).is_empty());
        assert_eq!(check("a/Cargo.toml", "[package]\nname = \"a\"\n").len(), 1);
        assert!(check("a/Cargo.toml", "[package]\nlicense.workspace = true\n").is_empty());
        assert!(check("Cargo.toml", "[workspace]\n").is_empty());
    }
}
