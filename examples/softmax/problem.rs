//! Rows of unequal length, and their softmax on the host.

use example_kernels::softmax::SHORT;

/// Of so many rows, one is long.
const ROWS_PER_LONG_ROW: u32 = 8;
/// The most that a result may differ from the reference, as a part of it.
const ERROR_MAX: f64 = 1e-5;

/// Rows that lie one after the other.
pub(crate) struct Problem {
    /// Row r is the elements from offset r to offset r + 1.
    pub(crate) offsets: Vec<u32>,
    pub(crate) input: Vec<f32>,
}

impl Problem {
    pub(crate) fn new(small: bool) -> Self {
        let (rows, longest) = if small { (96, 4_096.0) } else { (32_768, 65_536.0) };
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
        let input = (0..end).map(|_| random.f32() * 16.0 - 8.0).collect();
        Self { offsets, input }
    }

    pub(crate) fn rows(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }

    /// Panics if an element is not what double precision gives.
    pub(crate) fn check(&self, output: &[f32]) {
        for (row, ends) in self.offsets.windows(2).enumerate() {
            let elements = ends[0] as usize..ends[1] as usize;
            let expected = softmax(&self.input[elements.clone()]);
            for (column, (&result, expected)) in output[elements].iter().zip(expected).enumerate() {
                let error = (f64::from(result) - expected).abs();
                assert!(
                    error <= ERROR_MAX * expected,
                    "row {row}, column {column}: {result} instead of {expected}"
                );
            }
        }
    }
}

/// The softmax of one row in double precision.
fn softmax(row: &[f32]) -> Vec<f64> {
    let maximum = row.iter().copied().fold(f32::MIN, f32::max);
    let powers: Vec<f64> = row.iter().map(|&x| (f64::from(x) - f64::from(maximum)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}
