//! Softmax over rows of unequal length: divergence, load imbalance, a branch without lane 0.

use std::process::ExitCode;

use example_kernels::softmax::{BLOCK, BLOCKS_PER_SM, SHORT, softmax};
use profiler_examples::{Check, Failure, Report, Run, run};
use profiler_host::{Profiler, include_ptx, launch};

/// Of so many rows, one is long.
const ROWS_PER_LONG_ROW: u32 = 8;

fn main() -> ExitCode {
    run("softmax", include_ptx!("softmax"), example)
}

fn example(run: &Run) -> Result<Report, Failure> {
    let rows = run.pick(96, 32_768);
    let longest = run.pick(4_096.0, 65_536.0);
    let grid = run.pick(1, BLOCKS_PER_SM) * run.sm_count();
    let mut random = fastrand::Rng::with_seed(2);
    let mut offsets = vec![0];
    let mut end = 0;
    for _ in 0..rows {
        end += if random.u32(..ROWS_PER_LONG_ROW) == 0 {
            // As many rows between 1000 and 2000 as between 2000 and 4000.
            (f64::from(SHORT) * (longest / f64::from(SHORT)).powf(random.f64())) as u32 + 1
        } else {
            random.u32(0..=SHORT)
        };
        offsets.push(end);
    }
    let input_host: Vec<f32> = (0..end).map(|_| random.f32() * 16.0 - 8.0).collect();

    let backend = run.backend();
    let (input, offsets_in) = (backend.upload(&input_host)?, backend.upload(&offsets)?);
    let mut output = backend.zeroed::<f32>(input_host.len())?;
    let (input_in, output_out) = (input.as_ptr(), output.as_mut_ptr());
    let offsets_in = offsets_in.as_ptr();

    // How much a warp records depends on its rows: a first run that only counts finds it out.
    let profiler =
        Profiler::builder().measure_record_cost().build()?.infer_capacity(|counting| {
            let mut session = backend.session(counting)?;
            // SAFETY: as below.
            unsafe {
                launch!(session, softmax<<<grid, BLOCK>>>(input_in, output_out, offsets_in, rows))
            }?;
            session.capture()
        })?;
    let measured = run.measure(&profiler, |launcher| {
        // SAFETY: there are rows + 1 offsets, which rise to the length of input and output; buffers
        // are aligned to 256 bytes; launches follow each other.
        unsafe {
            launch!(launcher, softmax<<<grid, BLOCK>>>(input_in, output_out, offsets_in, rows))
        }
    })?;

    let expected =
        offsets.windows(2).flat_map(|row| reference(&input_host[row[0] as usize..row[1] as usize]));
    let pairs = output.read()?.into_iter().map(f64::from).zip(expected);
    Ok(Report { measured, checks: vec![Check::relative("elements", pairs, 1e-5)] })
}

/// The softmax of one row in double precision.
fn reference(row: &[f32]) -> Vec<f64> {
    let maximum = row.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f64> = row.iter().map(|&x| (f64::from(x) - f64::from(maximum)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
