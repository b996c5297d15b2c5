//! Numbers as a person writes and reads them.

use std::str::FromStr;

/// Units of time with their nanoseconds, as they are written; the first of a size is printed.
const TIMES: [(&str, f64); 5] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("us", 1e3), ("ns", 1.0)];

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

/// A place on an axis of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    /// Nanoseconds from its begin.
    Nanoseconds(f64),
    /// A part of its length, 0 to 1.
    Part(f64),
}

impl Moment {
    /// Nanoseconds from the begin of an axis of this length.
    pub(crate) fn on(self, length_ns: f64) -> f64 {
        match self {
            Self::Nanoseconds(ns) => ns,
            Self::Part(part) => part * length_ns,
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number_end = text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(number_end);
        let cure = "write a number with its unit, such as 250ns, 12.5us, 3ms, 1s or 40%";
        let number: f64 = number.parse().map_err(|_| format!("`{text}` is no time; {cure}"))?;
        let unit = unit.trim();
        if unit == "%" {
            return Ok(Self::Part(number / 100.0));
        }
        let scale = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| scale);
        scale
            .map(|scale| Self::Nanoseconds(number * scale))
            .ok_or_else(|| format!("`{text}` has no unit of time; {cure}"))
    }
}

/// A stretch of time, `START..END`; either may be left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    start: Option<Moment>,
    end: Option<Moment>,
}

impl Window {
    /// Begin and end in nanoseconds from the begin of an axis of this length; the error says why it
    /// cannot be.
    pub(crate) fn on(self, length_ns: f64) -> Result<(f64, f64), String> {
        let start = self.start.map_or(0.0, |start| start.on(length_ns));
        let end = self.end.map_or(length_ns, |end| end.on(length_ns));
        if start < end {
            return Ok((start, end));
        }
        Err(format!(
            "the window begins at {} and ends at {}, which is not later; it is counted from the \
             begin of the launch, which lasted {}",
            duration(start),
            duration(end),
            duration(length_ns)
        ))
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once("..").ok_or_else(|| {
            format!("`{text}` is no window; write START..END, such as 10us..20us, or ..50%")
        })?;
        let moment = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some),
        };
        Ok(Self { start: moment(start)?, end: moment(end)? })
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, Window, bytes, digits, duration};

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
    }

    #[test]
    fn windows_are_read_with_units_and_open_ends() {
        let of = |text: &str| text.parse::<Window>().and_then(|window| window.on(1000.0));
        assert_eq!(of("100ns..0.5us"), Ok((100.0, 500.0)));
        assert_eq!(of("25%.."), Ok((250.0, 1000.0)));
        assert_eq!(of("..50%"), Ok((0.0, 500.0)));
        assert_eq!(of(".."), Ok((0.0, 1000.0)));
    }

    #[test]
    fn what_is_no_window_is_refused_with_the_form_that_is() {
        for text in ["", "10us", "a..b", "10..20", "5ns..2ns", "2ms..", "NaNns..", "1e3ns.."] {
            let error = text.parse::<Window>().and_then(|window| window.on(1000.0));
            assert!(error.is_err(), "{text}: {error:?}");
        }
        assert!("10".parse::<Moment>().unwrap_err().contains("12.5us"));
    }
}
