//! Some warps of a trace, told from the whole. The fuzz targets check it too.

use profiler_trace::{Edge, MarkIndex, Trace, Warp};

/// What a trace has of these warps, by the words of [`Decoder::only`](profiler_trace::Decoder::only).
pub(crate) fn part_of(whole: &Trace, takes: impl Fn(&Warp) -> bool) -> Trace {
    let mut part = whole.clone();
    part.warps.retain(&takes);
    part.left_out_warps = (whole.warps.len() - part.warps.len()) as u64;
    let mut start = 0;
    for (number, launch) in part.launches.iter_mut().enumerate() {
        let count = part.warps.iter().filter(|warp| warp.launch == number).count();
        launch.warps = start..start + count;
        start += count;
    }
    let kept: Vec<usize> =
        (0..whole.warps.len()).filter(|&warp| takes(&whole.warps[warp])).collect();
    let place =
        |mark: MarkIndex| Some(MarkIndex { warp: kept.binary_search(&mark.warp).ok()?, ..mark });
    let edges = whole.edges.iter();
    let edges =
        edges.filter_map(|edge| Some(Edge { from: place(edge.from)?, to: place(edge.to)? }));
    part.edges = edges.collect();
    part
}
