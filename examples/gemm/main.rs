//! Multiplies two bf16 matrices on tensor cores and shows what its warps wait for; see
//! `docs/examples/gemm.md`.

use std::process::ExitCode;

use example_kernels::gemm::{BLOCK, SHARED_BYTES, TILE_M, TILE_N, bf16_to_f32, f32_to_bf16, gemm};
use profiler_examples::{Check, Failure, Measured, Report, Run, Size, Timing, run};
use profiler_host::{Profiler, include_ptx, launch};

/// The most that an element of C may differ from the reference, as a part of C's root mean square.
/// Tensor cores sum in f32, but do not round to nearest at each step.
const ERROR_MAX: f64 = 1e-3;
/// How many rows of C are checked, spread over all of them.
const ROWS_CHECKED: usize = 32;
/// At full size the trace shows every fourth block, from the first wave of blocks to the last, and
/// stays small enough for a viewer.
const FULL_BLOCK_STRIDE: u32 = 4;

/// The problem: A is m x k, B is k x n.
#[derive(Clone, Copy)]
struct Extents {
    m: u32,
    n: u32,
    k: u32,
}

fn main() -> ExitCode {
    run("gemm", include_ptx!("gemm"), example)
}

fn example(run: &Run) -> Result<Report, Failure> {
    let extents =
        run.pick(Extents { m: 256, n: 256, k: 320 }, Extents { m: 4096, n: 4096, k: 4096 });
    let Extents { m, n, k } = extents;
    let a = random_bf16(m as usize * k as usize, 1);
    let b = random_bf16(k as usize * n as usize, 2);
    let (a_buffer, b_buffer) = (run.backend().upload(&a)?, run.backend().upload(&b)?);
    let mut c_buffer = run.backend().zeroed::<f32>(m as usize * n as usize)?;
    let (from_a, from_b, to_c) = (a_buffer.as_ptr(), b_buffer.as_ptr(), c_buffer.as_mut_ptr());
    let grid = (n / TILE_N, m / TILE_M);
    let measure = |profiler: &Profiler| {
        run.measure(profiler, |launcher| {
            // SAFETY: the buffers hold matrices of these extents, aligned to 256 bytes; the extents
            // are whole tiles, and the launch is the one that the kernel asks for.
            unsafe {
                launch!(
                    launcher,
                    gemm<<<grid, BLOCK, SHARED_BYTES>>>(from_a, from_b, to_c, n, k)
                )
            }
        })
    };
    let mut measured = measure(&Profiler::builder().build()?)?;
    if run.size() == Size::Full {
        let selected = Profiler::builder().block_stride(FULL_BLOCK_STRIDE).build()?;
        measured = with_trace_of(measured, measure(&selected)?);
    }
    if let Some(timing) = measured.timing {
        print_rates(extents, timing);
    }
    let pairs = compare(extents, &a, &b, &c_buffer.read()?);
    let check =
        Check::absolute("elements of C, as parts of its root mean square", pairs, ERROR_MAX);
    Ok(Report { measured, checks: vec![check] })
}

/// What recording all blocks costs, with the trace of a run that recorded some.
fn with_trace_of(all: Measured, some: Measured) -> Measured {
    let timing = all.timing.zip(some.timing);
    let timing = timing.map(|(all, some)| Timing { traced: some.traced, ..all });
    Measured { timing, ..some }
}

#[allow(clippy::print_stdout, reason = "part of the example's output")]
fn print_rates(Extents { m, n, k }: Extents, timing: Timing) {
    let operations = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
    let [plain, profiled] =
        [timing.plain, timing.profiled].map(|time| operations / time.as_secs_f64() / 1e12);
    println!(
        "rate: {plain:.1} TFLOP/s without profiling, {profiled:.1} TFLOP/s with all blocks recorded"
    );
}

/// `count` numbers from -0.5 to 0.5 as bf16, the same for the same seed.
fn random_bf16(count: usize, seed: u64) -> Vec<u16> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| f32_to_bf16(random.f32() - 0.5)).take(count).collect()
}

/// Pairs of an element of `c` and its reference, a sum in f64, of all the columns of the rows that
/// are checked; both divided by the root mean square that elements of C have.
fn compare(Extents { m, n, k }: Extents, a: &[u16], b: &[u16], c: &[f32]) -> Vec<(f64, f64)> {
    let [m, n, k] = [m, n, k].map(|extent| extent as usize);
    // Numbers spread evenly from -1/2 to 1/2 have a mean square of 1/12.
    let root_mean_square = (k as f64).sqrt() / 12.0;
    let rows = ROWS_CHECKED.min(m);
    let mut pairs = Vec::with_capacity(rows * n);
    for check in 0..rows {
        // One row in each of as many equal parts of C, at another place in each.
        let part = m / rows;
        let row = check * part + check * 37 % part;
        let mut references = vec![0.0; n];
        for (&a, b) in a[row * k..][..k].iter().zip(b.chunks_exact(n)) {
            let a = f64::from(bf16_to_f32(a));
            for (reference, &b) in references.iter_mut().zip(b) {
                *reference += a * f64::from(bf16_to_f32(b));
            }
        }
        let results = c[row * n..][..n].iter().copied().map(f64::from);
        pairs.extend(
            results.zip(references).map(|(result, reference)| {
                (result / root_mean_square, reference / root_mean_square)
            }),
        );
    }
    pairs
}
