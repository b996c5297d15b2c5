//! Empty: this package holds tests only. See `tests/tests`.
#![forbid(unsafe_code)]
