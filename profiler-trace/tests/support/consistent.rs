//! What holds of the records of any trace. The fuzz targets check it too.

use profiler_trace::{Region, Trace};

/// Launches and warps refer to each other, times are finite and in order, records are sorted.
pub(crate) fn consistent(trace: &Trace) {
    for (index, launch) in trace.launches.iter().enumerate() {
        assert!(launch.start_ns <= launch.end_ns);
        assert!(trace.warps[launch.warps.clone()].iter().all(|warp| warp.launch == index));
    }
    for warp in &trace.warps {
        let times = warp.regions.iter().flat_map(|region| [Some(region.start), region.end]);
        let times = times.flatten().chain(warp.marks.iter().map(|mark| mark.time));
        let times = times.chain(warp.anchors.iter().map(|anchor| anchor.time));
        assert!(times.chain([warp.entry]).all(|time| time.ns.is_finite() && time.ns >= 0.0));
        for region in &warp.regions {
            let end = region.end.unwrap_or(region.start);
            assert!(end.ticks >= region.start.ticks && end.ns >= region.start.ns);
        }
        let end = |region: &Region| region.end.map_or(u64::MAX, |end| end.ticks);
        assert!(warp.regions.is_sorted_by(|left, right| {
            left.start.ticks < right.start.ticks
                || left.start.ticks == right.start.ticks && end(left) >= end(right)
        }));
        assert!(warp.marks.is_sorted_by_key(|mark| mark.time.ticks));
        // A record is at most one region or mark; of a token, begin and end are a record each.
        assert!((warp.regions.len() + warp.marks.len()) as u64 <= warp.recorded);
    }
    for edge in &trace.edges {
        assert!(edge.from.mark < trace.warps[edge.from.warp].marks.len());
        assert!(edge.to.mark < trace.warps[edge.to.warp].marks.len());
    }
    assert!(trace.resolution_ns > 0.0 && trace.timer_step_ns > 0.0);
    assert!(trace.alignment_ns >= trace.timer_step_ns);
}
