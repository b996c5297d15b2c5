//! Captures, decoding, statistics and exports, by their public interface.

mod any_bytes;
mod capture_damage;
mod capture_file;
#[path = "../support/captures.rs"]
mod captures;
mod chrome_times;
#[path = "../support/consistent.rs"]
mod consistent;
mod docs;
mod export_any;
mod export_errors;
#[path = "../support/exports.rs"]
mod exports;
#[path = "../support/figures.rs"]
mod figures;
mod folded;
mod golden;
mod host;
mod hostile;
mod long_launches;
mod narrow;
mod odd_captures;
#[path = "../support/part.rs"]
mod part;
mod proportion;
mod resources;
mod round_trip;
mod sentences;
mod stats;
mod stats_query;
mod streamed;
#[path = "../support/mod.rs"]
mod support;
mod versions;
#[path = "../support/zoo.rs"]
mod zoo;
