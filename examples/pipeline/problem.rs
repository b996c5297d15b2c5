//! Tiles, and the power series over their rows in closed form.

use example_kernels::pipeline::{COLUMNS, ROWS, terms_of};

/// Terms of the first half of the tiles, which wait for copies, and of the second, whose copies
/// wait for sums.
pub(crate) const TERMS: [u32; 2] = [2, 256];
/// The most that a sum may differ from the closed form, relative to it: a few roundings in f32.
const ERROR_MAX: f64 = 1e-5;

/// Tiles that lie one after the other, row by row.
pub(crate) struct Problem {
    pub(crate) tiles: u32,
    /// Numbers from -3/4 to 3/4.
    pub(crate) input: Vec<f32>,
}

impl Problem {
    /// As many tiles for each of so many blocks.
    pub(crate) fn new(small: bool, blocks: u32) -> Self {
        let tiles = blocks * if small { 12 } else { 64 };
        let mut random = fastrand::Rng::with_seed(1);
        let input = (0..tiles * ROWS * COLUMNS).map(|_| 1.5 * random.f32() - 0.75).collect();
        Self { tiles, input }
    }

    pub(crate) fn rows(&self) -> usize {
        (self.tiles * ROWS) as usize
    }

    /// Panics if a row's sum is not that of the closed form.
    pub(crate) fn check(&self, sums: &[f32]) {
        let rows = self.input.chunks_exact(COLUMNS as usize);
        for (row, (elements, &sum)) in rows.zip(sums).enumerate() {
            let terms = terms_of(row as u32 / ROWS, self.tiles, TERMS);
            let expected: f64 = elements.iter().map(|&x| power_sum(x.into(), terms)).sum();
            let error = (f64::from(sum) - expected).abs();
            assert!(error <= ERROR_MAX * expected.abs(), "row {row}: {sum} instead of {expected}");
        }
    }
}

/// The closed form of 1 + x + x^2 + .. , `terms` terms.
fn power_sum(x: f64, terms: u32) -> f64 {
    (1.0 - x.powf(f64::from(terms))) / (1.0 - x)
}
