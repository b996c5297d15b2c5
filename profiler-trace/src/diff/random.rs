//! Numbers that look random and are the same each time.

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*,
/// 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Numbers of their own for each stream of a seed.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        let mixed = random.next() ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        Self(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is above 0. Some are likelier than others by `bound / 2^64`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// Deals the first `count` of the values at random.
    pub(super) fn deal<T>(&mut self, values: &mut [T], count: usize) {
        for at in 0..count {
            let other = at + self.below(values.len() - at);
            values.swap(at, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn each_hand_is_as_likely() {
        // All 10 hands of 2 out of 5, 5000 times each: 5 standard deviations are 335.
        let mut counts = std::collections::HashMap::new();
        let mut random = Random::new(1, 2);
        for _ in 0..50_000 {
            let mut cards = [0, 1, 2, 3, 4];
            random.deal(&mut cards, 2);
            let mut hand = [cards[0], cards[1]];
            hand.sort_unstable();
            *counts.entry(hand).or_insert(0i32) += 1;
        }
        assert_eq!(counts.len(), 10);
        assert!(counts.values().all(|count| (count - 5000).abs() < 335), "{counts:?}");
    }

    #[test]
    fn streams_differ_and_repeat() {
        let numbers = |seed, stream| {
            let mut random = Random::new(seed, stream);
            [(); 4].map(|()| random.next())
        };
        assert_eq!(numbers(1, 1), numbers(1, 1));
        assert_ne!(numbers(1, 1), numbers(1, 2));
        assert_ne!(numbers(1, 1), numbers(2, 1));
    }
}
