//! What a session read back from the device: the input of [`crate::decode`].

use profiler_wire::Descriptor;
use profiler_wire::descriptor::Lost;

use crate::model::DeviceInfo;
use crate::record_cost::RecordCost;
use crate::site_table::SiteTable;

/// All that a session read back.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// What it ran on.
    pub device: DeviceInfo,
    /// What each module of the session recorded.
    pub modules: Vec<ModuleCapture>,
    /// What recording costs on that device, if it was measured.
    pub record_cost: Option<RecordCost>,
}

/// What one module recorded. The arrays are as they lay in device memory, and may be cut short
/// after the last slot in use.
#[derive(Clone, Debug, Default)]
pub struct ModuleCapture {
    /// The module's sites.
    pub sites: SiteTable,
    /// The descriptor that the kernels saw: it says how the arrays are laid out.
    pub descriptor: Descriptor,
    /// Headers of the slots, [`profiler_wire::header::BYTES`] each.
    pub headers: Vec<u8>,
    /// Lane 0's rooms, `1 << record_shift` bytes each.
    pub records: Vec<u8>,
    /// The rooms that the other lanes share, `1 << lane_shift` bytes a slot; empty if there are none.
    pub lanes: Vec<u8>,
    /// 32 counts of 8 bytes a slot; empty if there are no rooms for other lanes.
    pub lane_counts: Vec<u8>,
    /// What warps without a slot and lanes without a room lost.
    pub lost: Lost,
}
