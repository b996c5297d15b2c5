//! `docs/diagnostics.md` has each diagnostic once, under its severity, in the order of the source.

use profiler_trace::{DiagnosticKind, Severity};

const PAGE: &str = include_str!("../../../docs/diagnostics.md");

/// The names in the first column of the table after the mark of a severity.
fn names(severity: Severity) -> Vec<&'static str> {
    let mark = format!("<!-- diagnostics: {} -->\n", severity.name());
    let (_, table) = PAGE.split_once(&mark).unwrap_or_else(|| panic!("there is no line {mark}"));
    let rows = table.lines().skip_while(|line| !line.starts_with("| `"));
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.split('|').nth(1).expect("a cell").trim().trim_matches('`'))
        .collect()
}

/// It is shown to people who see no links and no marks.
#[test]
fn every_diagnostic_has_a_meaning_in_a_sentence() {
    for kind in DiagnosticKind::ALL {
        let meaning = kind.meaning();
        assert!(meaning.len() > 10 && meaning.starts_with(char::is_uppercase), "{meaning}");
        assert!(!meaning.contains(['`', '[', '\n']) && !meaning.contains(". "), "{meaning}");
        assert!(!meaning.ends_with('.') && !meaning.contains("  "), "{meaning}");
    }
}

#[test]
fn every_diagnostic_is_on_its_page() {
    for severity in [Severity::Error, Severity::Warning, Severity::Info] {
        let kinds = DiagnosticKind::ALL.iter().filter(|kind| kind.severity() == severity);
        let wanted: Vec<&str> = kinds.map(|kind| kind.name()).collect();
        assert_eq!(names(severity), wanted);
    }
}
