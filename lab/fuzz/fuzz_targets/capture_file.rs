#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use profiler_fuzz::capture_file::{check, repair};

fuzz_target!(|bytes: &[u8]| check(bytes));

// Hardly anything that is altered at random gets past a checksum, so most of it is given a right
// one.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if !seed.is_multiple_of(8) {
        repair(&mut data[..size], seed.is_multiple_of(3));
    }
    size
});
