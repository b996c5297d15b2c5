//! Figures as the page writes them, read back; and that nothing is wider than its place.

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_wire::SiteKind;
use serde_json::{Value, json};

use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

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

/// Also where a name is long, and turns the direction of text.
pub(crate) fn page_fits(browser: &Browser) -> Result<(), Failed> {
    let mut trace = support::large(2000);
    trace.sites[1].name = "\u{202e}long".repeat(500);
    let probe = "
        const root = document.documentElement;
        const named = [...document.querySelectorAll('button, select, input, canvas, [tabindex]')].filter((element) =>
          !(element.getAttribute('aria-hidden') || element.textContent.trim() || element.getAttribute('aria-label') || document.querySelector(`label[for=${element.id}]`)));
        const turned = [...document.querySelectorAll('b, strong, button, option')].filter((element) => getComputedStyle(element).unicodeBidi !== 'isolate');
        return { wide: root.scrollWidth, window: innerWidth, unnamed: named.map((element) => element.outerHTML), turned: turned.length };";
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, probe)?;
    assert_eq!(answer["wide"], answer["window"], "only tables scroll sideways");
    assert_eq!(answer["unnamed"], json!([]), "all that takes the focus has a name");
    assert_eq!(answer["turned"], 0, "no name turns what stands beside it");
    Ok(())
}

/// Where all durations are alike, so that the names of all quantiles stand above each other, and where the
/// line of one would go through the name of another.
pub(crate) fn labels_fit(browser: &Browser) -> Result<(), Failed> {
    let alike = vec![50.0; 4];
    let close = (0..400).map(|at| 50.0 + 0.1 * f64::from(at)).collect();
    for durations in [alike, close] {
        let answer = labels(browser, &durations)?;
        assert_eq!(answer, json!({ "named": 3, "cut": [], "crossed": [] }), "{durations:?}");
    }
    Ok(())
}

fn labels(browser: &Browser, durations: &[f64]) -> Result<Value, Failed> {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "kernel");
    let region = support::site(&mut trace, SiteKind::Region, "region");
    support::launch(&mut trace, kernel, [1, 1, 1], 0.0);
    support::warp(&mut trace, 0, 0, 0, 0.0, 100.0 * durations.len() as f64);
    for (start, duration) in (0..).step_by(100).map(f64::from).zip(durations) {
        support::region(&mut trace, region, (start, start + duration), 0);
    }
    let probe = "
        const drawing = document.querySelector('figure svg');
        const place = drawing.getBoundingClientRect();
        const texts = [...drawing.querySelectorAll('text')];
        const cut = texts.filter((text) => {
          const box = text.getBoundingClientRect();
          return box.top < place.top || box.left < place.left || box.right > place.right || box.bottom > place.bottom;
        });
        const named = texts.filter((text) => /^p[0-9]+$/.test(text.textContent));
        const lines = [...drawing.querySelectorAll('.mark')].map((line) => line.getBoundingClientRect());
        const crossed = named.filter((text) => {
          const box = text.getBoundingClientRect();
          const isThrough = (line) => line.left > box.left + 1 && line.right < box.right - 1;
          return lines.some((line) => isThrough(line) && line.top < box.bottom && line.bottom > box.top);
        });
        const words = (texts) => texts.map((text) => text.textContent);
        return { named: named.length, cut: words(cut), crossed: words(crossed) };";
    ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, probe)
}
