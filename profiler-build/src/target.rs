//! The GPU architectures that kernels can be compiled for.

use crate::error::Error;

/// All that LLVM 22.1 knows (`rustc --target nvptx64-nvidia-cuda --print target-cpus` of Rust 1.96) from
/// compute capability 8.0 on, which is the least that the profiler's own crates are written for.
const TARGETS: [&str; 25] = [
    "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
    "sm_101", "sm_101a", "sm_101f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f",
    "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f",
];

/// The number of the first.
const MINIMUM: u32 = 80;

/// The number in the name of an architecture, such as 90 in `sm_90a`, if it is one to compile for.
pub(crate) fn architecture(target: &str) -> Result<u32, Error> {
    if TARGETS.contains(&target) {
        return Ok(number(target.trim_start_matches("sm_")).unwrap_or(MINIMUM));
    }
    // As others write it: 90, 9.0, sm90, compute_90, SM_90A.
    let lower = target.trim().to_ascii_lowercase();
    let rest = lower.trim_start_matches(|c: char| !c.is_ascii_digit()).replace('.', "");
    let meant = format!("sm_{rest}");
    let reason = if TARGETS.contains(&meant.as_str()) {
        format!("give \"{meant}\"")
    } else if number(&rest).is_some_and(|number| number < MINIMUM) {
        format!("the minimum is compute capability 8.0; give {}", accepted())
    } else {
        format!("it is no architecture that this version knows; give {}", accepted())
    };
    Err(Error::Target { target: target.to_owned(), reason })
}

/// An error where a compiler that prints this list of architectures cannot compile for one.
pub(crate) fn require_known(target: &str, version: &str, printed: &str) -> Result<(), Error> {
    let known: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| name.starts_with("sm_"))
        .collect();
    if known.is_empty() || known.contains(&target) {
        return Ok(());
    }
    let accepted: Vec<&str> = TARGETS.into_iter().filter(|name| known.contains(name)).collect();
    let compiler = version.lines().next().unwrap_or_default();
    Err(Error::Target {
        target: target.to_owned(),
        reason: format!(
            "{compiler} is too old for it; install a newer compiler, or give one of {}",
            accepted.join(", ")
        ),
    })
}

fn accepted() -> String {
    format!("one of {}", TARGETS.join(", "))
}

/// The number at the begin of a text.
fn number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{TARGETS, architecture, require_known};

    fn refused(target: &str) -> String {
        architecture(target).expect_err("no target").to_string()
    }

    #[test]
    fn targets_have_numbers() {
        let of = ["sm_80", "sm_90a", "sm_120f"].map(|target| architecture(target).expect("one"));
        assert_eq!(of, [80, 90, 120]);
        assert!(TARGETS.into_iter().all(|target| architecture(target).is_ok_and(|of| of >= 80)));
    }

    #[test]
    fn other_spellings_are_answered_with_the_name() {
        for (given, meant) in [
            ("90", "sm_90"),
            ("9.0", "sm_90"),
            ("sm90a", "sm_90a"),
            ("compute_100", "sm_100"),
            ("SM_120F", "sm_120f"),
            (" sm_80", "sm_80"),
        ] {
            let expected = format!("Kernels::target is {given:?}: give \"{meant}\"");
            assert_eq!(refused(given), expected);
        }
    }

    #[test]
    fn what_is_older_than_the_minimum_or_unknown_is_refused_in_one_sentence() {
        for given in ["sm_70", "sm_75", "75", "7.5"] {
            let said = refused(given);
            let begin =
                format!("Kernels::target is {given:?}: the minimum is compute capability 8.0;");
            assert!(said.starts_with(&begin) && said.contains("sm_80, sm_86"), "{said}");
        }
        for given in ["sm_999", "sm_90b", "", "native", "sm_", "sm_99999999999"] {
            let said = refused(given);
            let begin = format!("Kernels::target is {given:?}: it is no architecture that");
            assert!(said.starts_with(&begin) && said.ends_with("sm_121f"), "{said}");
            assert_eq!(said.lines().count(), 1);
        }
    }

    #[test]
    fn a_compiler_that_is_too_old_for_a_target_is_named() {
        let printed =
            "Available CPUs for this target:\n    sm_80\n    sm_90   - This is the default\n";
        let version = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\n";
        let check = |target, printed| {
            require_known(target, version, printed).map_err(|error| error.to_string())
        };
        assert_eq!(check("sm_90", printed), Ok(()));
        assert_eq!(check("sm_110", ""), Ok(()));
        let expected = "Kernels::target is \"sm_110\": rustc 1.95.0 (59807616e 2026-04-14) is too old for it; \
                        install a newer compiler, or give one of sm_80, sm_90";
        assert_eq!(check("sm_110", printed), Err(expected.to_owned()));
    }
}
