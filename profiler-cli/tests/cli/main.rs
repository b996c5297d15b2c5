//! The program `profiler`, as its users run it.

mod commands;
mod comparison;
mod docs;
mod empty;
mod endings;
mod figures;
mod kernels;
mod launches;
mod members;
mod names;
mod new;
mod parts;
mod record;
mod signals;
mod streams;
mod support;
mod timeline;
