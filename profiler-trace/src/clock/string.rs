//! The straightest line through a row of gates: a string pulled taut.

/// A point by the cycles since some anchor, and nanoseconds.
pub(super) type Place = (f64, f64);

/// The range that the line must pass at a cycle, from `low` to `high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate {
    pub cycles: f64,
    pub low: f64,
    pub high: f64,
}

/// The corners of the string through the gates, which lie in order, no two at the same cycle. Both
/// ends are free: they lie so that the string begins and ends level, for as long as the gates allow.
pub(super) fn taut(gates: &[Gate]) -> Vec<Place> {
    let [first, middle @ .., last] = gates else {
        return gates
            .iter()
            .map(|gate| (gate.cycles, f64::midpoint(gate.low, gate.high)))
            .collect();
    };
    let start = (first.cycles, level(gates.iter()));
    let end = (last.cycles, level(gates.iter().rev()));
    let mut corners = vec![start];
    // What the string may touch next, seen from its last corner: the upper ends of gates, of which
    // only those of the lower convex hull matter, and the lower ends, of the upper one.
    let (mut above, mut below) = (Chain::new(start, 1.0), Chain::new(start, -1.0));
    for gate in middle {
        above.extend((gate.cycles, gate.high), &mut below, &mut corners);
        below.extend((gate.cycles, gate.low), &mut above, &mut corners);
    }
    above.extend(end, &mut below, &mut corners);
    corners.extend(above.places.drain(1..));
    corners
}

/// The level at which a string stays level the longest, from the first gate on.
fn level<'g>(gates: impl Iterator<Item = &'g Gate>) -> f64 {
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for gate in gates {
        if gate.low > high {
            return high;
        }
        if gate.high < low {
            return low;
        }
        low = low.max(gate.low);
        high = high.min(gate.high);
    }
    f64::midpoint(low, high)
}

/// Places from the last corner on, with slopes that increase (`sign` 1) or decrease (-1).
struct Chain {
    places: std::collections::VecDeque<Place>,
    sign: f64,
}

impl Chain {
    fn new(corner: Place, sign: f64) -> Self {
        Self { places: [corner].into(), sign }
    }

    /// Whether the way from `from` to `to` is, in the sense of the chain, less steep than that to
    /// `than`.
    fn is_flatter(&self, from: Place, to: Place, than: Place) -> bool {
        let left = (to.1 - from.1) * (than.0 - from.0);
        let right = (than.1 - from.1) * (to.0 - from.0);
        (left - right) * self.sign < 0.0
    }

    /// Adds a place after all others. Where the string cannot reach it in a straight line past the
    /// `other` chain, it takes the corners there.
    fn extend(&mut self, place: Place, other: &mut Self, corners: &mut Vec<Place>) {
        while let Some(before) = self.places.len().checked_sub(2) {
            let (before, last) = (self.places[before], self.places[before + 1]);
            if !self.is_flatter(before, place, last) {
                break;
            }
            self.places.pop_back();
        }
        if self.places.len() == 1 {
            while let Some(&next) = other.places.get(1) {
                if !self.is_flatter(self.places[0], place, next) {
                    break;
                }
                other.places.pop_front();
                corners.push(next);
                self.places[0] = next;
            }
        }
        self.places.push_back(place);
    }
}

/// A chain of lines through `corners` at some cycle; level before the first and after the last.
pub(super) fn at(corners: &[Place], cycles: f64) -> f64 {
    let after = corners.partition_point(|corner| corner.0 <= cycles);
    match (after.checked_sub(1).map(|before| corners[before]), corners.get(after)) {
        (Some(from), Some(to)) => from.1 + (to.1 - from.1) * ((cycles - from.0) / (to.0 - from.0)),
        (Some(only), None) => only.1,
        (None, Some(only)) => only.1,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(bounds: &[(f64, f64)]) -> Vec<Gate> {
        let at =
            |(index, &(low, high)): (usize, &(f64, f64))| Gate { cycles: index as f64, low, high };
        bounds.iter().enumerate().map(at).collect()
    }

    #[test]
    fn a_string_is_level_where_it_can_be_and_turns_only_at_gates() {
        assert_eq!(taut(&gates(&[(0.0, 4.0), (1.0, 9.0), (-3.0, 3.0)])), [(0.0, 2.0), (2.0, 2.0)]);
        assert_eq!(taut(&gates(&[(1.0, 3.0)])), [(0.0, 2.0)]);
        assert_eq!(taut(&[]), []);
        // One step up: as late as possible down there, as early as possible up here.
        let up = gates(&[(0.0, 1.0), (0.0, 1.0), (3.0, 4.0), (3.0, 4.0)]);
        assert_eq!(taut(&up), [(0.0, 1.0), (1.0, 1.0), (2.0, 3.0), (3.0, 3.0)]);
        // Up and down again, around both corners.
        let hill = gates(&[(0.0, 1.0), (5.0, 6.0), (5.0, 6.0), (0.0, 1.0)]);
        assert_eq!(taut(&hill), [(0.0, 1.0), (1.0, 5.0), (2.0, 5.0), (3.0, 1.0)]);
        // It passes the end of a gate without a turn.
        let straight = gates(&[(0.0, 0.0), (1.0, 9.0), (2.0, 2.0)]);
        assert_eq!(taut(&straight), [(0.0, 0.0), (2.0, 2.0)]);
    }

    proptest::proptest! {
        /// The string passes every gate, and every corner touches the gate that it turns around.
        #[test]
        fn every_gate_is_passed(
            bounds in proptest::collection::vec((-50.0..50.0_f64, 0.0..30.0_f64), 2..60),
        ) {
            let bounds: Vec<_> = bounds.iter().map(|&(low, width)| (low, low + width)).collect();
            let gates = gates(&bounds);
            let string = taut(&gates);
            for gate in &gates {
                let height = at(&string, gate.cycles);
                proptest::prop_assert!(height >= gate.low - 1e-9 && height <= gate.high + 1e-9);
            }
            proptest::prop_assert!(string.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let slope = |from: Place, to: Place| (to.1 - from.1) / (to.0 - from.0);
            for corner in string.windows(3) {
                let gate = gates[corner[1].0 as usize];
                let (before, after) = (slope(corner[0], corner[1]), slope(corner[1], corner[2]));
                // It turns up around an upper end, and down around a lower one.
                let end = if after > before { gate.high } else { gate.low };
                let straight = (after - before).abs() < 1e-9;
                proptest::prop_assert!(straight || (corner[1].1 - end).abs() < 1e-9);
            }
        }
    }
}
