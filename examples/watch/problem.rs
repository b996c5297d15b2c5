//! Linear systems, and whether they are solved.

use example_kernels::watch::{BLOCK, SLOWER, TOLERANCE, UNKNOWNS};

/// The most that an unknown may differ from what its system says that it is: the last sweep changed it
/// by no more than the tolerance, and the next one would by no more than that and the rounding of its sums,
/// some thousandths where unknowns are some ten thousand.
const ERROR_MAX: f64 = 1.5 * TOLERANCE as f64;

/// Systems of which each warp of each block has some.
pub(crate) struct Problem {
    pub(crate) blocks: u32,
    /// Systems of a warp.
    pub(crate) systems: u32,
    /// How often they are solved while the kernel is watched.
    pub(crate) watched_rounds: u32,
    pub(crate) coupling: f32,
    pub(crate) right_sides: Vec<f32>,
}

impl Problem {
    /// At full size with a block on each SM.
    pub(crate) fn new(small: bool, sm_count: u32) -> Self {
        let (blocks, systems, watched_rounds, coupling) =
            if small { (2, 3, 2, 0.5) } else { (sm_count, 10, 40, 0.9999) };
        let mut random = fastrand::Rng::with_seed(1);
        let unknowns = blocks * BLOCK / 32 * systems * UNKNOWNS;
        let right_sides = (0..unknowns).map(|_| random.f32() - 0.5).collect();
        Self { blocks, systems, watched_rounds, coupling, right_sides }
    }

    /// Panics if an unknown is not what its equation makes of its neighbours.
    pub(crate) fn check(&self, solutions: &[f32]) {
        let ring = UNKNOWNS as usize;
        let last_warp = solutions.len() - self.systems as usize * ring;
        for (at, &unknown) in solutions.iter().enumerate() {
            let (first, index) = (at - at % ring, at % ring);
            let slower = if first >= last_warp { f64::from(SLOWER) } else { 1.0 };
            let coupling = 1.0 - (1.0 - f64::from(self.coupling)) / slower;
            let neighbour = |other: usize| f64::from(solutions[first + other % ring]);
            let neighbours = neighbour(index + ring - 1) + neighbour(index + 1);
            let expected = coupling * 0.5 * neighbours + f64::from(self.right_sides[at]);
            let error = (f64::from(unknown) - expected).abs();
            assert!(error <= ERROR_MAX, "unknown {at}: {unknown} instead of {expected}");
        }
    }
}
