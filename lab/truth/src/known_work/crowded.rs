//! Known work where more warps of an SM record at once than the calibration has.

use serde_json::json;

use super::beyond::{Beyond, Length};
use super::recorded::{Grid, launch, lengths};
use super::{ADDED_UP, CYCLES_MAX, FORMS, KNOWN_WORK, Subject, cases, is_whole, larger, limit};
use crate::{Failure, Report, Run, Summary};

/// Warps of a launch of one block. The subtraction promises nothing for so many: what is found is shown.
const CROWDS: [u32; 3] = [8, 16, 32];
/// Who records: one lane, one that is elected, all lanes.
const STRATEGIES: [&str; 3] = ["warp", "elected", "thread"];
/// What a single region may be off by beside as many others that record, in cycles: more passes then between a region's
/// stamp and the kernel's own reading next to it.
const CROWDED_CYCLES: f64 = 32.0;

/// What the regions of a subject show, of all lengths, depths and levels.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    regions: usize,
    /// Those that are off by more than regions of few warps may be.
    beyond: usize,
    /// Those that are off by more than 1 % and [`CROWDED_CYCLES`].
    far: usize,
    /// Of all medians the one that is farthest from 0, as recorded and after subtraction.
    raw_median: f64,
    median: f64,
    /// Of all errors.
    raw: f64,
    worst: f64,
}

impl Shown {
    fn add(&mut self, form: &str, raw: &[Length], less: &[Length]) {
        let errors = |lengths: &[Length]| Summary::of(lengths.iter().map(Length::error));
        let (Some(of_raw), Some(of_less)) = (errors(raw), errors(less)) else { return };
        let beyond = |limit: &dyn Fn(f64) -> f64| -> usize {
            Beyond::of(less, limit).iter().map(|beyond| beyond.lanes).sum()
        };
        self.regions += less.len();
        self.beyond += beyond(&|truth| limit(form, truth, 1.0));
        self.far += beyond(&|truth| limit(form, truth, 1.0).max(CROWDED_CYCLES));
        self.raw_median = larger(self.raw_median, of_raw.median);
        self.median = larger(self.median, of_less.median);
        self.raw = larger(self.raw, of_raw.worst());
        self.worst = larger(self.worst, of_less.worst());
    }

    fn part(&self, regions: usize) -> f64 {
        100.0 * regions as f64 / self.regions.max(1) as f64
    }
}

pub(crate) fn run(run: &Run, report: &mut Report) -> Result<(), Failure> {
    let cases = cases(run);
    let is_crowded = |strategy: &str| STRATEGIES.contains(&strategy);
    let kernels = KNOWN_WORK.iter().filter(|kernel| kernel.clock == "cycles");
    let kernels: Vec<_> = kernels.filter(|kernel| is_crowded(kernel.strategy)).collect();
    let mut rows = Vec::new();
    for &warps in run.pick(&CROWDS[..1], &CROWDS[..]) {
        for &kernel in kernels.iter().filter(|kernel| run.wants_kernel(kernel.name)) {
            for (form, number) in FORMS {
                let subject = Subject { kernel, grid: Grid::new(1, warps), form };
                let name = format!("{warps} warps, {subject}");
                let (trace, truths) = launch(run.backend(), subject, number, &cases)?;
                report.diagnostics(&name, &trace)?;
                if !is_whole(report, &name, &trace, &cases) {
                    continue;
                }
                let mut subtracted = trace.clone();
                subtracted.subtract_record_cost();
                let mut shown = Shown::default();
                for (launch, (case, truth)) in cases.iter().zip(&truths).enumerate() {
                    let levels = |trace| lengths(trace, launch, case, truth, subject);
                    for (raw, less) in levels(&trace)?.iter().zip(&levels(&subtracted)?) {
                        shown.add(form, raw, less);
                    }
                }
                report.line(
                    "crowded",
                    json!({
                        "warps": warps,
                        "strategy": kernel.strategy,
                        "form": form,
                        "regions": shown.regions,
                        "beyond": shown.beyond,
                        "far": shown.far,
                        "raw_median_ticks": shown.raw_median,
                        "median_ticks": shown.median,
                        "raw_worst_ticks": shown.raw,
                        "worst_ticks": shown.worst,
                    }),
                )?;
                let percent = |regions| format!("{:.2} %", shown.part(regions));
                let ticks = |ticks: f64| format!("{ticks:+.0}");
                rows.push(vec![
                    name,
                    ticks(shown.raw_median),
                    ticks(shown.median),
                    ticks(shown.raw),
                    ticks(shown.worst),
                    percent(shown.beyond),
                    percent(shown.far),
                ]);
            }
        }
    }
    report.say(&format!(
        "error = recorded - true length, in cycles; of all lengths, depths and levels the worst; \
         beyond = single regions that are off by more than 1 % and so many cycles, {CYCLES_MAX} being {} \
         more in a {}",
        ADDED_UP.1, ADDED_UP.0
    ));
    if rows.is_empty() {
        report.say("none of the kernels that were named is one of this test");
    }
    report.table(
        &[
            "case",
            "median, raw",
            "median, less cost",
            "any, raw",
            "any, less cost",
            &format!("beyond {CYCLES_MAX}"),
            &format!("beyond {CROWDED_CYCLES}"),
        ],
        &rows,
    );
    Ok(())
}
