//! Sessions on the GPU, for modules that the program loads through `cust`.

mod attached;
mod clock;
pub(crate) mod driver;
mod place;
mod resources;
mod session;

pub(crate) use attached::{Attached, function};
pub use resources::kernel_resources;
pub use session::ModuleSession;
