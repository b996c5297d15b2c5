//! Sessions on the GPU, for modules that the program loads through `cust`.

mod attached;
mod calibrator;
mod clock;
mod clock_keeper;
pub(crate) mod driver;
mod place;
mod resources;
mod session;

pub(crate) use attached::{Attached, function};
pub(crate) use clock_keeper::WatchedClocks;
pub use resources::kernel_resources;
pub use session::ModuleSession;
