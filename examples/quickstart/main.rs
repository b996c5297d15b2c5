//! Adds two vectors, sums the result block by block, and shows where the time goes.

use std::process::ExitCode;

use profiler_examples::{Check, Failure, Launcher, Report, Run, run};
use profiler_host::{Profiler, include_ptx, launch};
use quickstart_kernels::{BLOCK, CHUNK, vector_add};

/// Blocks that an SM runs side by side.
const BLOCKS_PER_SM: u32 = 3;

pub(crate) fn main() -> ExitCode {
    run("quickstart", include_ptx!("quickstart_kernels"), quickstart)
}

fn quickstart(run: &Run) -> Result<Report, Failure> {
    let n = run.pick(100_000_u32, 3 << 25);
    let grid = run.pick(2, BLOCKS_PER_SM) * run.sm_count();
    let mut random = fastrand::Rng::with_seed(1);
    let mut numbers = || (0..n).map(|_| random.f32()).collect::<Vec<_>>();
    let (a_host, b_host) = (numbers(), numbers());

    let backend = run.backend();
    let (a, b) = {
        let _copies = run.host().span("copy to the device");
        (backend.upload(&a_host)?, backend.upload(&b_host)?)
    };
    let mut sum = backend.zeroed::<f32>(n as usize)?;
    let mut block_sums = backend.zeroed::<f32>(grid as usize)?;
    let (sum_out, block_sums_out) = (sum.as_mut_ptr(), block_sums.as_mut_ptr());

    // In each turn a warp writes three records (a region with a value of 32 bits takes two), and about twenty
    // at the end.
    let turns = n.div_ceil(grid * CHUNK);
    let profiler = Profiler::builder()
        .records_per_warp(3 * turns + 20)
        .for_grid(grid, BLOCK, 1)?
        .measure_record_cost()
        .build()?;
    let launch = |launcher: &mut Launcher| {
        // SAFETY: the vectors have n numbers and the sums one for each block; no kernel uses them
        // at the same time, since launches follow each other.
        unsafe {
            launch!(
                launcher,
                vector_add<<<grid, BLOCK>>>(a.as_ptr(), b.as_ptr(), sum_out, block_sums_out, n)
            )
        }
    };
    let read = || {
        let _copies = run.host().span("copy from the device");
        Ok((sum.read()?, block_sums.read()?))
    };
    let (measured, (sums, block_sums)) = run.measure_and_read(&profiler, launch, read)?;

    let pairs = || a_host.iter().zip(&b_host).map(|(&x, &y)| f64::from(x) + f64::from(y));
    let mut expected_block_sums = vec![0.0; grid as usize];
    for (i, pair) in pairs().enumerate() {
        expected_block_sums[i / CHUNK as usize % grid as usize] += pair;
    }
    let checks = vec![
        Check::relative("sums", sums.into_iter().map(f64::from).zip(pairs()), 1e-6),
        Check::relative(
            "block sums",
            block_sums.into_iter().map(f64::from).zip(expected_block_sums),
            1e-5,
        ),
    ];
    Ok(Report { measured, checks })
}
