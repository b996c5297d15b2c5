//! Functions of profiler-kernel beside those of `intrinsics`: what kernels get from them, on the emulator and, with
//! `--ignored`, on a GPU.

use crate::support::on_both_back_ends;

use profiler_host::{Backend, BackendChoice, launch};
use test_kernels::functions as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("functions");

on_both_back_ends! {
    lanes_shuffle_and_match
    barriers_count
    threads_know_their_places
    integers_are_changed_atomically
    floats_are_changed_atomically
    products_are_exact
    formats_round_to_nearest
    fast_arithmetic_is_near
    libm_gives_the_same_bits
    functions_have_arrays_of_their_own
}

fn backend(choice: BackendChoice) -> Backend {
    Backend::choose(choice, PTX).expect("the back end")
}

fn lanes_shuffle_and_match(choice: BackendChoice) {
    let backend = backend(choice);
    let mut output = backend.zeroed::<u64>(32 * kernels::LANES).expect("memory");
    // SAFETY: that many numbers a lane.
    unsafe { launch!(backend, kernels::lanes<<<1, 32>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    let alike = |divisor: u32, lane: u32| -> u64 {
        (0..32).filter(|other| other % divisor == lane % divisor).map(|other| 1 << other).sum()
    };
    for (lane, row) in (0_u32..).zip(numbers.as_chunks::<{ kernels::LANES }>().0) {
        let (of_8, of_16) = (lane / 8 * 8, lane / 16 * 16);
        let or_own = |source: Option<u32>| source.unwrap_or(lane);
        let up = lane.checked_sub(3);
        let down = |delta: u32, end: u32| or_own(Some(lane + delta).filter(|source| *source < end));
        let flipped = lane ^ 9;
        let expected = [
            kernels::wide(7),
            kernels::wide(or_own(up)),
            kernels::wide(down(5, 32)),
            kernels::wide(flipped),
            kernels::wide(of_8 + 3),
            kernels::wide(or_own(up.filter(|source| *source >= of_8))),
            kernels::wide(down(3, of_16 + 16)),
            // Segments below are within reach.
            kernels::wide(if flipped < of_8 + 8 { flipped } else { lane }),
            (-f64::from(lane.saturating_sub(1))).to_bits(),
            -i64::from(down(1, lane / 4 * 4 + 4)) as u64,
            alike(5, lane),
            alike(3, lane),
            1 + 4,
        ];
        assert_eq!(*row, expected, "lane {lane}");
    }
}

fn barriers_count(choice: BackendChoice) {
    let backend = backend(choice);
    // The last warp of a block is not whole.
    let (blocks, threads) = (3, 80);
    let mut output = backend.zeroed::<u32>((blocks * threads) as usize * kernels::COUNTS);
    let output = output.as_mut().expect("memory");
    // SAFETY: that many numbers a thread.
    unsafe { launch!(backend, kernels::counts<<<blocks, threads>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    let with_bits = (0..threads).filter(|rank| rank & 6 != 0).count() as u32;
    for row in numbers.as_chunks::<{ kernels::COUNTS }>().0 {
        // In the first round the last thread disagrees, and is the only one to agree.
        assert_eq!(*row, [40, 0, 1, 27, 1, 0, 20, 1, 0, with_bits + 1000]);
    }
}

fn threads_know_their_places(choice: BackendChoice) {
    let backend = backend(choice);
    let (grid, block) = ([3_u32, 2, 2], [5_u32, 3, 2]);
    let [threads, blocks] = [block, grid].map(|extents| extents.iter().product::<u32>());
    let mut output = backend.zeroed::<u32>((blocks * threads) as usize * kernels::PLACES);
    let output = output.as_mut().expect("memory");
    // SAFETY: that many numbers a thread.
    unsafe { launch!(backend, kernels::places<<<grid, block>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    let place = |linear: u32, [width, height, _]: [u32; 3]| {
        [linear % width, linear / width % height, linear / width / height]
    };
    for (index, row) in (0..).zip(numbers.as_chunks::<{ kernels::PLACES }>().0) {
        let [of_block, of_thread] = [place(index / threads, grid), place(index % threads, block)];
        let at = [0, 1, 2].map(|axis| of_block[axis] * block[axis] + of_thread[axis]);
        let expected = [
            &at[..2],
            &at,
            &of_thread,
            &of_block,
            &[index, u32::from(index == 0), 32, index % threads],
            &[1; 6],
        ];
        assert_eq!(row[..], expected.concat(), "thread {index}");
    }
}

/// What becomes of the numbers of a kernel of atomic operations, by the operands of some threads. Of the exchanged
/// number, the sum with what it replaced is known.
macro_rules! after_operations {
    ($type:ty, $initial:expr, $threads:expr) => {{
        let mut numbers: [$type; kernels::OPERATIONS] = $initial;
        for thread in $threads {
            let value = kernels::operand(thread) as $type;
            numbers[0] = numbers[0].wrapping_add(value);
            numbers[1] = numbers[1].min(value);
            numbers[2] = numbers[2].max(value);
            numbers[3] &= value | 0xff;
            numbers[4] |= value & 0xff;
            numbers[5] ^= value;
            numbers[7] = numbers[7].wrapping_add(value);
            numbers[8] += 1;
        }
        numbers[7] = numbers[7].wrapping_add(numbers[6]);
        numbers
    }};
}

fn integers_are_changed_atomically(choice: BackendChoice) {
    let backend = backend(choice);
    let (blocks, threads) = (4_u32, 96_u32);
    macro_rules! check {
        ($kernel:ident, $type:ty) => {
            let initial = [3, <$type>::MAX, <$type>::MIN, !0, 0, 9, 17, 0, 0];
            let given = backend.upload(&initial).expect("memory");
            let mut output = backend.upload(&initial).expect("memory");
            let mut of_blocks =
                backend.zeroed::<$type>(blocks as usize * kernels::OPERATIONS).expect("memory");
            // SAFETY: as many numbers as the kernel says.
            unsafe {
                launch!(
                    backend,
                    kernels::$kernel<<<blocks, threads>>>(
                        given.as_ptr(),
                        output.as_mut_ptr(),
                        of_blocks.as_mut_ptr()
                    )
                )
            }
            .expect("the launch");
            let check = |numbers: &[$type], threads: std::ops::Range<u32>| {
                let expected = after_operations!($type, initial, threads.clone());
                assert_eq!(numbers[..6], expected[..6], "{threads:?} of {}", stringify!($type));
                assert_eq!(numbers[6].wrapping_add(numbers[7]), expected[7]);
                assert!(threads.clone().any(|thread| kernels::operand(thread) as $type == numbers[6]));
                assert_eq!(numbers[8], expected[8], "{threads:?} of {}", stringify!($type));
            };
            check(&output.read().expect("the numbers"), 0..blocks * threads);
            let of_blocks = of_blocks.read().expect("the numbers");
            for (block, numbers) in (0..).zip(of_blocks.chunks(kernels::OPERATIONS)) {
                check(numbers, block * threads..(block + 1) * threads);
            }
        };
    }
    check!(atomics_u32, u32);
    check!(atomics_i32, i32);
    check!(atomics_u64, u64);
    check!(atomics_i64, i64);
}

fn floats_are_changed_atomically(choice: BackendChoice) {
    let backend = backend(choice);
    let (blocks, threads) = (4_u32, 96_u32);
    let mut f32s = backend.zeroed::<f32>(3).expect("memory");
    let mut f64s = backend.zeroed::<f64>(3).expect("memory");
    let mut of_blocks = backend.zeroed::<f64>(3 * blocks as usize).expect("memory");
    // SAFETY: three numbers, and three a block.
    unsafe {
        launch!(
            backend,
            kernels::float_atomics<<<blocks, threads>>>(
                f32s.as_mut_ptr(),
                f64s.as_mut_ptr(),
                of_blocks.as_mut_ptr()
            )
        )
    }
    .expect("the launch");
    // Sums of quarters that f32 holds exactly, in whatever order.
    let sum = |threads: std::ops::Range<u32>| threads.map(|thread| f64::from(thread) / 4.0).sum();
    let all: f64 = sum(0..blocks * threads);
    let singles = f32s.read().expect("the numbers").into_iter().map(f64::from).collect();
    for numbers in [singles, f64s.read().expect("the numbers")] {
        assert_eq!([numbers[0], numbers[1] + numbers[2]], [all; 2]);
    }
    let of_blocks = of_blocks.read().expect("the numbers");
    for (block, numbers) in (0..).zip(of_blocks.as_chunks::<3>().0) {
        let of_block = sum(block * threads..(block + 1) * threads);
        assert_eq!(*numbers, [of_block, of_block, 0.5], "block {block}");
    }
}

fn products_are_exact(choice: BackendChoice) {
    let backend = backend(choice);
    let mut output = backend.zeroed::<f32>(8 * 32).expect("memory");
    // SAFETY: eight numbers a lane.
    unsafe { launch!(backend, kernels::products<<<1, 32>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    for (lane, row) in numbers.as_chunks::<8>().0.iter().enumerate() {
        let expected: [f32; 8] = std::array::from_fn(|index| {
            let (row, column) = (lane / 4 + index % 4 / 2 * 8, lane % 4 * 2 + index % 2);
            let along = if index < 4 { 16 } else { 8 };
            let terms =
                (0..along).map(|k| kernels::element(row, k, 0) * kernels::element(k, column, 4));
            terms.sum::<f32>() + kernels::element(row, column, 9)
        });
        assert_eq!(*row, expected, "lane {lane}");
    }
}

fn formats_round_to_nearest(choice: BackendChoice) {
    let backend = backend(choice);
    let unit = 2_f32.powi(-24);
    // A number, its f16, and its tf32 without the lowest 13 bits.
    let cases: [(f32, u16, u32); 16] = [
        (0.0, 0, 0),
        (-0.0, 0x8000, 0x8000_0000),
        (1.0, 0x3c00, 0x3f80_0000),
        (-1.5, 0xbe00, 0xbfc0_0000),
        // Halfway between two numbers: f16 takes the even one, tf32 the larger.
        (1.0 + 2_f32.powi(-11), 0x3c00, 0x3f80_2000),
        (1.0 + 3.0 * 2_f32.powi(-11), 0x3c02, 0x3f80_4000),
        (f32::from_bits(0x3f80_0fff), 0x3c00, 0x3f80_0000),
        (65504.0, 0x7bff, 0x477f_e000),
        (65519.0, 0x7bff, 0x477f_e000),
        (65520.0, 0x7c00, 0x4780_0000),
        (-1e30, 0xfc00, ((-1e30_f32).to_bits() + 0x1000) & !0x1fff),
        (f32::INFINITY, 0x7c00, 0x7f80_0000),
        (2_f32.powi(-14), 0x0400, 0x3880_0000),
        (unit, 1, unit.to_bits()),
        (unit / 2.0, 0, (unit / 2.0).to_bits()),
        (1.5 * unit, 2, (1.5 * unit).to_bits()),
    ];
    let input = backend.upload(&cases.map(|(x, ..)| x)).expect("memory");
    let mut output = backend.zeroed::<u32>(3 * cases.len()).expect("memory");
    // SAFETY: a number for each thread, and room for three.
    unsafe {
        launch!(backend, kernels::conversions<<<1, 16>>>(input.as_ptr(), output.as_mut_ptr()))
    }
    .expect("the launch");
    let numbers = output.read().expect("the numbers");
    for ((x, half, tf32), &[bits, value, rounded]) in
        cases.into_iter().zip(numbers.as_chunks::<3>().0)
    {
        assert_eq!(bits, u32::from(half), "{x} as f16");
        let value = f32::from_bits(value);
        let near = (value - x).abs() <= (x.abs() / 2048.0).max(unit / 2.0);
        assert!(near || value.is_infinite() && x.abs() >= 65520.0, "{value} for {x}");
        assert_eq!(rounded & !0x1fff, tf32, "{x} as tf32");
    }
}

fn fast_arithmetic_is_near(choice: BackendChoice) {
    let backend = backend(choice);
    let inputs: Vec<f32> = (2..98).map(|n| n as f32 / 32.0).collect();
    let input = backend.upload(&inputs).expect("memory");
    let mut output = backend.zeroed::<f32>(96 * kernels::ARITHMETIC).expect("memory");
    // SAFETY: a number for each thread, and room for that many.
    unsafe {
        launch!(backend, kernels::arithmetic<<<2, 48>>>(input.as_ptr(), output.as_mut_ptr()))
    }
    .expect("the launch");
    let numbers = output.read().expect("the numbers");
    for (x, row) in inputs.into_iter().zip(numbers.as_chunks::<{ kernels::ARITHMETIC }>().0) {
        let exact = f64::from(x);
        // The error that PTX ISA states of each, or nearly: all results are below 20.
        let expected = [
            (exact.exp2(), 1e-6 * exact.exp2()),
            (exact.sqrt().recip(), 1e-6 / exact.sqrt()),
            (exact.log2(), 2e-6),
            (exact.ln(), 2e-6),
            (exact.recip(), 4e-6),
            (exact.sin(), 1e-6),
            (exact.cos(), 1e-6),
            (exact.tanh(), 6e-4),
        ];
        for (&found, (value, error)) in row.iter().zip(expected) {
            assert!((f64::from(found) - value).abs() < error, "{found} for {value}, of {x}");
        }
        assert_eq!(row[8], x.mul_add(x, -1.0));
        // All inputs have a bfloat16 of their own: a float without its low half.
        assert_eq!(row[9].to_bits(), x.to_bits() >> 16 | (-x).to_bits() & 0xffff_0000, "{x}");
    }
}

fn libm_gives_the_same_bits(choice: BackendChoice) {
    let backend = backend(choice);
    let inputs: Vec<f32> = (0..128).map(|n| 0.0625 + n as f32 / 7.0).collect();
    let input = backend.upload(&inputs).expect("memory");
    let mut output = backend.zeroed::<u64>(128 * 4).expect("memory");
    // SAFETY: a number for each thread, and room for four.
    unsafe {
        launch!(backend, kernels::accurately<<<2, 64>>>(input.as_ptr(), output.as_mut_ptr()))
    }
    .expect("the launch");
    let numbers = output.read().expect("the numbers");
    for (x, row) in inputs.into_iter().zip(numbers.as_chunks::<4>().0) {
        assert_eq!(*row, kernels::accurate(x), "{x}");
    }
}

fn functions_have_arrays_of_their_own(choice: BackendChoice) {
    let backend = backend(choice);
    let mut output = backend.zeroed::<u32>(2 * 64 * 8).expect("memory");
    // SAFETY: eight numbers a thread.
    unsafe { launch!(backend, kernels::local_arrays<<<2, 64>>>(output.as_mut_ptr())) }
        .expect("the launch");
    let numbers = output.read().expect("the numbers");
    for (index, row) in (0..).zip(numbers.as_chunks::<8>().0) {
        let rank = index % 64;
        let of_round = [63 - rank, (rank + 1) % 64, 31 - rank % 32, (rank + 1) % 32];
        let expected = [of_round, of_round.map(|number| number + 100)].concat();
        assert_eq!(row[..], expected, "thread {rank}");
    }
}
