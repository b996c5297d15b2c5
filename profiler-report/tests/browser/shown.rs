//! Figures as the page writes them, read back.

use libtest_mimic::Failed;

/// A time with its unit, in nanoseconds.
fn nanoseconds(text: &str) -> Option<f64> {
    let (figure, unit) = text.split_once(' ')?;
    let scale = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (_, scale) = scale.iter().find(|(known, _)| *known == unit)?;
    Some(figure.parse::<f64>().ok()? * scale)
}

/// A whole number in groups of three digits.
pub(crate) fn count(text: &str) -> Result<u64, Failed> {
    let digits = text.replace('\u{202f}', "");
    digits.parse().map_err(|_| Failed::from(format!("`{text}` is no count")))
}

/// Requires that a time is written with all of its four digits right.
pub(crate) fn require_time(text: &str, ns: f64) -> Result<(), Failed> {
    require(text, nanoseconds(text), ns)
}

/// The same of a share of one, which is written in per cent.
pub(crate) fn require_share(text: &str, share: f64) -> Result<(), Failed> {
    let shown = text.strip_suffix(" %").and_then(|text| text.parse().ok());
    require(text, shown, share * 100.0)
}

fn require(text: &str, shown: Option<f64>, figure: f64) -> Result<(), Failed> {
    let shown = shown.ok_or_else(|| format!("`{text}` is no figure of its kind"))?;
    let last_digit = 10_f64.powf(figure.abs().log10().floor() - 3.0);
    // Maps add up in single precision.
    let most = 0.5 * last_digit + 1e-5 * figure.abs();
    if (shown - figure).abs() > most {
        return Err(format!("`{text}` is not {figure}").into());
    }
    Ok(())
}
