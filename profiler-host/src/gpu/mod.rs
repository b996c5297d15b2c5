//! The GPU's part of a session, over loaded modules.

mod calibrator;
mod clock;
mod clock_keeper;
#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "cust")]
mod cust;
pub(crate) mod driver;
pub(crate) mod handles;
mod module_attachment;
mod record_memory;
mod resources;
mod session;

pub(crate) use clock_keeper::WatchedClocks;
pub use handles::{AsFunction, AsModule, RawFunction, RawModule};
pub(crate) use module_attachment::{ModuleAttachment, function};
pub use resources::kernel_resources;
pub(crate) use session::GpuSession;
