#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| profiler_fuzz::raw_buffer::check(bytes));
