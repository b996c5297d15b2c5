//! Pages in a real browser.
//!
//! Without a browser, every test is ignored, with a line that says how to install one; with
//! `PROFILER_REQUIRE_TOOLS=1` that is a failure.

#[path = "browser/balance.rs"]
mod balance;
#[path = "browser/distribution.rs"]
mod distribution;
#[path = "browser/host.rs"]
mod host;
#[path = "browser/maps.rs"]
mod maps;
#[path = "browser/shown.rs"]
mod shown;
#[path = "browser/sorting.rs"]
mod sorting;
mod support;
#[path = "support/browser.rs"]
mod tool;
#[path = "browser/window.rs"]
mod window;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use profiler_report::{ReportOptions, write_html};
use profiler_test_tools::{announce, are_required};
use profiler_trace::{Diagnostic, DiagnosticKind, Location, Trace};
use profiler_wire::SiteKind;
use serde_json::Value;
use tool::{Browser, Scheme, Seen, contrast};

type Test = fn(&Browser) -> Result<(), Failed>;

const TESTS: &[(&str, Test)] = &[
    ("figures_are_those_of_the_statistics_in_light", |browser| figures(browser, Scheme::Light)),
    ("figures_are_those_of_the_statistics_in_dark", |browser| figures(browser, Scheme::Dark)),
    ("the_timeline_holds_every_region", window::timeline_holds_every_region),
    ("the_timeline_is_drawn_and_obeys_keys", timeline_obeys_keys),
    ("the_host_is_above_the_gpu_in_light", |browser| host::host_rows(browser, Scheme::Light)),
    ("the_host_is_above_the_gpu_in_dark", |browser| host::host_rows(browser, Scheme::Dark)),
    ("a_host_that_lasts_long_leaves_the_kernels_in_view", host::long_host),
    ("names_are_text_whatever_they_hold", names_are_text),
    ("losses_stand_before_all_figures", losses_come_first),
    ("what_is_left_out_is_said", left_out_is_said),
    ("a_trace_without_anything_is_a_page", empty),
    ("the_page_is_as_wide_as_its_window_and_its_controls_have_names", shown::page_fits),
    ("labels_of_a_distribution_are_whole", shown::labels_fit),
    ("maps_tell_means_and_colour_them_block_by_block", maps::single_blocks),
    ("balance_and_tail_are_those_of_the_trace", balance::figures_and_curves),
    ("columns_sort_by_their_figures_both_ways", sorting::columns_sort),
    ("a_distribution_counts_every_duration_in_its_bin", distribution::bins_count),
    ("a_window_shows_the_regions_in_it_and_no_others", window::window_shows_its_regions),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let found = Browser::find();
    if let Err(missing) = &found {
        announce("tests with a browser", missing);
    }
    let tests = TESTS.iter().map(|&(name, test)| {
        let found = found.clone();
        let is_ignored = found.is_err() && !are_required();
        Trial::test(name, move || test(&found?)).with_ignored_flag(is_ignored)
    });
    libtest_mimic::run(&arguments, tests.collect()).exit_code()
}

fn page(trace: &Trace, options: &ReportOptions) -> Result<String, Failed> {
    let mut bytes = Vec::new();
    write_html(trace, &mut bytes, options)?;
    Ok(String::from_utf8(bytes)?)
}

/// Opens the page of a trace and requires that it makes no complaint and loads nothing.
fn ask(browser: &Browser, page: &str, scheme: Scheme, probe: &str) -> Result<Value, Failed> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let probe = format!(
        "const loaded = performance.getEntriesByType('resource').map(({{ name }}) => name);
         const answer = await (async () => {{ {probe} }})();
         return {{ loaded, answer }};"
    );
    let Seen { mut answer, console } = browser.ask(page, scheme, &folder, &probe)?;
    assert!(console.is_empty(), "the console is empty: {console:#?}");
    assert_eq!(answer["loaded"], serde_json::json!([]), "nothing is loaded");
    Ok(answer["answer"].take())
}

