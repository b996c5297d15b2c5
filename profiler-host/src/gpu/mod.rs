//! Sessions on the GPU, for modules that the program loads through `cust`.

mod calibrator;
mod clock;
mod clock_keeper;
pub(crate) mod driver;
mod module_attachment;
mod record_memory;
mod resources;
mod session;

pub(crate) use clock_keeper::WatchedClocks;
pub(crate) use module_attachment::{ModuleAttachment, function};
pub use resources::kernel_resources;
pub use session::ModuleSession;
