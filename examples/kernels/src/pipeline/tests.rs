use profiler_host::{Backend, BackendChoice, launch};

use super::*;

/// Tiles: none, fewer than blocks, fewer than stages, and enough to use all stages several times.
/// With elements of 0 and 1, all sums are exact.
#[test]
fn every_row_has_its_sum() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
    for (blocks, tiles, terms) in [(2, 0, [1, 1]), (3, 2, [4, 7]), (1, 3, [1, 5]), (2, 37, [0, 9])]
    {
        let rows = (tiles * ROWS) as usize;
        let ones_of = |row: usize| row * 31 % (COLUMNS as usize + 1);
        let elements: Vec<f32> = (0..rows)
            .flat_map(|row| (0..COLUMNS as usize).map(move |at| f32::from(at < ones_of(row))))
            .collect();
        let input = backend.upload(&elements).expect("memory");
        let mut output = backend.upload(&vec![f32::NAN; rows]).expect("memory");
        let (from, to) = (input.as_ptr().cast::<Chunk>(), output.as_mut_ptr());
        let [early, late] = terms;
        // SAFETY: the buffers hold this many tiles and rows.
        unsafe { launch!(backend, pipeline<<<blocks, BLOCK>>>(from, to, tiles, early, late)) }
            .expect("the kernel runs");
        for (row, got) in output.read().expect("there").into_iter().enumerate() {
            let terms = terms_of(row as u32 / ROWS, tiles, terms);
            // An element of 1 gives as many as there are terms, one of 0 gives its first term.
            let zeros = COLUMNS as usize - ones_of(row);
            let wanted = ones_of(row) * terms as usize + zeros * usize::from(terms > 0);
            assert_eq!(got, wanted as f32, "row {row} of {tiles} tiles in {blocks} blocks");
        }
    }
}
