//! The emulator: the device, a session on it, and the sites that it has run.

mod device;
mod session;

pub(crate) use device::{EmulatedDevice, no_session};
pub(crate) use session::EmulatorSession;

use profiler_trace::SiteTable;
use profiler_wire::site::ID_OFFSET;

use crate::error::Error;

/// The sites that were executed in this process, as the site table of a PTX module would hold them.
pub(crate) fn executed_sites() -> Result<SiteTable, Error> {
    let numbered = profiler_emulator::module::numbered_entries().into_iter();
    let entries = numbered.map(|(number, entry)| {
        let mut entry = entry.to_vec();
        entry[ID_OFFSET..ID_OFFSET + 4].copy_from_slice(&number.to_le_bytes());
        entry
    });
    let entries: Vec<Vec<u8>> = entries.collect();
    let table = SiteTable::from_entries(entries.iter().map(Vec::as_slice))?;
    Ok(table.with_kernels(profiler_emulator::module::executed()))
}
