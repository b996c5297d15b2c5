//! The table of launches, and the curves of each.

use std::collections::BTreeMap;

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{Balance, Trace, Warp};
use profiler_wire::SiteKind;
use serde_json::Value;

use crate::shown::{self, require_share, require_time};
use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

/// The number of launches that have curves.
const CURVES: usize = 16;

/// The table's contents, and the drawing and text of each launch when it is picked.
const PROBE: &str = "
    const host = document.getElementById('balance');
    const spans = [];
    report.showSpan = (from, to) => spans.push([from, to]);
    const drawn = () => {
      const [active, finish] = host.querySelectorAll('.pair > div');
      if (!active) return { text: host.textContent };
      const number = (element, name) => Number(element.getAttribute(name));
      return {
        title: active.querySelector('h3').textContent,
        points: active.querySelector('polygon').getAttribute('points').split(' ').map((point) => point.split(',').map(Number)),
        tail: number(active.querySelector('.mark'), 'x1'),
        wide: number(finish.querySelector('g > rect'), 'width'),
        bars: [...finish.querySelectorAll('rect:has(title)')].map((bar) => [bar.textContent, number(bar, 'width')]),
      };
    };
    const atFirst = drawn();
    const rows = [...document.querySelectorAll('#launches tbody tr')].map((row) => {
      row.querySelector('.pick').click();
      const cells = [...row.querySelectorAll('td.n')];
      return {
        name: row.querySelector('th').textContent, values: cells.map((cell) => Number(cell.dataset.value)),
        texts: cells.map((cell) => cell.textContent), drawn: drawn(),
        picked: [...document.querySelectorAll('#launches .picked')].map((row) => row.dataset.launch).join(),
      };
    });
    return { atFirst, rows, spans };";

/// Launches whose SMs finish at different times: with one warp at a time on each SM, with one that
/// never left, with several at a time, and with many short ones after them.
fn uneven() -> Trace {
    let mut trace = support::gpu();
    let kernel = support::site(&mut trace, SiteKind::Kernel, "uneven");
    let begin = |trace: &mut Trace, start| support::launch(trace, kernel, [8, 1, 1], start);
    // SM, entry and exit.
    let one_at_a_time = [
        (5, 0.0, 400.0),
        (5, 410.0, 900.0),
        (1, 30.0, 2000.0),
        (9, 100.0, 350.5),
        (7, 0.0, 1200.0),
        (7, 1300.0, 1310.0),
    ];
    begin(&mut trace, 0.0);
    add(&mut trace, 0.0, &one_at_a_time);
    begin(&mut trace, 5000.0);
    add(&mut trace, 5000.0, &one_at_a_time);
    trace.warps[8].exit = None;
    begin(&mut trace, 10_000.0);
    let several_at_a_time =
        [(2, 0.0, 4000.0), (2, 0.0, 4000.0), (2, 1000.0, 2500.0), (6, 0.0, 5000.0), (4, 1.0, 30.0)];
    add(&mut trace, 10_000.0, &several_at_a_time);
    for at in 0..CURVES {
        let start = 20_000.0 + 1000.0 * at as f64;
        begin(&mut trace, start);
        add(&mut trace, start, &[(at as u32, 0.0, 900.0 - at as f64), (40, 0.0, 300.0)]);
    }
    trace
}

fn add(trace: &mut Trace, start: f64, warps: &[(u32, f64, f64)]) {
    for (block, &(sm, entry, exit)) in (0..).zip(warps) {
        support::warp(trace, block, 0, sm, start + entry, start + exit);
    }
}

pub(crate) fn figures_and_curves(browser: &Browser) -> Result<(), Failed> {
    let trace = uneven();
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, PROBE)?;
    let rows = answer["rows"].as_array().ok_or("rows")?;
    assert_eq!(rows.len(), trace.launches.len());
    let mut lengths: Vec<f64> =
        trace.launches.iter().map(|launch| launch.end_ns - launch.start_ns).collect();
    lengths.sort_by(|left, right| right.total_cmp(left));
    for (at, row) in rows.iter().enumerate() {
        let balance = trace.balance(at).ok_or("a launch with warps")?;
        require_figures(&trace, row, &balance)?;
        if balance.span_ns >= lengths[CURVES - 1] {
            require_curves(&trace, &row["drawn"], &balance)?;
        } else {
            let text =
                format!("Launch {at} has no curves in this page: only the {CURVES} longest have.");
            assert_eq!(row["drawn"]["text"], text.as_str());
        }
        assert_eq!(row["picked"], at.to_string().as_str(), "its row alone is marked");
    }
    // The longest is shown from the start.
    require_curves(&trace, &answer["atFirst"], &trace.balance(2).ok_or("a launch")?)?;
    let spans: Vec<[f64; 2]> = serde_json::from_value(answer["spans"].clone())?;
    let wanted = trace.launches.iter().map(|launch| [launch.start_ns, launch.end_ns]);
    assert!(spans.iter().copied().eq(wanted), "the timeline shows what is picked: {spans:?}");
    Ok(())
}

