//! The wire format as programs of other versions see it.

mod layout;
mod site;
