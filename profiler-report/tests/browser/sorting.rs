//! Tables whose columns sort.

use libtest_mimic::Failed;
use profiler_report::ReportOptions;
use profiler_trace::{SiteStats, Trace, Value as Carried};
use profiler_wire::SiteKind;

use crate::tool::{Browser, Scheme};
use crate::{ask, page, support};

/// The order of the rows, by their place in the page before anything was sorted, after each click on
/// the header of each column, and the directions that the headers then tell.
const PROBE: &str = "
    const sorted = (id) => {
      const table = document.getElementById(id);
      const rows = [...table.tBodies[0].rows];
      const heads = [...table.tHead.rows[0].cells];
      const columns = [];
      for (const head of heads) {
        const button = head.querySelector('button');
        if (!button) continue;
        const turns = [];
        for (let turn = 0; turn < 3; turn += 1) {
          button.click();
          const told = heads.filter((other) => other.hasAttribute('aria-sort'));
          turns.push([told.map((other) => `${other.textContent} ${other.getAttribute('aria-sort')}`).join(),
            [...table.tBodies[0].rows].map((row) => rows.indexOf(row))]);
        }
        columns.push([head.textContent, turns]);
      }
      return columns;
    };
    const [regions, launches] = ['regions', 'launches'].map(sorted);
    // A row that has moved is picked as itself.
    const picked = [...document.querySelectorAll('#regions .pick')].map((button) => {
      button.click();
      return [button.textContent, document.querySelector('#distribution strong').textContent];
    });
    const [first] = document.querySelectorAll('#launches tbody .pick');
    first.click();
    const launch = [first.textContent, document.querySelector('#balance h3').textContent];
    return { regions, launches, picked, launch };";

/// Of a column: its title, and after each click what the headers tell and where the rows are.
type Column = (String, Vec<(String, Vec<usize>)>);

/// Two kernels, counts and rates whose order as text is another, and figures that are equal.
fn unsorted() -> Trace {
    let mut trace = support::large(4000);
    let kernel = support::site(&mut trace, SiteKind::Kernel, "copy");
    let names = ["few", "nine", "many", "rare", "also rare"];
    let sites = names.map(|name| support::site(&mut trace, SiteKind::Region, name));
    let mut start = trace.launches[1].end_ns + 1000.0;
    for (launch, count) in [(2_u32, 9_u32), (3, 100), (4, 30)] {
        support::launch(&mut trace, kernel, [1, 1, 1], start);
        let length = 100.0 * f64::from(count) + 5.0;
        support::warp(&mut trace, 0, 0, launch, start, start + length);
        for at in 0..count {
            let begin = start + 100.0 * f64::from(at);
            let site = sites[if launch == 2 { 1 } else { 2 }];
            support::region(&mut trace, site, (begin, begin + 3.0 * f64::from(launch)), 0);
        }
        for (site, from, ns) in [(0, 40.0, 1.5), (3, 50.0, 2.0), (4, 60.0, 2.0)] {
            let begin = start + from;
            support::region(&mut trace, sites[site], (begin, begin + ns), 0);
        }
        start += length + 500.0 * f64::from(launch);
    }
    for (site, bytes) in [(2, 900_u64), (8, 64), (9, 70_000)] {
        trace.sites[site].unit = Some("bytes".to_owned());
        let regions = trace.warps.iter_mut().flat_map(|warp| &mut warp.regions);
        for region in regions.filter(|region| region.site.0 as usize == site) {
            region.value = Some(Carried::Unsigned(bytes));
        }
    }
    trace
}

pub(crate) fn columns_sort(browser: &Browser) -> Result<(), Failed> {
    let trace = unsorted();
    let answer = ask(browser, &page(&trace, &ReportOptions::default())?, Scheme::Light, PROBE)?;
    let rows = trace.stats().rows;
    type Figure = fn(&SiteStats) -> f64;
    let columns: [(&str, Figure); 10] = [
        ("count", |row| row.count as f64),
        ("total", |row| row.ns.total),
        ("mean", |row| row.ns.mean),
        ("std dev", |row| row.ns.standard_deviation),
        ("p50", |row| row.ns.p50),
        ("p95", |row| row.ns.p95),
        ("p99", |row| row.ns.p99),
        ("max", |row| row.ns.max),
        ("share", |row| row.share),
        ("throughput", |row| row.throughput.as_ref().map_or(0.0, |flow| flow.per_second)),
    ];
    let columns = columns.map(|(title, of)| (title, rows.iter().map(of).collect()));
    let seen: Vec<Column> = serde_json::from_value(answer["regions"].clone())?;
    require_orders(&seen, &columns)?;

    let balances: Vec<_> = (0..trace.launches.len()).filter_map(|at| trace.balance(at)).collect();
    let of = |figure: &dyn Fn(usize) -> f64| (0..balances.len()).map(figure).collect::<Vec<_>>();
    let done = |at: usize| balances[at].sms_done;
    let columns: [(&str, Vec<f64>); 7] = [
        ("starts at", of(&|at| trace.launches[at].start_ns)),
        ("kernel time", of(&|at| balances[at].span_ns)),
        ("warps", of(&|at| balances[at].warps.count as f64)),
        ("SMs", of(&|at| balances[at].sms.count as f64)),
        ("imbalance", of(&|at| balances[at].sms.imbalance())),
        ("tail", of(&|at| balances[at].span_ns - done(at).min_ns)),
        ("SM idle", of(&|at| 1.0 - done(at).mean_ns / balances[at].span_ns)),
    ];
    let seen: Vec<Column> = serde_json::from_value(answer["launches"].clone())?;
    require_orders(&seen, &columns)?;

    let picked: Vec<[String; 2]> = serde_json::from_value(answer["picked"].clone())?;
    assert_eq!(picked.len(), rows.len());
    assert!(picked.iter().all(|[button, figure]| button == figure), "{picked:?}");
    let [button, title]: [String; 2] = serde_json::from_value(answer["launch"].clone())?;
    let number = |text: &str| text.rsplit([' ', '#']).next().map(str::to_owned);
    assert_eq!(number(&button), number(&title), "{button}, {title}");
    Ok(())
}

/// Requires that the rows are in order of the figures: first the greatest, then the least, then the
/// greatest again.
fn require_orders(seen: &[Column], columns: &[(&str, Vec<f64>)]) -> Result<(), Failed> {
    let titles: Vec<&str> = seen.iter().map(|(title, _)| title.as_str()).collect();
    let wanted: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, wanted);
    for ((title, turns), (_, figures)) in seen.iter().zip(columns) {
        assert_eq!(turns.len(), 3);
        for ((told, order), direction) in
            turns.iter().zip(["descending", "ascending", "descending"])
        {
            assert_eq!(told, &format!("{title} {direction}"), "one header tells the order");
            let mut sorted = figures.clone();
            sorted.sort_by(f64::total_cmp);
            if direction == "descending" {
                sorted.reverse();
            }
            let mut all = order.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..figures.len()), "no row is lost: {order:?}");
            let shown: Vec<f64> = order.iter().map(|&row| figures[row]).collect();
            // Of figures that were put together in another order, the last digits may differ.
            let is_same = |(shown, sorted): (&f64, &f64)| {
                (shown - sorted).abs() < 1e-9 * sorted.abs().max(1e-3)
            };
            assert!(shown.iter().zip(&sorted).all(is_same), "{title}, {direction}: {shown:?}");
        }
    }
    Ok(())
}
