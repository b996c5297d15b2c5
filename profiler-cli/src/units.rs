//! Numbers as a person writes and reads them.

/// Units of time with their nanoseconds, as they are written; the first of a size is printed.
pub(crate) const TIMES: [(&str, f64); 5] =
    [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("us", 1e3), ("ns", 1.0)];

/// Four significant digits, without trailing zeros.
pub(crate) fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".to_owned() } else { value.to_string() };
    }
    let decimals = (3 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A time in the unit that suits it.
pub(crate) fn duration(ns: f64) -> String {
    let (unit, scale) =
        TIMES.into_iter().find(|(_, scale)| ns.abs() >= *scale).unwrap_or(("ns", 1.0));
    format!("{} {unit}", digits(ns / scale))
}

/// Bytes in the decimal unit that suits them.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(&str, f64); 4] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)];
    let count = count as f64;
    let (unit, scale) = UNITS.into_iter().find(|(_, scale)| count >= *scale).unwrap_or(("B", 1.0));
    format!("{} {unit}", digits(count / scale))
}

/// So many things, which are called this if there is one.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::{bytes, counted, digits, duration};

    #[test]
    fn numbers_have_four_digits() {
        let cases = [(0.0, "0"), (0.5, "0.5"), (12.3456, "12.35"), (123_456.0, "123456")];
        for (value, text) in cases {
            assert_eq!(digits(value), text);
        }
        assert_eq!(digits(f64::NAN), "NaN");
        assert_eq!(duration(0.25), "0.25 ns");
        assert_eq!(duration(12_500.0), "12.5 µs");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1_250_000), "1.25 MB");
        assert_eq!([counted(1, "warp"), counted(0, "warp")], ["1 warp", "0 warps"]);
    }
}
