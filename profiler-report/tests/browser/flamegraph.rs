//! The flame graph, as a document of its own.

use libtest_mimic::Failed;
use profiler_report::{FlamegraphOptions, write_flamegraph};
use profiler_trace::Trace;
use serde_json::Value;

use crate::tool::{Browser, Scheme, contrast};
use crate::{ask, support};

/// What a function says in the SVG, opened as a document of its own.
fn ask_svg(browser: &Browser, trace: &Trace, scheme: Scheme, probe: &str) -> Result<Value, Failed> {
    let mut svg = Vec::new();
    write_flamegraph(trace, &mut svg, &FlamegraphOptions::default())?;
    let svg = String::from_utf8(svg)?;
    let end = svg.rfind("</svg>").ok_or("the SVG has no end")?;
    let script = format!(
        "<script><![CDATA[
         addEventListener('message', ({{ source }}) => {{
           let answer;
           try {{ answer = (() => {{ {probe} }})(); }}
           catch (error) {{ answer = {{ failed: String(error.stack) }}; }}
           source.postMessage(answer, '*');
         }}, {{ once: true }});
         ]]></script>"
    );
    let svg = [&svg[..end], &script, &svg[end..]].concat();
    let address: String = svg.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let page = format!(
        "<!doctype html><html data-ready=\"yes\"><meta name=\"color-scheme\" content=\"light dark\">
         <body><iframe width=\"1200\" height=\"600\" src=\"data:image/svg+xml,{address}\"></iframe></body></html>"
    );
    let wait = "
        const frame = document.querySelector('iframe');
        const answer = await new Promise((resolve) => {
          const asking = setInterval(() => frame.contentWindow.postMessage('ask', '*'), 20);
          addEventListener('message', ({ data }) => { clearInterval(asking); resolve(data); });
        });
        if (answer.failed) throw new Error(answer.failed);
        return answer;";
    ask(browser, &page, scheme, wait)
}

/// Each frame's title holds its name and its time.
pub(crate) fn flamegraph(browser: &Browser) -> Result<(), Failed> {
    let mut trace = support::large(2000);
    let hostile = "</title><script>]]>\"a;b\" & 7\u{ffff}";
    trace.sites[2].name = hostile.to_owned();
    let probe = "return {
        errors: document.querySelectorAll('parsererror').length,
        scripts: document.querySelectorAll('script').length,
        titles: [...document.querySelectorAll('.frame > title')].map((title) => title.textContent),
    };";
    let answer = ask_svg(browser, &trace, Scheme::Light, probe)?;
    assert_eq!(answer["errors"], 0);
    assert_eq!(answer["scripts"], 2, "its own and the probe");
    let titles = answer["titles"].as_array().ok_or("titles")?;
    let time_of = |name: &str| -> Option<u64> {
        let titles = titles.iter().filter_map(Value::as_str);
        let mut found = titles.filter_map(|title| title.strip_prefix(name)?.strip_prefix('\n'));
        let time = found.next()?.split_once(" (")?.1.split_once(" ns)")?.0;
        assert!(found.next().is_none(), "one frame for {name}");
        time.replace('\u{202f}', "").parse().ok()
    };
    let stats = trace.stats();
    for row in &stats.rows {
        let name = row.name.replace(';', "；").replace('\u{ffff}', "\u{fffd}");
        let shown = time_of(&name).ok_or_else(|| format!("{name} is not in {titles:?}"))?;
        // Own times are rounded to a nanosecond, stack by stack.
        assert!((shown as f64 - row.ns.total).abs() < 4.0, "{name}: {shown}");
    }
    Ok(())
}