/// Requires the figures of a row of the table.
fn require_figures(trace: &Trace, row: &Value, balance: &Balance) -> Result<(), Failed> {
    let never_left = match balance.never_left {
        0 => String::new(),
        1 => " 1 warp never left".to_owned(),
        warps => format!(" {warps} warps never left"),
    };
    assert_eq!(row["name"], format!("uneven #{}{never_left}", balance.launch).as_str());
    let imbalance = balance.sms.imbalance();
    let done = balance.sms_done;
    let tail = balance.span_ns - done.min_ns;
    let idle = 1.0 - done.mean_ns / balance.span_ns;
    let wanted = [
        trace.launches[balance.launch].start_ns,
        balance.span_ns,
        balance.warps.count as f64,
        balance.sms.count as f64,
        imbalance,
        tail,
        idle,
    ];
    let values: Vec<f64> = serde_json::from_value(row["values"].clone())?;
    // They were put together in another order.
    let is_same = |(value, wanted): (&f64, &f64)| (value - wanted).abs() <= 1e-12 * wanted.abs();
    assert!(values.len() == 7 && values.iter().zip(&wanted).all(is_same), "{values:?} {wanted:?}");
    let texts: Vec<String> = serde_json::from_value(row["texts"].clone())?;
    require_time(&texts[0], wanted[0])?;
    require_time(&texts[1], balance.span_ns)?;
    // If only some warps of a launch recorded, the table has the total, too.
    let (recorded, of_all) = texts[2].split_once(" of ").unwrap_or((&texts[2], &texts[2]));
    let counts = [shown::count(recorded)?, shown::count(of_all)?, shown::count(&texts[3])?];
    let all = balance.warps.count + balance.unrecorded;
    assert_eq!(counts, [balance.warps.count, all, balance.sms.count]);
    require_share(&texts[4], imbalance)?;
    require_time(&texts[5], tail)?;
    require_share(&texts[6], idle)
}

/// When the last warp of each SM left, since the launch's start, and the time of its warps.
fn sms(trace: &Trace, launch: usize) -> BTreeMap<u32, (f64, f64)> {
    let of = &trace.launches[launch];
    let mut sms: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for warp in &trace.warps[of.warps.clone()] {
        let exit = warp.exit.map_or(of.end_ns, |exit| exit.ns);
        let (done, time) = sms.entry(warp.sm).or_default();
        *done = done.max(exit - of.start_ns);
        *time += exit - warp.entry.ns;
    }
    sms
}

/// The most warps of a launch that run at one time, which is when one of them enters.
fn most_at_once(trace: &Trace, launch: usize) -> usize {
    let of = &trace.launches[launch];
    let warps = &trace.warps[of.warps.clone()];
    let is_running = |warp: &Warp, ns: f64| {
        warp.entry.ns <= ns && ns < warp.exit.map_or(of.end_ns, |exit| exit.ns)
    };
    let at = |ns: f64| warps.iter().filter(|warp| is_running(warp, ns)).count();
    warps.iter().map(|warp| at(warp.entry.ns)).max().unwrap_or_default()
}

/// Requires what is drawn and said of a launch.
fn require_curves(trace: &Trace, drawn: &Value, balance: &Balance) -> Result<(), Failed> {
    let (launch, length) = (balance.launch, balance.span_ns);
    assert_eq!(drawn["title"], format!("Warps in the kernel, launch {launch}").as_str());
    // The SMs finish in this order, and the curve's mean and tail are those of the trace.
    let points: Vec<[f64; 2]> = serde_json::from_value(drawn["points"].clone())?;
    let ([_, high], [wide, _]) = (points[0], points[points.len() - 1]);
    // Between the first and the last point, which are on the axis, each stretch has two.
    let stretches: Vec<&[[f64; 2]]> = points[1..points.len() - 1].chunks(2).collect();
    assert_eq!(stretches.len(), 256);
    let peak = most_at_once(trace, launch) as f64;
    let levels = stretches.iter().map(|ends| (1.0 - ends[0][1] / high) * peak);
    let mean = levels.sum::<f64>() / 256.0;
    let running = balance.warps.mean_ns * balance.warps.count as f64 / length;
    assert!((mean - running).abs() < 1e-4, "launch {launch}: {mean}");
    let tail = drawn["tail"].as_f64().ok_or("the tail")? / wide * length;
    assert!((tail - balance.sms_done.min_ns).abs() < 1e-6, "launch {launch}: {tail}");

    let mut sms: Vec<(u32, (f64, f64))> = sms(trace, launch).into_iter().collect();
    sms.sort_by(|left, right| left.1.0.total_cmp(&right.1.0));
    let bars: Vec<(String, f64)> = serde_json::from_value(drawn["bars"].clone())?;
    assert_eq!(bars.len() as u64, balance.sms.count);
    let full = drawn["wide"].as_f64().ok_or("a width")?;
    for ((text, width), (sm, (done, time))) in bars.iter().zip(sms) {
        let said = text.strip_prefix(&format!("SM {sm}: finished at "));
        let said = said.and_then(|said| said.strip_suffix(" in all"));
        let parts =
            said.and_then(|said| said.split_once("; its warps spent ")).ok_or(text.as_str())?;
        require_rounded(parts.0, done)?;
        require_rounded(parts.1, time)?;
        assert!((width / full * length - done).abs() <= 0.5 + 1e-6, "{text}: {width} of {full}");
    }
    Ok(())
}

/// The page holds these times in whole nanoseconds.
fn require_rounded(text: &str, ns: f64) -> Result<(), Failed> {
    require_time(text, ns.round())
}
