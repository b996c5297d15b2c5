//! Numbers as people read them.

/// Units of time, with their nanoseconds.
const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
/// Decimal prefixes.
const PREFIXES: &[(&str, f64)] =
    &[("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15), ("E", 1e18)];
/// So many of the largest unit, and more, are written with an exponent.
const LONG: f64 = 1e6;

/// Four significant digits, without trailing zeros.
#[must_use]
pub fn digits(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A time in the unit that suits it, with four significant digits.
#[must_use]
pub fn duration(ns: f64) -> String {
    let (number, unit) = in_unit(ns, TIMES);
    format!("{number} {unit}")
}

/// A number of a unit with the decimal prefix that suits it: `12.34 GB`. The unit `bytes` is a `B`.
#[must_use]
pub fn prefixed(value: f64, unit: &str) -> String {
    let (number, prefix) = in_unit(value, PREFIXES);
    let unit = if matches!(unit, "bytes" | "byte") { "B" } else { unit };
    format!("{number} {prefix}{unit}")
}

/// A number in the largest of these units, the smallest first, of which it is at least one. That is decided
/// when it is rounded: of 999.96 ns the four digits are those of 1 µs.
fn in_unit(value: f64, units: &[(&'static str, f64)]) -> (String, &'static str) {
    let rounded = format!("{:.3e}", value.abs()).parse().unwrap_or(value.abs());
    let mut fitting = units.iter().rev().filter(|(_, scale)| rounded >= *scale);
    let Some((unit, scale)) = fitting.next() else {
        return (digits(value), units.first().map_or("", |(unit, _)| unit));
    };
    let number = (value.abs() / scale).max(1.0).copysign(value);
    if number.is_finite() && number.abs() >= LONG {
        return (format!("{number:.3e}"), unit);
    }
    (digits(number), unit)
}

#[cfg(test)]
mod tests {
    use super::{digits, duration, prefixed};

    #[test]
    fn a_unit_is_chosen_when_the_number_is_rounded() {
        let times = [
            (0.0, "0 ns"),
            (0.25, "0.25 ns"),
            (999.94, "999.9 ns"),
            (999.96, "1 µs"),
            (1e3, "1 µs"),
        ];
        for (ns, text) in times {
            assert_eq!(duration(ns), text);
        }
        for (below, text) in [(999.96, "1 kkeys"), (999_960.0, "1 Mkeys"), (999.96e6, "1 Gkeys")] {
            assert_eq!(prefixed(below, "keys"), text);
            assert_eq!(prefixed(-below, "keys"), format!("-{text}"));
        }
        // As soon as two neighbours round to numbers of different units, the smaller one's is below 1000.
        for exponent in -3..20 {
            for step in 0..2000 {
                let value = (0.999 + f64::from(step) * 1e-6) * 10_f64.powi(exponent);
                let text = prefixed(value, "B");
                let number: f64 = text.split(' ').next().unwrap_or("").parse().expect("a number");
                assert!(number < 1000.0, "{value}: {text}");
            }
        }
    }

    #[test]
    fn a_number_of_any_size_has_few_characters() {
        assert_eq!(prefixed(1.5e15, "bytes"), "1.5 PB");
        assert_eq!(prefixed(2e18, "keys"), "2 Ekeys");
        assert_eq!(prefixed(12_345e18, "keys"), "12345 Ekeys");
        assert_eq!(prefixed(1.5e27, "keys"), "1.500e9 Ekeys");
        assert_eq!(duration(f64::MAX), "1.798e299 s");
        assert_eq!(duration(f64::INFINITY), "inf s");
        assert_eq!([digits(f64::NAN), duration(f64::NAN)], ["NaN", "NaN ns"]);
        for exponent in -12..308 {
            let value = 1.2345 * 10_f64.powi(exponent);
            assert!(prefixed(value, "B").len() <= 16, "{}", prefixed(value, "B"));
        }
    }
}
