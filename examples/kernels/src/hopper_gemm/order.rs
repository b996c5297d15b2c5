//! The order in which tiles of C are computed.

/// Tiles down that are computed before the next ones across. The tiles that a whole GPU has under
/// way at a time then form a patch of about as many rows as columns of C, which read the fewest
/// rows of A and B together.
const PATCH: u32 = 16;

/// The place, down and across, of tile number `index` among `down` x `across` tiles.
#[must_use]
#[inline(always)]
pub fn tile_at(index: u32, down: u32, across: u32) -> (u32, u32) {
    // None of the divisors is 0, which the compiler cannot see.
    let patch = (PATCH * across).max(1);
    let first = index / patch * PATCH;
    let within = index % patch;
    let height = (down - first).clamp(1, PATCH);
    (first + within % height, within / height)
}
