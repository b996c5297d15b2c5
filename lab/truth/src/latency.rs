//! Loads that depend on each other: their latency in regions, and between two clock readings.

use profiler_host::{Profiler, Trace, launch};
use serde_json::json;
use truth_kernels::{CHAIN, NODE_BYTES, Node, PLAIN_LOADS, SINGLES, chase, link};

use crate::{Failure, Report, Run, Summary};

/// Where the loads hit, and the logarithm of the number of nodes.
const SMALL: [(&str, u32); 1] = [("L1", 7)];
const FULL: [(&str, u32); 3] = [("L1, 16 KiB", 7), ("L2, 8 MiB", 16), ("HBM, 1 GiB", 23)];
/// Of the cycle of nodes: see [`link`].
const MULTIPLIER: u32 = 0x9e37_79b5;
const INCREMENT: u32 = 0x7f4a_7c15;
/// No more nodes than this are visited before the measurement.
const WARM_UP_MAX: u32 = 1 << 17;
/// What a chain may be wrong by: this part of its length, or so many cycles.
const PART_MAX: f64 = 0.02;
const CYCLES_MAX: f64 = 8.0;

/// What was found of one footprint, in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Latency {
    /// Of a load, without regions; over the rounds.
    plain: Summary,
    /// Of a load of a chain in a region, over the rounds; raw, and less the cost of recording.
    chain: Summary,
    chain_subtracted: Summary,
    /// Of a load in a region of its own; raw, and less the cost of recording.
    single: Summary,
    single_subtracted: Summary,
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let rounds = run.pick(2, 16);
    let mut rows = Vec::new();
    for &(place, log_count) in run.pick(&SMALL[..], &FULL[..]) {
        let (trace, plain) = measure(run, log_count, rounds)?;
        report.diagnostics(place, &trace)?;
        let found = evaluate(&trace, &plain)?;
        let loads = f64::from(CHAIN);
        let off = loads * (found.chain_subtracted.median - found.plain.median);
        let limit = (PART_MAX * loads * found.plain.median).max(CYCLES_MAX);
        report.require(off.abs() <= limit, || {
            format!(
                "{place}: a chain of {CHAIN} loads is {off:+.0} cycles off (limit {limit:.0}); a \
                 load takes {:.1} cycles in it and {:.1} without regions",
                found.chain_subtracted.median, found.plain.median
            )
        });
        report.line(
            "latency",
            json!({
                "place": place,
                "bytes": NODE_BYTES << log_count,
                "plain_cycles": found.plain.json(),
                "chain_cycles": found.chain.json(),
                "chain_subtracted_cycles": found.chain_subtracted.json(),
                "single_cycles": found.single.json(),
                "single_subtracted_cycles": found.single_subtracted.json(),
                "chain_off_cycles": off,
                "limit_cycles": limit,
            }),
        )?;
        let mut row = vec![place.to_owned()];
        row.extend(
            [
                found.plain,
                found.chain,
                found.chain_subtracted,
                found.single,
                found.single_subtracted,
            ]
            .map(|summary| format!("{:.1}", summary.median)),
        );
        row.push(format!("{off:+.1}"));
        row.push(format!("{limit:.1}"));
        rows.push(row);
    }
    report.say(&format!(
        "cycles of a dependent load (medians): between two clock readings, in regions of {CHAIN} \
         loads, in regions of one"
    ));
    report.table(
        &[
            "footprint",
            "plain",
            "chain",
            "less cost",
            "single",
            "less cost",
            "chain off by",
            "limit",
        ],
        &rows,
    );
    Ok(())
}

/// The trace, and the cycles of the plain loads of each round.
fn measure(run: &Run, log_count: u32, rounds: u32) -> Result<(Trace, Vec<u64>), Failure> {
    const BLOCK: u32 = 128;
    let count = 1_u32 << log_count;
    let mut nodes = run.backend.zeroed::<u64>((count as usize) * NODE_BYTES / size_of::<u64>())?;
    let nodes_out = nodes.as_mut_ptr().cast::<Node>();
    let grid = count.div_ceil(BLOCK);
    // SAFETY: the buffer has room for `count` nodes, and buffers are aligned to 256 bytes.
    unsafe {
        launch!(
            run.backend,
            link<<<grid, BLOCK>>>(nodes_out, log_count, MULTIPLIER, INCREMENT)
        )
    }?;
    let regions = rounds * (PLAIN_LOADS / CHAIN + SINGLES);
    let profiler = Profiler::builder()
        .records_per_warp(2 * regions + 8)
        .for_grid(1, 1, 1)
        .measure_record_cost()
        .build()?;
    let mut plain = run.backend.zeroed::<u64>(2 * rounds as usize)?;
    let plain_out = plain.as_mut_ptr();
    let mut session = run.backend.session(&profiler)?;
    let warm_up = (2 * count).min(WARM_UP_MAX);
    // SAFETY: linked before, in the same stream; two numbers a round.
    unsafe {
        launch!(session, chase<<<1, 1>>>(nodes_out.cast_const(), plain_out, rounds, warm_up))
    }?;
    let trace = session.finish()?;
    Ok((trace, plain.read()?.chunks(2).map(|round| round[0]).collect()))
}

fn evaluate(trace: &Trace, plain: &[u64]) -> Result<Latency, Failure> {
    let mut subtracted = trace.clone();
    subtracted.subtract_record_cost();
    let rounds = plain.len();
    let chains = (PLAIN_LOADS / CHAIN) as usize;
    let of_name = |trace: &Trace, name: &str, expected: usize| -> Result<Vec<f64>, Failure> {
        let regions = trace.warps.iter().flat_map(|warp| &warp.regions);
        let named = regions.filter(|region| trace.site(region.site).name == name);
        let lengths: Vec<f64> = named
            .filter_map(|region| Some(region.end?.ticks.saturating_sub(region.start.ticks) as f64))
            .collect();
        if lengths.len() != expected {
            return Err(format!("{} regions \"{name}\", not {expected}", lengths.len()).into());
        }
        Ok(lengths)
    };
    let none = || "nothing was measured";
    let chain = |trace: &Trace| -> Result<Summary, Failure> {
        let lengths = of_name(trace, "chain", rounds * chains)?;
        let of_round = |round: &[f64]| round.iter().sum::<f64>() / f64::from(PLAIN_LOADS);
        Ok(Summary::of(lengths.chunks(chains).map(of_round)).ok_or_else(none)?)
    };
    let single = |trace: &Trace| -> Result<Summary, Failure> {
        let lengths = of_name(trace, "load", rounds * SINGLES as usize)?;
        Ok(Summary::of(lengths).ok_or_else(none)?)
    };
    let per_load = plain.iter().map(|&cycles| cycles as f64 / f64::from(PLAIN_LOADS));
    Ok(Latency {
        plain: Summary::of(per_load).ok_or_else(none)?,
        chain: chain(trace)?,
        chain_subtracted: chain(&subtracted)?,
        single: single(trace)?,
        single_subtracted: single(&subtracted)?,
    })
}
