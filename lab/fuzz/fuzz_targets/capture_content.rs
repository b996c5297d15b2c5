#![no_main]

use profiler_fuzz::capture_content::{Input, check};

libfuzzer_sys::fuzz_target!(|input: Input| check(&input));
