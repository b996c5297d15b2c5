//! Which of many numbered things are meant: `0-3,8`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A list of numbers and ranges of them; both ends of a range belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection(Vec<RangeInclusive<u64>>);

impl Selection {
    /// Whether a number is meant.
    pub(crate) fn contains(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no selection; write numbers and ranges, such as 0-3,8");
        let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            if range.is_empty() { Err(wrong()) } else { Ok(range) }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;

    #[test]
    fn numbers_and_ranges_are_read() {
        let selection: Selection = "0-2, 8".parse().expect("a selection");
        let selected: Vec<u64> = (0..10).filter(|&number| selection.contains(number)).collect();
        assert_eq!(selected, [0, 1, 2, 8]);
    }

    #[test]
    fn what_is_no_selection_is_refused() {
        for text in ["", "a", "1-", "-1", "3-2", "1,,2", "99999999999999999999"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }
}
