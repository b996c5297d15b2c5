//! What is said of many numbers.

use serde_json::{Value, json};

/// Order statistics of a non-empty set of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// One in two is less.
    pub median: f64,
    /// 19 in 20 are less.
    pub p95: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// How far the mean is from that of infinitely many, by one standard deviation, if they vary each for
    /// itself.
    pub standard_error: f64,
}

impl Summary {
    /// Of numbers in any order; `None` where there are none.
    #[must_use]
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let rank = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
        let count = sorted.len();
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let squares: f64 = sorted.iter().map(|number| (number - mean).powi(2)).sum();
        let variance = squares / (count - 1).max(1) as f64;
        let standard_error = (variance / count as f64).sqrt();
        let (median, p95) = (rank(0.5), rank(0.95));
        Some(Self { count, min, median, p95, max, mean, standard_error })
    }

    /// From the smallest to the largest.
    #[must_use]
    pub fn spread(&self) -> f64 {
        self.max - self.min
    }

    /// Of the smallest and the largest, the distance from 0 of the one that is farther from it.
    #[must_use]
    pub fn worst(&self) -> f64 {
        self.max.abs().max(self.min.abs())
    }

    /// All of it, for a line of JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({
            "count": self.count,
            "min": self.min,
            "median": self.median,
            "p95": self.p95,
            "max": self.max,
            "mean": self.mean,
            "standard_error": self.standard_error,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_statistics() {
        let summary = Summary::of((0..=100).rev().map(f64::from)).expect("there are some");
        assert_eq!(
            (summary.min, summary.median, summary.p95, summary.max),
            (0.0, 50.0, 95.0, 100.0)
        );
        assert_eq!((summary.count, summary.mean, summary.spread()), (101, 50.0, 100.0));
        let two = Summary::of([-7.0, 3.0]).expect("there are some");
        // Of a standard deviation of 5 times the square root of 2.
        assert_eq!((two.worst(), two.standard_error), (7.0, 5.0));
        assert_eq!(Summary::of([4.0]).expect("there is one").standard_error, 0.0);
        assert_eq!(Summary::of([]), None);
    }
}
