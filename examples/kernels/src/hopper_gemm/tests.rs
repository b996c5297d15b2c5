use std::collections::HashSet;

use profiler_host::{Backend, BackendChoice, launch};

use super::*;

#[test]
fn every_tile_is_computed_once() {
    for (down, across) in [(1, 1), (3, 5), (16, 4), (17, 3), (64, 32)] {
        let tiles: HashSet<(u32, u32)> =
            (0..down * across).map(|index| tile_at(index, down, across)).collect();
        assert_eq!(tiles.len(), (down * across) as usize, "{down} x {across}");
        assert!(tiles.iter().all(|&(row, column)| row < down && column < across));
    }
}

#[test]
fn the_reference_is_exact_for_integers() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
    let (m, n, k) = (33_u32, 40_u32, 24_u32);
    let a_at = |row: u32, inner: u32| ((row * 7 + inner) % 5) as f32 - 2.0;
    let b_at = |column: u32, inner: u32| ((column * 3 + inner) % 7) as f32 - 3.0;
    let bits = |rows: u32, at: &dyn Fn(u32, u32) -> f32| -> Vec<u16> {
        (0..rows * k).map(|index| f32_to_bf16(at(index / k, index % k))).collect()
    };
    let a = backend.upload(&bits(m, &a_at)).expect("memory");
    let b = backend.upload(&bits(n, &b_at)).expect("memory");
    let mut c = backend.zeroed::<f32>((m * n) as usize).expect("memory");
    let (from_a, from_b, to_c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    // SAFETY: the buffers hold matrices of these extents, k is a multiple of 8, and two blocks down
    // and two across cover C.
    unsafe {
        launch!(
            backend,
            reference<<<(2, 2), (REFERENCE_TILE, REFERENCE_TILE)>>>(from_a, from_b, to_c, m, n, k)
        )
    }
    .expect("the kernel runs");
    for (index, got) in c.read().expect("there").into_iter().enumerate() {
        let (row, column) = (index as u32 / n, index as u32 % n);
        let wanted: f32 = (0..k).map(|inner| a_at(row, inner) * b_at(column, inner)).sum();
        assert_eq!(got, wanted, "row {row}, column {column}");
    }
}

#[test]
fn on_the_emulator_the_launch_fails_and_says_why() {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("always there");
    let maps = backend.zeroed::<u64>(48).expect("memory");
    let from = maps.as_ptr().cast::<Maps>();
    // SAFETY: the kernel ends before it looks at the maps.
    let launched =
        unsafe { launch!(backend, hopper_gemm<<<1, BLOCK, SHARED_BYTES>>>(from, 128, 256, 64)) };
    let error = launched.expect_err("there is no twin").to_string();
    assert!(error.contains("compute capability 9.0"), "{error}");
}
