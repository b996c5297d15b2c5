//! The program `profiler`, as its users run it.

mod commands;
mod comparison;
mod endings;
mod figures;
mod kernels;
mod launches;
mod members;
mod new;
mod odd;
mod parts;
mod record;
mod signals;
mod streams;
mod support;
mod timeline;
