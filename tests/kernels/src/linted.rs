//! Each form of each macro in a module that denies what compilers and clippy can warn of.
//!
//! It is the test that generated code draws no lint: rustc's are checked wherever it compiles, for both targets, and
//! clippy's by `cargo clippy` over the workspace.
#![deny(
    warnings,
    keyword_idents,
    let_underscore,
    nonstandard_style,
    refining_impl_trait,
    rust_2018_idioms,
    unused,
    absolute_paths_not_starting_with_crate,
    ambiguous_negative_literals,
    closure_returning_async_block,
    deprecated_in_future,
    ffi_unwind_calls,
    impl_trait_redundant_captures,
    macro_use_extern_crate,
    meta_variable_misuse,
    missing_copy_implementations,
    missing_debug_implementations,
    missing_docs,
    redundant_imports,
    redundant_lifetimes,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unit_bindings,
    unnameable_types,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]

mod functions;
mod kernels;
mod launches;
mod regions;

pub use functions::{Pipeline, calls, calls_twice};
pub use kernels::*;
pub use launches::*;
pub use regions::*;
