use std::collections::HashSet;

use profiler_host::{Backend, BackendChoice, launch};

use super::*;

/// `ldmatrix` reads eight rows of 16 bytes at a time; 128 bytes are all the banks.
#[test]
fn rows_that_are_read_together_lie_on_different_banks() {
    for row_bytes in [A_ROW, B_ROW] {
        for chunk in 0..row_bytes / CHUNK {
            for first in (0..TILE_K).step_by(8) {
                let place = |row| row * row_bytes + swizzled(row, chunk);
                let banks: HashSet<u32> = (first..first + 8).map(|row| place(row) % 128).collect();
                assert_eq!(banks.len(), 8, "chunk {chunk} of rows {first} and on");
            }
        }
    }
}

#[test]
fn each_chunk_of_a_row_has_its_own_place() {
    for (chunks, row) in [(A_ROW / CHUNK, 5), (B_ROW / CHUNK, 6)] {
        let places: HashSet<u32> = (0..chunks).map(|chunk| swizzled(row, chunk)).collect();
        assert_eq!(places.len(), chunks as usize);
        assert!(places.iter().all(|&place| place < chunks * CHUNK));
    }
}

/// Steps along K: fewer than stages, as many, more, and not a multiple of them. The elements are
/// small integers, so that all sums are exact.
#[test]
fn the_product_is_exact_for_integers() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
    for (down, across, steps) in [(1, 1, 1), (1, 2, 2), (2, 1, 3), (1, 1, 7)] {
        let [m, n, k] = [down * TILE_M, across * TILE_N, steps * TILE_K].map(|x| x as usize);
        let small = |seed: usize| move |index: usize| (index * seed % 17) as f32 - 8.0;
        let (a_at, b_at) = (small(7), small(5));
        let bits = |count: usize, at: &dyn Fn(usize) -> f32| -> Vec<u16> {
            (0..count).map(|index| f32_to_bf16(at(index))).collect()
        };
        let a = backend.upload(&bits(m * k, &a_at)).expect("memory");
        let b = backend.upload(&bits(k * n, &b_at)).expect("memory");
        let mut c = backend.zeroed::<f32>(m * n).expect("memory");
        let (from_a, from_b, to_c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        let (n_u32, k_u32) = (across * TILE_N, steps * TILE_K);
        // SAFETY: whole tiles, and the launch that the kernel asks for.
        unsafe {
            launch!(
                backend,
                gemm<<<(across, down), BLOCK, SHARED_BYTES>>>(from_a, from_b, to_c, n_u32, k_u32)
            )
        }
        .expect("the kernel runs");
        for (index, got) in c.read().expect("there").into_iter().enumerate() {
            let (row, column) = (index / n, index % n);
            let wanted: f32 = (0..k).map(|i| a_at(row * k + i) * b_at(i * n + column)).sum();
            assert_eq!(got, wanted, "row {row}, column {column} of {m} x {n} x {k}");
        }
    }
}
