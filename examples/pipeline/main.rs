//! Producer warps copy tiles, consumer warps compute on them, and arrows show who waited for whom;
//! see `docs/examples/pipeline.md`.

use std::process::ExitCode;

use example_kernels::pipeline::{BLOCK, COLUMNS, Chunk, ROWS, pipeline, terms_of};
use profiler_examples::{Check, Failure, Report, Run, run};
use profiler_host::{Profiler, include_ptx, launch};

/// Terms of the first half of the tiles, which wait for copies, and of the second, whose copies
/// wait for sums.
const TERMS: [u32; 2] = [2, 256];
/// The most that a sum may differ from the closed form, relative to it: a few roundings in f32.
const ERROR_MAX: f64 = 1e-5;

fn main() -> ExitCode {
    run("pipeline", include_ptx!("pipeline"), example)
}

fn example(run: &Run) -> Result<Report, Failure> {
    // One block on each SM.
    let blocks = run.sm_count();
    let tiles = blocks * run.pick(12, 64);
    let rows = (tiles * ROWS) as usize;
    let elements = random(rows * COLUMNS as usize);
    let input = run.backend().upload(&elements)?;
    let mut output = run.backend().zeroed::<f32>(rows)?;
    let (from, to) = (input.as_ptr().cast::<Chunk>(), output.as_mut_ptr());
    let profiler = Profiler::builder().build()?;
    let measured = run.measure(&profiler, |launcher| {
        let [early, late] = TERMS;
        // SAFETY: the buffers hold this many tiles and rows, and are aligned to 256 bytes.
        unsafe { launch!(launcher, pipeline<<<blocks, BLOCK>>>(from, to, tiles, early, late)) }
    })?;
    let sums = output.read()?;
    let references = elements.chunks_exact(COLUMNS as usize).enumerate().map(|(row, elements)| {
        let terms = terms_of(row as u32 / ROWS, tiles, TERMS);
        elements.iter().map(|&x| power_sum(x.into(), terms)).sum::<f64>()
    });
    let pairs = sums.iter().copied().map(f64::from).zip(references);
    Ok(Report { measured, checks: vec![Check::relative("sums of rows", pairs, ERROR_MAX)] })
}

/// The closed form of 1 + x + x^2 + .. , `terms` terms.
fn power_sum(x: f64, terms: u32) -> f64 {
    (1.0 - x.powf(f64::from(terms))) / (1.0 - x)
}

/// `count` numbers from -0.75 to 0.75, the same in every run.
fn random(count: usize) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(1);
    std::iter::repeat_with(|| 1.5 * random.f32() - 0.75).take(count).collect()
}
