//! Sessions on the GPU, for modules that the program loads through `cust`.

mod attached;
mod clock;
pub(crate) mod driver;
mod place;
mod session;

pub(crate) use attached::{Attached, function};
pub use session::ModuleSession;
