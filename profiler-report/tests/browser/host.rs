//! The rows of the host's threads.

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use serde_json::Value;

use crate::support;
use crate::tool::{Browser, Scheme, contrast};
use crate::{KEYS, ask, page};

/// Code that the probes below share: pixels and hovering.
const TOOLS: &str = "
    const image = () => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return (x, y) => [...data.slice(4 * (Math.floor(y) * canvas.width + Math.floor(x)))].slice(0, 3);
    };
    const rgb = (name) => report.css(name).match(/\\d+/g).map(Number);
    const hover = (x, y) => {
      const box = canvas.getBoundingClientRect();
      canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + y }));
      const tip = document.getElementById('tip');
      return tip.hidden ? '' : tip.textContent;
    };
    const buttons = [...document.querySelectorAll('.controls button')].map((button) => button.textContent);
    // Where a moment of the whole is on the canvas when all of it is shown.
    const { limits } = report.data.host;
    const at = (ns) => 104 + (ns - limits.start) / (limits.end - limits.start) * (viewport.clientWidth - 104);";

/// Each thread is a row above the SMs, with spans in their place, layers, hover, keys and contrast.
pub(crate) fn host_rows(browser: &Browser, scheme: Scheme) -> Result<(), Failed> {
    let mut trace = support::large(3000);
    support::host(&mut trace, 1000.0);
    let second = trace.launches[1].start_ns;
    let end = trace.launches[1].end_ns;
    let probe = format!(
        "{KEYS} {TOOLS}
        await key('0');
        // Below the axis: three layers of the first thread, of 13 pixels each, then the second.
        const pixel = image();
        const [step, call, late, early] = [32, 45, 45, 26 + 2 * 13 + 4 + 6];
        const answer = {{
          buttons, note: document.getElementById('timeline-notes').textContent,
          limits, threads: report.hostRows.threads.map(({{ name, spans, layers }}) => [name, spans.length, layers]),
          step: hover(at(5000), step), call: hover(at({second} - 250), call),
          late: hover(at({end} + 100), late), early: hover(at(-800), early), nothing: hover(at(-950), step),
          pixels: [pixel(at({second} - 250), call), pixel(at(-200), step), pixel(at(-950), step)],
          // Where nothing is drawn the canvas lets the page through.
          colors: [rgb('--host-launch'), rgb('--host'), [0, 0, 0]],
          inks: ['--host-launch', '--host'].map((name) => report.inkOn(report.css(name))),
        }};
        await key('ArrowDown');
        answer.row = text();
        await key('n');
        answer.first = text();
        await key('n');
        answer.next = text();
        const before = canvas.toDataURL();
        await key('Enter');
        answer.stays = before === canvas.toDataURL();
        await key('k');
        answer.kernels = before !== canvas.toDataURL();
        return answer;"
    );
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, scheme, &probe)?;
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    assert!(answer["buttons"].as_array().is_some_and(|all| all.contains(&"Show kernels".into())));
    let note = text("note");
    assert!(note.contains("2 threads, 3 spans, 2 launch calls, within 40 ns of the"), "{note}");
    assert!(!note.contains("opens at the kernels"), "{note}");
    assert_eq!(limits(&answer), [-1000.0, end + 300.0]);
    assert_eq!(answer["threads"], serde_json::json!([["main", 4, 2], ["<b>loader</b>", 1, 1]]));
    let whose = "; thread main of the host";
    assert_eq!(text("step"), format!("step: {}\nat -900 ns{whose}", duration(end + 900.0)));
    assert!(
        text("call").starts_with("gemm: 300 ns, the call of launch #1, which began 400 ns after"),
        "{answer}"
    );
    assert!(text("late").starts_with("late: 500 ns\n"), "{answer}");
    assert!(text("early").starts_with("read <file>: 1.1 µs\nat -1 µs; thread <b>loader</b>"));
    assert_eq!(text("nothing"), "");
    assert_eq!(answer["pixels"], answer["colors"]);
    for (color, ink) in [0, 1].map(|at| (&answer["colors"][at], &answer["inks"][at])) {
        let ink = if ink == "#000" { [0; 3] } else { [255; 3] };
        let contrast = contrast(color, &Value::from(ink.to_vec()));
        assert!(contrast >= 4.5, "names can be read: {contrast} on {color}");
    }
    assert_eq!(text("row"), "host main");
    assert!(text("first").starts_with("step: "), "{answer}");
    assert!(text("next").starts_with("gemm: 199.5 ns, the call of launch #0"), "{answer}");
    assert_eq!((&answer["stays"], &answer["kernels"]), (&true.into(), &true.into()));
    Ok(())
}

/// The extent of the timeline.
fn limits(answer: &Value) -> [f64; 2] {
    ["start", "end"].map(|end| answer["limits"][end].as_f64().unwrap_or(f64::NAN))
}

/// As the page writes it.
fn duration(ns: f64) -> String {
    let digits = format!("{:.*}", 3 - (ns / 1000.0).log10().floor() as usize, ns / 1000.0);
    format!("{} µs", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// The timeline opens at the kernels, and `0` shows everything.
pub(crate) fn long_host(browser: &Browser) -> Result<(), Failed> {
    let probe = format!(
        "{KEYS} {TOOLS}
        const of = () => hover(at(-4e9), 26 + 2 * 13 + 4 + 6);
        const home = [of(), hover(110, 32)];
        await key('0');
        return {{ buttons, limits, home, all: of(), note: document.getElementById('timeline-notes').textContent }};"
    );
    let mut trace = support::large(3000);
    support::host(&mut trace, 5e9);
    let options = ReportOptions::default();
    let answer = ask(browser, &page(&trace, &options)?, Scheme::Light, &probe)?;
    assert!(answer["home"][1].as_str().is_some_and(|text| text.starts_with("step: ")), "{answer}");
    assert!(answer["all"].as_str().is_some_and(|text| text.starts_with("read <file>: 5 s\n")));
    assert!(answer["note"].as_str().is_some_and(|text| text.contains("opens at the kernels")));

    // A window cuts what the host did as well.
    let window = ReportOptions { window: Some(-600.0..2000.0), ..ReportOptions::default() };
    let answer = ask(browser, &page(&trace, &window)?, Scheme::Light, &probe)?;
    assert_eq!(limits(&answer), [-600.0, 2000.0]);
    let outside = trace.host.spans().filter(|span| span.start_ns > 2000.0).count();
    let said = format!("Of these, {outside} spans lie outside of the window");
    assert!(answer["note"].as_str().is_some_and(|note| note.contains(&said)), "{answer}");

    // Without a host there is neither a row nor a button.
    trace.host.threads.clear();
    let answer = ask(browser, &page(&trace, &options)?, Scheme::Light, &probe)?;
    let buttons = answer["buttons"].as_array().ok_or("buttons")?;
    assert!(!buttons.is_empty() && !buttons.contains(&"Show kernels".into()), "{answer}");
    assert!(answer["note"].as_str().is_some_and(|text| !text.contains("host")), "{answer}");
    Ok(())
}
