use super::*;
use proptest::prelude::*;

const WRAP: u64 = 1 << TICK_BITS;

fn begin(ranges: &mut Ranges, begin: u64, end: u64) -> Begin {
    ranges.begin(100, begin & TICK_MASK, end)
}

#[test]
fn one_time_fits_until_2_40_ticks_after_the_entry() {
    let mut ranges = Ranges::default();
    for start in [100, 5000, 99 + WRAP] {
        assert_eq!(begin(&mut ranges, start, start + 1), Begin::Certain(start));
    }
    let start = 100 + WRAP;
    assert_eq!(begin(&mut ranges, start, start + 1), Begin::Likely(start));
    // As long as a range can be told to be, and the same from before the entry.
    assert_eq!(begin(&mut Ranges::default(), 100, 99 + WRAP), Begin::Certain(100));
    assert_eq!(begin(&mut Ranges::default(), 99, 98 + WRAP), Begin::BeforeEntry);
}

#[test]
fn a_range_that_would_cross_another_is_longer() {
    let (start, end) = (1000, 2 * WRAP + 5000);
    let latest = start + 2 * WRAP;
    // To begin when another begins or ends is not to cross it.
    for inner in [(latest, latest + 9), (latest - 9, latest)] {
        let mut ranges = Ranges::default();
        begin(&mut ranges, inner.0, inner.1);
        assert_eq!(begin(&mut ranges, start, end), Begin::Likely(latest));
    }
    let mut ranges = Ranges::default();
    begin(&mut ranges, latest - 9, latest + 9);
    assert_eq!(begin(&mut ranges, start, end), Begin::Likely(start + WRAP));
    let mut ranges = Ranges::default();
    for inner in [start + WRAP, latest] {
        begin(&mut ranges, inner - 9, inner + 9);
    }
    assert_eq!(begin(&mut ranges, start, end), Begin::Likely(start));
}

proptest! {
    /// Whatever the ranges are, a begin is at most the end, at least the entry, and has the low
    /// bits that were recorded; so many readings that no machine could try them all are no hindrance.
    #[test]
    fn any_ticks(entry: u64, ranges in prop::collection::vec((0..WRAP, any::<u64>()), 0..50)) {
        let mut known = Ranges::default();
        for (low, end) in ranges {
            match known.begin(entry, low, end) {
                Begin::Certain(begin) | Begin::Likely(begin) => {
                    prop_assert!(entry <= begin && begin <= end);
                    prop_assert_eq!(begin & TICK_MASK, low);
                }
                Begin::BeforeEntry => {}
            }
            prop_assert!(known.covered.iter().all(|stretch| stretch.0 < stretch.1));
            prop_assert!(known.covered.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
    }
}