fn figures(browser: &Browser, scheme: Scheme) -> Result<(), Failed> {
    let trace = support::large(4000);
    let probe = "
        const rows = [...document.querySelectorAll('#regions tbody tr')].map((row) => ({
          name: row.querySelector('th').textContent,
          values: [...row.querySelectorAll('td.n')].map((cell) => cell.dataset.value),
          texts: [...row.querySelectorAll('td.n')].map((cell) => cell.textContent),
          bars: row.querySelectorAll('.spark rect').length,
        }));
        const rgb = (element, property) => getComputedStyle(element)[property].match(/[\\d.]+/g).map(Number);
        const luminance = (color) => {
          const [red, green, blue] = color.map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        };
        // By the formula of the Web Content Accessibility Guidelines.
        const contrast = (text, around) => {
          const [low, high] = [luminance(rgb(text, 'color')), luminance(rgb(around, 'backgroundColor'))].sort((a, b) => a - b);
          return (high + 0.05) / (low + 0.05);
        };
        const section = document.getElementById('regions-section');
        const button = document.getElementById('theme');
        const before = luminance(rgb(document.body, 'backgroundColor'));
        const contrasts = [contrast(document.querySelector('#regions td'), section), contrast(document.querySelector('.about'), section),
          contrast(document.querySelector('#losses h2'), document.getElementById('losses'))];
        button.click();
        const light = luminance(rgb(document.body, 'backgroundColor'));
        button.click();
        const dark = luminance(rgb(document.body, 'backgroundColor'));
        button.click();
        const after = luminance(rgb(document.body, 'backgroundColor'));
        const parts = (color) => color.startsWith('#')
          ? [...color.slice(1)].map((digit) => parseInt(digit, 16) * 17) : color.match(/[\\d.]+/g).map(Number);
        const colors = Array.from({ length: 21 }, (_, rank) => report.categorical(rank)).concat(report.css('--kernel'));
        const bars = colors.map((color) => [color, report.inkOn(color)].map(parts));
        bars.push([report.css('--kernel'), report.css('--ink')].map(parts));
        return { rows, contrasts, before, light, dark, after, bars };";
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, scheme, probe)?;
    let stats = trace.stats();
    let rows = answer["rows"].as_array().ok_or("rows")?;
    assert_eq!(rows.len(), stats.rows.len());
    for (shown, row) in rows.iter().zip(&stats.rows) {
        assert_eq!(shown["name"], row.name.as_str());
        let ns = &row.ns;
        let figures = [
            row.count as f64,
            ns.total,
            ns.mean,
            ns.standard_deviation,
            ns.p50,
            ns.p95,
            ns.p99,
            ns.max,
            row.share,
        ];
        // As text, which holds every digit.
        let figures = figures.map(|figure| figure.to_string());
        assert_eq!(shown["values"], serde_json::json!(figures), "{}", row.name);
        assert!(shown["texts"][2].as_str().is_some_and(|text| text.ends_with('s')));
        assert!(shown["bars"].as_u64().is_some_and(|bars| bars > 0));
    }
    for contrast in answer["contrasts"].as_array().ok_or("contrasts")? {
        assert!(contrast.as_f64() >= Some(4.5), "text can be read: {answer}");
    }
    let bars = answer["bars"].as_array().ok_or("bars")?;
    assert_eq!(bars.len(), 23);
    for pair in bars {
        let contrast = contrast(&pair[0], &pair[1]);
        assert!(contrast >= 4.5, "names on bars can be read: {contrast} of {pair}");
    }
    let [before, light, dark, after] =
        ["before", "light", "dark", "after"].map(|name| answer[name].as_f64().unwrap_or(-1.0));
    assert!(light > 0.8 && dark < 0.05, "the button chooses: {answer}");
    assert_eq!(before, if scheme == Scheme::Light { light } else { dark }, "the system decides");
    assert_eq!(after, before, "and decides again");
    Ok(())
}

/// Presses keys of the timeline, for probes.
const KEYS: &str = "
    const viewport = document.querySelector('.viewport');
    const canvas = document.getElementById('timeline-canvas');
    // No frame is painted while timers run without waiting.
    window.requestAnimationFrame = (call) => setTimeout(call, 0);
    const settle = () => new Promise((done) => setTimeout(done, 5));
    const key = async (name) => {
      viewport.dispatchEvent(new KeyboardEvent('keydown', { key: name, cancelable: true, bubbles: true }));
      await settle();
    };
    const text = () => document.querySelector('.selection').textContent;";

