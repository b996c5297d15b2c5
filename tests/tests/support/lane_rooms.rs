//! Rooms of lanes, of which a builder refuses the words where there are none.

use profiler_host::{LaneRooms, ProfilerBuilder};

/// Rooms of so many words for lanes, where `rooms` says that they have any.
pub(crate) fn with_lane_rooms(
    builder: ProfilerBuilder,
    rooms: LaneRooms,
    words: u32,
) -> ProfilerBuilder {
    let builder = builder.lane_rooms(rooms);
    if rooms == LaneRooms::Never { builder } else { builder.words_per_lane(words) }
}
