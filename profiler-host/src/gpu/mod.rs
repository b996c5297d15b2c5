//! The GPU's part of a session, over modules that were loaded through `cust`.

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
pub(crate) use session::GpuSession;