fn timeline_obeys_keys(browser: &Browser) -> Result<(), Failed> {
    let probe = "
        const colors = () => {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Map();
          for (let at = 0; at < data.length; at += 4) {
            const color = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
            seen.set(color, (seen.get(color) ?? 0) + 1);
          }
          return seen;
        };
        const height = () => document.querySelector('.viewport .height').offsetHeight;
        const keys = [...document.querySelectorAll('.legend .chip')].map((chip) => ({
          name: chip.textContent, color: getComputedStyle(chip.firstChild).backgroundColor }));
        const drawn = colors();
        const pixels = Object.fromEntries(keys.map(({ name, color }) => [name, drawn.get(color) ?? 0]));
        const before = canvas.toDataURL();
        for (let at = 0; at < 8; at += 1) await key('+');
        const zoomed = canvas.toDataURL();
        await key('ArrowRight');
        const moved = canvas.toDataURL();
        await key('0');
        const all = canvas.toDataURL();
        await key('ArrowDown');
        const [row, open] = [text(), height()];
        await key('Enter');
        const closed = height();
        await key('Enter');
        const again = height();
        await key('n');
        await key('n');
        const first = text();
        await key('n');
        const second = text();
        await key('p');
        const back = text();
        document.getElementById('grouping').value = 'block';
        document.getElementById('grouping').dispatchEvent(new Event('change'));
        await settle();
        return { pixels, zooms: before !== zoomed, moves: zoomed !== moved, returns: before === all, row, open, closed, again,
          first, second, back, blocks: height() };";
    let trace = support::large(3000);
    let page = page(&trace, &ReportOptions::default())?;
    let answer = ask(browser, &page, Scheme::Light, &[KEYS, probe].concat())?;
    for name in ["tile", "load", "wait", "mma", "store"] {
        assert!(answer["pixels"][name].as_u64() > Some(20), "{name} is drawn: {answer}");
    }
    for fact in ["zooms", "moves", "returns"] {
        assert_eq!(answer[fact], true, "{fact}");
    }
    assert_eq!(answer["row"], "SM 0");
    assert!(answer["closed"].as_u64() < answer["open"].as_u64(), "Enter closes: {answer}");
    assert_eq!(answer["again"], answer["open"], "and opens");
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let warp = &trace.warps[0];
    let region = |at: usize| {
        let region = &warp.regions[at];
        let length = region.end.map_or(0.0, |end| end.ns) - region.start.ns;
        (format!("{}: ", trace.site(region.site).name), length)
    };
    for (text, (name, length)) in [(text("first"), region(0)), (text("second"), region(1))] {
        let rest = text.strip_prefix(&name).ok_or_else(|| format!("{text} is not {name}"))?;
        let shown: f64 = rest.split(' ').next().unwrap_or_default().parse()?;
        assert!((shown - length).abs() < 0.16, "{text} lasts {length}");
        assert!(text.contains("block 0, warp 0, SM 0, gemm #0"), "{text}");
        assert!(text.contains("src/kernel.rs:"), "{text}");
    }
    assert_eq!(text("first"), text("back"));
    // By block there is a row for each warp, each as high as three bars.
    let rows = trace.warps.len() as u64;
    assert!(answer["blocks"].as_u64() > Some(rows * 3 * 10), "{answer}");
    Ok(())
}

fn names_are_text(browser: &Browser) -> Result<(), Failed> {
    let names = [
        "</script><b id=\"broken\">",
        "<!--<script>",
        "a&amp;b'\"`${1}",
        "<img src=x onerror=\"document.title='broken'\">",
        "\u{2028}名前\u{1F600}",
    ];
    let mut trace = support::gpu();
    trace.device.name = "<b id=broken>GPU</b>".to_owned();
    let kernel = support::site(&mut trace, SiteKind::Kernel, names[0]);
    let regions = names.map(|name| support::site(&mut trace, SiteKind::Region, name));
    let mark = support::site(&mut trace, SiteKind::Mark, "</script><i id=broken>");
    trace.sites[1].file = "</style></script><u id=broken>.rs".to_owned();
    trace.sites[1].unit = Some("<s id=broken>".to_owned());
    support::launch(&mut trace, kernel, [1, 1, 1], 0.0);
    support::warp(&mut trace, 0, 0, 0, 0.0, 1000.0);
    for (at, site) in (0_u32..).zip(regions) {
        let start = f64::from(at) * 100.0 + 10.0;
        support::region(&mut trace, site, (start, start + 50.0), 0);
        trace.warps[0].regions[at as usize].value = Some(profiler_trace::Value::Unsigned(1));
    }
    support::mark(&mut trace, mark, 700.0);
    let probe = "
        document.querySelectorAll('#regions .pick').forEach((button) => button.click());
        const viewport = document.querySelector('.viewport');
        for (let at = 0; at < 5; at += 1) viewport.dispatchEvent(new KeyboardEvent('keydown', { key: 'n' }));
        return {
          names: [...document.querySelectorAll('#regions .pick')].map((button) => button.textContent),
          nested: [...document.querySelectorAll('#nesting th[scope=row]')].map((cell) => cell.textContent),
          broken: document.querySelectorAll('#broken, #losses b, img').length,
          scripts: document.scripts.length, title: document.title,
        };";
    let title = "</title><b id=broken>";
    let options = ReportOptions { title: Some(title.to_owned()), ..ReportOptions::default() };
    let answer = ask(browser, &page(&trace, &options)?, Scheme::Light, probe)?;
    let mut expected = vec![names[0]];
    expected.extend(names);
    for list in ["names", "nested"] {
        let mut shown: Vec<&str> =
            answer[list].as_array().ok_or("a list")?.iter().filter_map(Value::as_str).collect();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected);
    }
    assert_eq!(answer["broken"], 0);
    assert_eq!(answer["title"], title);
    // The data, three blobs, the page's own parts, and the probe of this test.
    assert_eq!(answer["scripts"], 4 + 8 + 1);
    Ok(())
}

