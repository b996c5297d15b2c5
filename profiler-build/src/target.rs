//! The GPU architectures that kernels can be compiled for.

use crate::error::Error;

/// The minimum of the profiler's own crates: compute capability 8.0.
const MINIMUM: u32 = 80;

/// The number in the name of an architecture, such as 90 in `sm_90a`, from 80 on.
pub(crate) fn architecture(target: &str) -> Result<u32, Error> {
    let number = target.strip_prefix("sm_").map(|name| name.trim_end_matches(['a', 'f']));
    let digits = number.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse().ok());
    number.filter(|number| *number >= MINIMUM).ok_or_else(|| {
        let reason = "give an architecture from \"sm_80\" on, such as \"sm_90\" or \"sm_90a\"";
        Error::new(format!("Kernels::target is {target:?}: {reason}"))
    })
}

/// Fails if the compiler, which prints this list of architectures, does not know the target.
pub(crate) fn require_known(target: &str, version: &str, printed: &str) -> Result<(), Error> {
    let known: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| architecture(name).is_ok())
        .collect();
    if known.is_empty() || known.contains(&target) {
        return Ok(());
    }
    let compiler = version.lines().next().unwrap_or_default();
    let known = known.join(", ");
    Err(Error::new(format!(
        "Kernels::target is {target:?}: {compiler} does not know it; give one of {known}, or update the compiler"
    )))
}

#[cfg(test)]
mod tests {
    use super::{architecture, require_known};

    #[test]
    fn targets_have_numbers_from_80_on() {
        let of = ["sm_80", "sm_90a", "sm_120f"].map(|target| architecture(target).expect("one"));
        assert_eq!(of, [80, 90, 120]);
        for given in ["90", "sm90", "compute_90", "sm_75", "", "native", "sm_", "sm_99999999999"] {
            let said = architecture(given).expect_err("no target").to_string();
            let begin =
                format!("Kernels::target is {given:?}: give an architecture from \"sm_80\"");
            assert!(said.starts_with(&begin) && said.lines().count() == 1, "{said}");
        }
    }

    #[test]
    fn a_compiler_that_does_not_know_a_target_is_named() {
        let printed = "Available CPUs for this target:\n    sm_70\n    sm_80\n    sm_90   - This is the default\n";
        let version = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\n";
        let check = |target, printed| {
            require_known(target, version, printed).map_err(|error| error.to_string())
        };
        assert_eq!(check("sm_90", printed), Ok(()));
        assert_eq!(check("sm_110", ""), Ok(()));
        let expected = "Kernels::target is \"sm_110\": rustc 1.95.0 (59807616e 2026-04-14) does not know it; \
                        give one of sm_80, sm_90, or update the compiler";
        assert_eq!(check("sm_110", printed), Err(expected.to_owned()));
    }
}
