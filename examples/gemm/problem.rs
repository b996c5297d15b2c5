//! Two matrices, and rows of their product on the host.

use example_kernels::gemm::{bf16_to_f32, f32_to_bf16};

/// The most that an element of C may differ from the reference, as a part of C's root mean square.
/// Tensor cores sum in f32, but do not round to nearest at each step.
const ERROR_MAX: f64 = 1e-3;
/// How many rows of C are checked, spread over all of them.
const ROWS_CHECKED: usize = 32;

/// A is m x k, B is k x n.
pub(crate) struct Problem {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) a: Vec<u16>,
    pub(crate) b: Vec<u16>,
}

impl Problem {
    pub(crate) fn new(small: bool) -> Self {
        let [m, n, k] = if small { [256, 256, 320] } else { [4096; 3] };
        // Numbers from -1/2 to 1/2.
        let matrix = |rows: u32, columns: u32, seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..rows * columns).map(|_| f32_to_bf16(random.f32() - 0.5)).collect()
        };
        Self { m, n, k, a: matrix(m, k, 1), b: matrix(k, n, 2) }
    }

    /// Panics if a row that is checked is not what sums in f64 give.
    pub(crate) fn check(&self, c: &[f32]) {
        let [m, n, k] = [self.m, self.n, self.k].map(|extent| extent as usize);
        // Numbers spread evenly from -1/2 to 1/2 have a mean square of 1/12.
        let root_mean_square = (k as f64).sqrt() / 12.0;
        for check in 0..ROWS_CHECKED {
            // One row in each of as many equal parts of C, at another place in each.
            let part = m / ROWS_CHECKED;
            let row = check * part + check * 37 % part;
            let mut expected = vec![0.0; n];
            for (&a, b) in self.a[row * k..][..k].iter().zip(self.b.chunks_exact(n)) {
                let a = f64::from(bf16_to_f32(a));
                for (sum, &b) in expected.iter_mut().zip(b) {
                    *sum += a * f64::from(bf16_to_f32(b));
                }
            }
            for (column, (&result, expected)) in c[row * n..].iter().zip(expected).enumerate() {
                let error = (f64::from(result) - expected).abs();
                assert!(
                    error <= ERROR_MAX * root_mean_square,
                    "row {row}, column {column}: {result} instead of {expected}"
                );
            }
        }
    }
}
