//! That nothing is wider than its place.

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_wire::SiteKind;
use serde_json::json;

use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

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

/// Where all durations are alike, so that the names of all quantiles stand above each other.
pub(crate) fn labels_fit(browser: &Browser) -> Result<(), Failed> {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "kernel");
    let region = support::site(&mut trace, SiteKind::Region, "region");
    support::launch(&mut trace, kernel, [1, 1, 1], 0.0);
    support::warp(&mut trace, 0, 0, 0, 0.0, 1000.0);
    for at in 0..4 {
        let start = f64::from(at) * 100.0;
        support::region(&mut trace, region, (start, start + 50.0), 0);
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
        return { named: named.length, cut: cut.map((text) => text.textContent) };";
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, probe)?;
    assert_eq!(answer, json!({ "named": 3, "cut": [] }));
    Ok(())
}
