//! Buffers of lanes, whose size a builder refuses where there are none.

use profiler_host::{LaneBuffers, ProfilerBuilder};

/// Buffers of so many records for lanes, where `buffers` says that they have any.
pub(crate) fn with_lane_buffers(
    builder: ProfilerBuilder,
    buffers: LaneBuffers,
    records: u32,
) -> ProfilerBuilder {
    let builder = builder.lane_buffers(buffers);
    if buffers == LaneBuffers::Never { builder } else { builder.records_per_lane(records) }
}
