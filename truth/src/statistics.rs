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
}

impl Summary {
    /// Of numbers in any order; `None` where there are none.
    #[must_use]
    pub fn of(numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let rank = |part: f64| sorted[((sorted.len() - 1) as f64 * part).round() as usize];
        let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
        Some(Self { count: sorted.len(), min, median: rank(0.5), p95: rank(0.95), max, mean })
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
        assert_eq!(Summary::of([-7.0, 3.0]).expect("there are some").worst(), 7.0);
        assert_eq!(Summary::of([]), None);
    }
}
