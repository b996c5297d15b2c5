//! The number of steps that a page takes, known before the first is done.
//!
//! A step is one pass over a warp, some 25 ns a region. Slower work counts as several steps, by its time for
//! 10^6 and for 10^7 regions.

use profiler_trace::Trace;

/// Steps of the statistics for each warp.
const STATISTICS: usize = 4;
/// Steps for each warp of gathering everything but the statistics and the single regions.
pub(crate) const COLLECT_SIXTEENTHS: u64 = 16 * COLLECT as u64;
const COLLECT: usize = 4;
/// Regions that one pass covers in the time of packing and compressing one.
const PACK: u128 = 16;
/// Bytes of a region in a page, before compression.
const REGION_BYTES: u64 = 5;

/// Steps for the extent of the trace, its statistics, and gathering.
pub(crate) fn of_warps(trace: &Trace) -> usize {
    trace.warps.len().saturating_mul(1 + STATISTICS + COLLECT)
}

/// Steps to pack and compress as many single regions as so many bytes hold.
pub(crate) fn of_detail(trace: &Trace, bytes: usize) -> usize {
    let records = trace.recorded().max(1);
    let packed = records.min(bytes as u64 / REGION_BYTES);
    let steps = trace.warps.len() as u128 * PACK * u128::from(packed) / u128::from(records);
    usize::try_from(steps).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use profiler_test_tools::synthetic::{Content, sized};
    use profiler_trace::{Decoder, Progress};

    use super::{of_detail, of_warps};
    use crate::{ReportOptions, write_html};

    #[test]
    fn a_page_takes_as_many_steps_as_are_planned() {
        let capture = sized(50_000, Content::Mixed).expect("the sites are whole");
        let decoder = Decoder::new(&capture);
        let trace = decoder.streamed();
        for detail_bytes in [0, 10_000, 8_000_000] {
            let (progress, options) =
                (Progress::default(), ReportOptions { detail_bytes, ..ReportOptions::default() });
            let written = progress.watch(|| write_html(&trace, std::io::sink(), &options));
            written.expect("a sink takes everything");
            let outline = decoder.outline();
            let planned = (of_warps(&outline) + of_detail(&outline, detail_bytes)) as u64;
            assert_eq!((progress.expected(), progress.done()), (planned, planned));
        }
    }
}