fn losses_come_first(browser: &Browser) -> Result<(), Failed> {
    let mut trace = support::large(1000);
    trace.warps[0].lost = 250;
    trace.lost_unplaced = 50;
    let place = Some(Location { module: 0, slot: Some(3), lane: None, unit: None });
    for (kind, count) in [(DiagnosticKind::ClockPooled, 2), (DiagnosticKind::DamagedUnit, 5)] {
        trace.diagnostics.add(Diagnostic { kind, count, number: 0, place });
    }
    trace.diagnostics.add(Diagnostic {
        kind: DiagnosticKind::BufferTooSmall,
        count: 300,
        number: 64,
        place,
    });
    let probe = "
        const losses = document.getElementById('losses');
        const figures = document.querySelectorAll('dd, td');
        return {
          headline: losses.querySelector('h2').textContent, worst: losses.className,
          lines: [...losses.querySelectorAll('li')].map((line) => [line.dataset.kind, line.textContent]),
          first: [...figures].every((figure) => losses.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING),
          bottom: losses.getBoundingClientRect().bottom,
        };";
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Dark, probe)?;
    let emitted = trace.recorded() + 300;
    let headline = answer["headline"].as_str().ok_or("a headline")?.replace('\u{202f}', "");
    assert!(headline.starts_with(&format!("LOST 300 of {emitted} records")), "{headline}");
    assert_eq!(answer["worst"], "banner error");
    assert_eq!(answer["first"], true);
    assert!(answer["bottom"].as_f64() < Some(900.0), "all of it is in the first screen: {answer}");
    // The gravest first, each in the words of the diagnostic.
    let lines = answer["lines"].as_array().ok_or("lines")?;
    let kinds: Vec<&str> = lines.iter().filter_map(|line| line[0].as_str()).collect();
    assert_eq!(kinds, ["damaged-unit", "buffer-too-small", "clock-pooled"]);
    for line in lines {
        let known = trace.diagnostics.list.iter().find(|known| line[0] == known.kind.name());
        let words = known.ok_or("a diagnostic of the trace")?.to_string();
        assert!(line[1].as_str().is_some_and(|text| text.ends_with(&words)), "{line}");
    }
    Ok(())
}

fn left_out_is_said(browser: &Browser) -> Result<(), Failed> {
    let trace = support::large(20_000);
    let items: usize = trace.warps.iter().map(|warp| warp.regions.len() + warp.marks.len()).sum();
    let options = ReportOptions { detail_bytes: 20_000, ..ReportOptions::default() };
    let probe = "
        const { items, warps } = report.unpackDetail(await report.unpack('detail'));
        return { notes: document.getElementById('timeline-notes').textContent, items: items.start.length, warps: warps.count,
          counts: [...document.querySelectorAll('#nesting tbody tr')].map((row) => Number(row.cells[1].dataset.value)) };";
    let answer = ask(browser, &page(&trace, &options)?, Scheme::Light, probe)?;
    let (here, warps) = (answer["items"].as_u64(), answer["warps"].as_u64());
    let (here, warps) = (here.ok_or("items")? as usize, warps.ok_or("warps")? as usize);
    assert!(here > 1000 && here < items / 2, "{here} of {items}");
    let notes = answer["notes"].as_str().ok_or("notes")?.replace('\u{202f}', "");
    let (missing, missing_warps) = (items - here, trace.warps.len() - warps);
    assert!(
        notes.contains(&format!(
            "{missing} of {items} regions and marks and {missing_warps} of {} warps",
            trace.warps.len()
        )),
        "{notes}"
    );
    // What is aggregated is about all regions.
    let counts: u64 =
        answer["counts"].as_array().ok_or("counts")?.iter().filter_map(Value::as_f64).sum::<f64>()
            as u64;
    let regions: usize = trace.warps.iter().map(|warp| warp.regions.len()).sum();
    assert_eq!(counts as usize, regions + trace.warps.len());
    Ok(())
}

fn empty(browser: &Browser) -> Result<(), Failed> {
    let mut launched = support::gpu();
    let kernel = support::site(&mut launched, SiteKind::Kernel, "empty");
    support::launch(&mut launched, kernel, [1, 1, 1], 0.0);
    support::warp(&mut launched, 0, 0, 0, 5.0, 5.0);
    for trace in [Trace::default(), launched] {
        let page = page(&trace, &ReportOptions::default())?;
        let probe = "return document.getElementById('timeline').textContent;";
        let answer = ask(browser, &page, Scheme::Light, probe)?;
        assert_eq!(answer, "Nothing was recorded that has a length.");
    }
    Ok(())
}
