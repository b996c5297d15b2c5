//! Multiplies two bf16 matrices on tensor cores and shows what its warps wait for; see
//! `docs/examples/gemm.md`.

use std::error::Error;
use std::time::Duration;

use gemm_kernels::{BLOCK, SHARED_BYTES, TILE_M, TILE_N, gemm};
use profiler_host::{Backend, Buffer, Profiler, launch};
use profiler_kernel::mma::{bf16_to_f32, f32_to_bf16};

/// The most that the result may differ from the reference: the norm of the difference over that of
/// the reference. Tensor cores sum in f32, in an order of their own and with rounding of their own.
const ERROR_MAX: f64 = 1e-4;
/// How many rows of C are checked, spread over all of them.
const ROWS_CHECKED: usize = 32;
/// Launches that are timed on a GPU; the median counts.
const TIMED_LAUNCHES: usize = 21;
/// At full size every eighth block records: enough to see all phases, and a trace of moderate size.
const FULL_BLOCK_STRIDE: u32 = 8;

/// The problem: A is m x k, B is k x n.
#[derive(Clone, Copy)]
struct Shape {
    m: u32,
    n: u32,
    k: u32,
}

impl Shape {
    const SMALL: Self = Self { m: 256, n: 256, k: 320 };
    const FULL: Self = Self { m: 4096, n: 4096, k: 4096 };

    /// Operations, a multiplication and an addition as two.
    fn flop(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    fn grid(self) -> (u32, u32) {
        (self.n / TILE_N, self.m / TILE_M)
    }
}

/// The matrices where the kernel can reach them.
struct Matrices<'b> {
    shape: Shape,
    a: Buffer<'b, u16>,
    b: Buffer<'b, u16>,
    c: Buffer<'b, f32>,
}

/// Launches the kernel once, on a backend or in a session.
macro_rules! multiply {
    ($target:expr, $matrices:expr) => {{
        let Matrices { shape, a, b, c } = &mut $matrices;
        let (a, b, c, n, k) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), shape.n, shape.k);
        // SAFETY: the buffers hold matrices of this shape, aligned to 256 bytes; the shape consists
        // of whole tiles, and the launch is the one that the kernel asks for.
        unsafe { launch!($target, gemm<<<shape.grid(), BLOCK, SHARED_BYTES>>>(a, b, c, n, k)) }
    }};
}

/// `count` numbers from -0.5 to 0.5 as bf16, the same for the same seed.
fn random_bf16(count: usize, seed: u64) -> Vec<u16> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| f32_to_bf16(random.f32() - 0.5)).take(count).collect()
}

/// The median time of a launch without recording.
fn time_without_recording(
    backend: &Backend,
    matrices: &mut Matrices<'_>,
) -> Result<Duration, profiler_host::Error> {
    multiply!(backend, *matrices)?;
    let mut times = Vec::with_capacity(TIMED_LAUNCHES);
    for _ in 0..TIMED_LAUNCHES {
        let ((), time) = backend.time(|| multiply!(backend, *matrices))?;
        times.push(time);
    }
    times.sort_unstable();
    Ok(times[TIMED_LAUNCHES / 2])
}

/// How far `c` is from the product of `a` and `b`, in the rows that are checked: the norm of the
/// difference over the norm of the product.
fn relative_error(shape: Shape, a: &[u16], b: &[u16], c: &[f32]) -> f64 {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|extent| extent as usize);
    let (mut difference, mut norm) = (0.0, 0.0);
    for check in 0..ROWS_CHECKED.min(m) {
        // One row in each of as many equal parts of C, at another place in each.
        let part = m / ROWS_CHECKED.min(m);
        let row = check * part + check * 37 % part;
        let mut wanted = vec![0.0_f64; n];
        for (&a, b) in a[row * k..][..k].iter().zip(b.chunks_exact(n)) {
            let a = f64::from(bf16_to_f32(a));
            for (wanted, &b) in wanted.iter_mut().zip(b) {
                *wanted += a * f64::from(bf16_to_f32(b));
            }
        }
        for (wanted, &got) in wanted.iter().zip(&c[row * n..][..n]) {
            difference += (wanted - f64::from(got)).powi(2);
            norm += wanted.powi(2);
        }
    }
    (difference / norm).sqrt()
}
