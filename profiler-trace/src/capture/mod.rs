//! Captures: the data of a session, the input of [`crate::decode`], and their file.
//!
//! `format` defines the blocks of a file, `codec` packs one chunk of an array, and `metadata`
//! describes the arrays in JSON. [`write`](mod@write) writes a file and [`read`](mod@read) reads it;
//! [`error`] says why it cannot be read. [`clocks`] holds clock readings from beside the user's kernels.

mod clocks;
mod codec;
mod error;
mod format;
mod metadata;
mod read;
mod write;

use profiler_wire::descriptor::{FLAG_CLAIMED, Lost};
use profiler_wire::{Descriptor, header};
use serde::{Deserialize, Serialize};

use crate::host::HostCapture;
use crate::model::DeviceInfo;
use crate::record_cost::RecordCost;
use crate::resources::ResourceEffect;
use crate::site_table::SiteTable;

pub use clocks::KeptClock;
pub use error::CaptureError;
pub use format::FORMAT_VERSION as CAPTURE_FORMAT_VERSION;

/// All that a session read back. It is saved by [`Capture::write`] and read again by
/// [`Capture::read`], on any machine; the file's name ends in `.capture`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capture {
    /// The device.
    pub device: DeviceInfo,
    /// The records of each module of the session; at the end the clock readings
    /// ([`ModuleCapture::of_clocks`]), if the session kept the clocks.
    pub modules: Vec<ModuleCapture>,
    /// The cost of recording on that device, if it was measured.
    pub record_cost: Option<RecordCost>,
    /// The resources of kernels with and without annotations, in the order of their first launches;
    /// empty if the program did not ask for them.
    pub resources: Vec<ResourceEffect>,
    /// Whether the kernels had finished when it was read.
    pub end: CaptureEnd,
    /// The spans of the host, if they were recorded.
    pub host: HostCapture,
}

/// Whether the kernels of a capture had finished when their records were read.
///
/// Records of kernels that have not finished are those of `buffer = host`: a unit that lies after
/// one that was never written, or is itself written in part, was then on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "lowercase")]
pub enum CaptureEnd {
    /// They had finished: missing records were never recorded, or are counted as lost.
    #[default]
    Finished,
    /// They still ran.
    Running,
    /// One of them failed.
    Failed {
        /// The error code of the CUDA driver (`CUresult` of cuda.h); 0 if it is not known, as on
        /// the emulator.
        code: u32,
    },
}

/// The records of one module. The arrays are as they lay in device memory, and may be cut short
/// after the last slot in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModuleCapture {
    /// The module's sites.
    pub sites: SiteTable,
    /// The descriptor that the kernels saw: it says how the arrays are laid out.
    pub descriptor: Descriptor,
    /// Headers of the slots, [`profiler_wire::header::BYTES`] each.
    pub headers: Vec<u8>,
    /// Lane 0's buffers, `1 << record_shift` bytes each.
    pub records: Vec<u8>,
    /// The buffers that the other lanes share, `1 << lane_shift` bytes a slot; empty if there are none.
    pub lanes: Vec<u8>,
    /// 32 counts of 8 bytes a slot; empty if there are no buffers for other lanes.
    pub lane_counts: Vec<u8>,
    /// The losses of warps without a slot and of lanes without a buffer.
    pub lost: Lost,
}

impl ModuleCapture {
    /// The number of slots that its launches needed, as far as it is known. With linear slots,
    /// launches of kernels that do not record need slots, too.
    #[must_use]
    pub fn needed_slots(&self) -> u64 {
        let without = self.lost.warps;
        if self.descriptor.flags & FLAG_CLAIMED != 0 {
            let headers = self.headers.chunks_exact(header::BYTES);
            let claimed = headers.filter(|header| header.iter().any(|byte| *byte != 0)).count();
            return without.saturating_add(claimed as u64);
        }
        let mut found = (self.headers.len() / header::BYTES) as u64;
        if without > 0 {
            // They come after all slots.
            found = found.max(u64::from(self.descriptor.slot_count));
        }
        without.saturating_add(found).max(u64::from(self.descriptor.slot_base))
    }

    /// The arrays, in the order in which a file has them.
    fn arrays(&self) -> [&Vec<u8>; 4] {
        [&self.headers, &self.records, &self.lanes, &self.lane_counts]
    }

    fn arrays_mut(&mut self) -> [&mut Vec<u8>; 4] {
        [&mut self.headers, &mut self.records, &mut self.lanes, &mut self.lane_counts]
    }
}