pub(crate) fn flamegraph_zooms(browser: &Browser) -> Result<(), Failed> {
    let trace = support::large(2000);
    let probe = "
        const frames = () => Object.fromEntries([...document.querySelectorAll('.frame')]
          .filter((frame) => getComputedStyle(frame).display !== 'none')
          .map((frame) => [frame.querySelector('text').textContent, frame.querySelector('rect').getBoundingClientRect().width]));
        const named = (name) => [...document.querySelectorAll('.frame')].find((frame) => frame.querySelector('text').textContent === name);
        const key = (target, key) => target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        const whole = frames();
        named('tile').dispatchEvent(new MouseEvent('click'));
        const tile = frames();
        key(named('load'), 'Enter');
        const load = frames();
        const input = document.querySelector('input');
        const search = (text) => {
          input.value = text;
          input.dispatchEvent(new Event('input'));
          const found = [...document.querySelectorAll('.found')].map((frame) => frame.querySelector('text').textContent);
          return [found, document.querySelector('[role=status]').textContent];
        };
        const [nested, nested_said] = search('l');
        const [found, said] = search('A');
        key(document.documentElement, 'Escape');
        const inks = [...document.querySelectorAll('.frame')].map((frame) =>
          [...frame.children].slice(1).map((child) => getComputedStyle(child).fill.match(/\\d+/g).map(Number)));
        const page = getComputedStyle(document.getElementById('page')).fill;
        const title = getComputedStyle(document.getElementById('title')).fill;
        return { whole, tile, load, found, said, nested, nested_said, again: frames(), value: input.value, inks, page, title };";
    let mut pages = Vec::new();
    for scheme in [Scheme::Light, Scheme::Dark] {
        let answer = ask_svg(browser, &trace, scheme, probe)?;
        let names = |step: &str| -> Vec<String> {
            answer[step].as_object().into_iter().flat_map(|frames| frames.keys().cloned()).collect()
        };
        assert_eq!(names("whole"), ["all", "gemm", "load", "mma", "store", "tile", "wait"]);
        assert_eq!(names("tile"), ["all", "gemm", "load", "mma", "tile", "wait"]);
        assert_eq!(names("load"), ["all", "gemm", "load", "tile"]);
        let width = |step: &str, name: &str| answer[step][name].as_f64().unwrap_or(-1.0);
        let all = width("whole", "all");
        assert!(all > 1000.0, "the frame around all has the width of the window: {all}");
        assert_eq!([width("tile", "tile"), width("load", "load"), width("load", "gemm")], [all; 3]);
        let share = |name| {
            let row = trace.stats().rows.into_iter().find(|row| row.name == name);
            row.map_or(-1.0, |row| row.ns.total)
        };
        let is = width("whole", "mma") / all;
        assert!((is - share("mma") / share("gemm")).abs() < 1e-3, "widths are shares: {is}");
        assert!(width("tile", "mma") > width("whole", "mma"));
        assert_eq!(answer["found"], serde_json::json!(["load", "wait", "mma"]));
        let said = answer["said"].as_str().and_then(|said| said.strip_prefix("3 frames, "));
        let said = said.and_then(|said| said.strip_suffix(" % of all time")?.parse().ok());
        let wanted = (share("load") + share("wait") + share("mma")) / share("gemm") * 100.0;
        assert!((said.unwrap_or(-1.0_f64) - wanted).abs() < 0.01, "{said:?} {wanted}");
        // Both frames hold an l, and one lies in the other: its time is not counted twice.
        assert_eq!(answer["nested"], serde_json::json!(["tile", "load"]));
        let of_tile = share("tile") / share("gemm") * 100.0;
        let said = answer["nested_said"].as_str().and_then(|said| said.strip_prefix("2 frames, "));
        let said = said.and_then(|said| said.strip_suffix(" % of all time")?.parse().ok());
        assert!((said.unwrap_or(-1.0_f64) - of_tile).abs() < 0.01, "{said:?} {of_tile}");
        assert_eq!(answer["again"], answer["whole"], "Escape shows everything");
        assert_eq!(answer["value"], "");
        for pair in answer["inks"].as_array().ok_or("inks")? {
            assert!(contrast(&pair[0], &pair[1]) >= 4.5, "names can be read: {pair}");
        }
        pages.push([answer["page"].clone(), answer["title"].clone()]);
    }
    assert_ne!(pages[0][0], pages[1][0], "the system decides on light and dark");
    assert_ne!(pages[0][1], pages[1][1]);
    Ok(())
}
