//! Which of many tests are discoveries.

/// The smallest false discovery rate at which each test is a discovery, by Benjamini and Hochberg:
/// the i-th smallest of n p-values times n / i, and never more than that of a larger p-value.
pub(super) fn rates(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&left, &right| p[left].total_cmp(&p[right]));
    let mut rates = vec![0.0; p.len()];
    let mut least = 1.0f64;
    for (rank, &index) in order.iter().enumerate().rev() {
        least = least.min(p[index] * p.len() as f64 / (rank + 1) as f64);
        rates[index] = least;
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::rates;

    /// The 15 p-values of the example in Benjamini and Hochberg's paper, of which 4 are discoveries
    /// at 5 %.
    #[test]
    fn the_example_of_the_paper() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let rates = rates(&p);
        assert_eq!(rates.iter().filter(|rate| **rate <= 0.05).count(), 4);
        assert!((rates[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
        assert!(rates.is_sorted());
        assert_eq!(rates[14], 1.0);
    }

    #[test]
    fn order_does_not_matter() {
        assert_eq!(rates(&[0.5, 0.01]), [0.5, 0.02]);
        assert_eq!(rates(&[]), [0.0; 0]);
    }
}
