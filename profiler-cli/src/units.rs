//! Numbers as a person writes and reads them.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use profiler_trace::units::prefixed;

/// Units of time with their nanoseconds, as they are written.
pub(crate) const TIMES: [(&str, f64); 5] =
    [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("us", 1e3), ("ns", 1.0)];

pub(crate) use profiler_trace::units::{digits, duration};

/// Bytes in the decimal unit that suits them.
pub(crate) fn bytes(count: u64) -> String {
    prefixed(count as f64, "bytes")
}

/// Reads bytes as a person writes them: `512M`, `2G`, `1.5GiB`. K, M, G and T are powers of 1024, kB, MB, GB
/// and TB of 1000.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let refused =
        || format!("`{text}` is no size; write a number of bytes, or one such as 512M or 2G");
    let text = text.trim();
    let number_end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(number_end);
    let unit = unit.trim().to_ascii_lowercase();
    let binary = unit.strip_suffix("ib").filter(|prefix| !prefix.is_empty());
    let (prefix, base) = match (binary, unit.strip_suffix('b')) {
        (Some(prefix), _) => (prefix, 1024.0_f64),
        (None, Some(prefix)) => (prefix, 1000.0),
        (None, None) => (unit.as_str(), 1024.0),
    };
    let power = ["", "k", "m", "g", "t"].iter().position(|known| *known == prefix);
    let scale = base.powi(power.ok_or_else(refused)? as i32);
    let bytes = number.parse::<f64>().map_err(|_| refused())? * scale;
    // A cast saturates: more than there can be is no limit.
    Ok(bytes.round() as u64)
}

/// Reads a whole number.
pub(crate) fn whole<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| match text.parse::<i128>() {
        Ok(0) => "it must be 1 or more".to_owned(),
        Ok(number) if number < 0 => "it is below 0; write a whole number such as 3".to_owned(),
        Ok(_) => "it is too large".to_owned(),
        Err(_) => format!("`{text}` is no whole number; write one such as 3"),
    })
}

/// [`whole`] within these.
pub(crate) fn whole_in<N: FromStr + PartialOrd + Display + Clone>(
    range: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number: N = whole(text)?;
        if range.contains(&number) {
            return Ok(number);
        }
        Err(format!("{number} is not in {} to {}", range.start(), range.end()))
    }
}

/// A count with its noun, such as `1 warp` or `2 warps`.
pub(crate) fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{bytes, counted, digits, duration, parse_bytes};

    proptest! {
        #[test]
        fn any_text_is_a_size_or_refused(text in "(\\PC|[0-9]|[.kKmMgGtTiIbB ]){0,8}") {
            if let Err(error) = parse_bytes(&text) {
                prop_assert!(error.contains("512M"), "{error}");
            }
        }

        #[test]
        fn a_size_that_was_written_is_read(count in 0_u64..1 << 20, power in 0_u32..4) {
            for (units, base) in [(["", "K", "M", "G"], 1024), (["B", "kB", "MB", "GB"], 1000)] {
                let size = parse_bytes(&format!("{count}{}", units[power as usize]));
                prop_assert_eq!(size, Ok(count * u64::pow(base, power)));
            }
        }
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_bytes("9999999999T"), Ok(u64::MAX));
        for text in ["", "M", "-1", "1e3", "5X", "5iB", "1.2.3K", "5 M M"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

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
