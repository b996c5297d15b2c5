//! Comparing a kernel's result with a reference.

use std::fmt;

/// The largest error of a kernel's result, and the largest that is accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    what: &'static str,
    kind: &'static str,
    compared: usize,
    max_error: f64,
    max_at: usize,
    tolerance: f64,
}

impl Check {
    /// Compares pairs of (result, reference): the largest |result - reference| must not be above
    /// `tolerance`.
    #[must_use]
    pub fn absolute(
        what: &'static str,
        pairs: impl IntoIterator<Item = (f64, f64)>,
        tolerance: f64,
    ) -> Self {
        let errors = pairs.into_iter().map(|(result, reference)| (result - reference).abs());
        Self::new(what, "absolute", errors, tolerance)
    }

    /// Compares pairs of (result, reference): the largest |result - reference| / |reference| must
    /// not be above `tolerance`. Where the reference is 0, the result must be too.
    #[must_use]
    pub fn relative(
        what: &'static str,
        pairs: impl IntoIterator<Item = (f64, f64)>,
        tolerance: f64,
    ) -> Self {
        let errors = pairs.into_iter().map(|(result, reference)| {
            if result == reference { 0.0 } else { (result - reference).abs() / reference.abs() }
        });
        Self::new(what, "relative", errors, tolerance)
    }

    fn new(
        what: &'static str,
        kind: &'static str,
        errors: impl Iterator<Item = f64>,
        tolerance: f64,
    ) -> Self {
        let mut check = Self { what, kind, compared: 0, max_error: 0.0, max_at: 0, tolerance };
        for error in errors {
            // Not a number is as wrong as can be.
            let error = if error.is_nan() { f64::INFINITY } else { error };
            if error > check.max_error {
                (check.max_error, check.max_at) = (error, check.compared);
            }
            check.compared += 1;
        }
        check
    }

    /// Whether something was compared and no error is above the tolerance.
    #[must_use]
    pub fn is_correct(&self) -> bool {
        self.compared > 0 && self.max_error <= self.tolerance
    }

    /// The largest error.
    #[must_use]
    pub fn max_error(&self) -> f64 {
        self.max_error
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, kind, compared, max_error, max_at, tolerance } = self;
        if *compared == 0 {
            return write!(f, "result: WRONG, {what}: nothing was compared");
        }
        if self.is_correct() {
            write!(f, "result: correct, max error {max_error:.1e} ({kind}, {compared} {what})")
        } else {
            write!(
                f,
                "result: WRONG, max error {max_error:.1e} ({kind}, allowed {tolerance:.1e}) at \
                 number {max_at} of {compared} {what}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Check;

    #[test]
    fn errors_are_found_where_they_are() {
        let check = Check::absolute("sums", [(1.0, 1.0), (2.5, 2.0), (3.1, 3.0)], 0.5);
        assert!(check.is_correct());
        assert_eq!(check.to_string(), "result: correct, max error 5.0e-1 (absolute, 3 sums)");
        let check = Check::relative("sums", [(0.0, 0.0), (2.2, 2.0)], 0.01);
        assert!(!check.is_correct());
        assert!(check.to_string().contains("at number 1 of 2 sums"), "{check}");
    }

    #[test]
    fn what_is_no_number_or_no_result_is_wrong() {
        assert!(!Check::absolute("sums", [(f64::NAN, 1.0)], f64::MAX).is_correct());
        assert!(!Check::relative("sums", [(1e-30, 0.0)], 1.0).is_correct());
        assert!(!Check::absolute("sums", [], 1.0).is_correct());
    }
}
