//! Medians and slopes.

/// A straight line through points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Rise for each unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// The part of y's variance that the line explains; `None` where y does not vary.
    pub r2: Option<f64>,
}

/// The least-squares line through points `(x, y)`; `None` unless there are two different x.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let sum = |term: fn(f64, f64) -> f64| {
        points.iter().map(|(x, y)| term(x - mean_x, y - mean_y)).sum::<f64>()
    };
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    // Also where there is no point: the mean of none is no number.
    if xx.is_nan() || xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let r2 = (yy > 0.0).then(|| xy * xy / (xx * yy));
    Some(Line { slope, intercept: mean_y - slope * mean_x, r2 })
}

/// The middle value, of two their mean; `None` of none.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let high = *sorted.get(sorted.len() / 2)?;
    let low = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(low, high))
}

/// The largest value less the smallest; 0 of none.
#[must_use]
pub fn spread(values: &[f64]) -> f64 {
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    if max >= min { max - min } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{line, median, spread};

    #[test]
    fn a_line_through_exact_points() {
        let points = [(0.0, 100.0), (1.0, 120.0), (2.0, 140.0), (4.0, 180.0)];
        let line = line(&points).expect("a line");
        assert!((line.slope - 20.0).abs() < 1e-9 && (line.intercept - 100.0).abs() < 1e-9);
        assert!((line.r2.expect("y varies") - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_through_scattered_points() {
        // By hand: means 1.75 and 3; sums of products 8.75, 14 and 26.
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (4.0, 7.0)];
        let line = line(&points).expect("a line");
        assert!((line.slope - 14.0 / 8.75).abs() < 1e-12, "{line:?}");
        let r2 = line.r2.expect("y varies");
        assert!((r2 - 14.0 * 14.0 / (8.75 * 24.0)).abs() < 1e-12, "{r2}");
    }

    #[test]
    fn what_is_no_line() {
        assert_eq!(line(&[]), None);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        let flat = line(&[(0.0, 5.0), (1.0, 5.0)]).expect("a line");
        assert_eq!((flat.slope, flat.r2), (0.0, None));
    }

    #[test]
    fn medians_and_spreads() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(spread(&[]), 0.0);
    }
}
