//! Captures of any content, in whole files and in damaged ones.

mod build;
mod edit;

use arbitrary::Arbitrary;
use profiler_trace::{
    Capture, CaptureArray, CaptureDamage, DiagnosticKind as Kind, Region, Trace, Warp,
};

use crate::check;
pub use build::{Content, sample};
pub use edit::Edit;

/// A capture, and what happens to its file.
#[derive(Arbitrary, Clone, Debug)]
pub struct Input {
    /// The capture.
    pub content: Content,
    /// Which of the things made of a trace is checked.
    pub choice: u8,
    /// What is altered in its file.
    pub edits: Vec<Edit>,
}

/// Decodes the capture, writes and reads it, damages the file and reads that.
///
/// # Panics
///
/// If something does not hold.
pub fn check(input: &Input) {
    let (capture, emitted) = input.content.capture();
    let whole = check::capture(&capture, input.choice);
    if let Some(emitted) = emitted {
        assert_eq!(whole.recorded() + whole.lost(), emitted, "recorded + lost = emitted");
    }
    let file = write(&capture);
    let (read, damage) = Capture::read_from(file.as_slice()).expect("it was just written");
    assert_eq!(damage, []);
    assert_eq!(read.modules, capture.modules);
    assert_eq!(write(&read), file);

    let mut damaged = file.clone();
    input.edits.iter().take(4).for_each(|edit| edit.apply(&mut damaged));
    if input.edits.is_empty() || damaged == file {
        return;
    }
    // Where both copies of the metadata are lost there is nothing to compare.
    let Ok((read, damage)) = Capture::read_from(damaged.as_slice()) else { return };
    if damage.is_empty() {
        assert_eq!(write(&read), file, "what has no damage is what was written");
    } else {
        let trace = check::capture(&read, input.choice);
        check_damaged(&whole, &trace);
        // Where headers and counts are there it is known what was emitted.
        let is_counted = |damage: &CaptureDamage| match damage {
            CaptureDamage::Missing { array, .. } => {
                matches!(array, CaptureArray::Records | CaptureArray::Lanes)
            }
            _ => true,
        };
        if let Some(emitted) = emitted
            && damage.iter().all(is_counted)
        {
            assert_eq!(trace.recorded() + trace.lost(), emitted, "{damage:?}");
        }
    }
}

fn write(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).expect("a vector takes all");
    bytes
}

/// Checks that `damaged` has nothing that `whole` has not, and says what it lacks. Nanoseconds are
/// not compared: with fewer readings of the clocks the map is another.
fn check_damaged(whole: &Trace, damaged: &Trace) {
    let diagnostics = &damaged.diagnostics;
    assert!(diagnostics.count(Kind::DamagedCapture) > 0);
    let lacking = whole.warps.len() - damaged.warps.len();
    assert!(lacking as u64 <= diagnostics.count(Kind::UnreadableSlot), "{diagnostics}");
    let key = |trace: &Trace, warp: &Warp| {
        let launch = &trace.launches[warp.launch];
        (launch.kernel, launch.grid_id, warp.slot, warp.block, warp.warp)
    };
    let unreadable = diagnostics.count(Kind::UnreadableRecords);
    let mut lanes_lacking = 0;
    for warp in &damaged.warps {
        let of = key(damaged, warp);
        let before = whole.warps.iter().find(|before| key(whole, before) == of);
        let before = before.expect("a damaged capture has no other warps");
        let ends = |warp: &Warp| (warp.entry.ticks, warp.exit.map(|exit| exit.ticks));
        assert_eq!(ends(warp), ends(before));
        // What lane 0 recorded for all lanes all of them lack together, and with what it recorded itself.
        let lacks_shared = lacks(warp, before, 0, true);
        let lacks_leader = lacks(warp, before, 0, false);
        assert!(lacks_shared == lacks_leader || !has(before, 0, true) || !has(before, 0, false));
        lanes_lacking += u64::from(lacks_shared || lacks_leader);
        for lane in 0..32 {
            let lacks_own = lacks(warp, before, lane, false);
            assert_eq!(lacks(warp, before, lane, true), lacks_shared && has(before, lane, true));
            lanes_lacking += u64::from(lane != 0 && lacks_own);
            // Those of all lanes that it has not ended it has where its own records are there to tell.
            let [open, open_before] =
                [warp, before].map(|warp| records(warp, lane, Of::AllLanesOpen, false).len());
            // Without the others each of its regions lies less deep.
            let with_depth = !lacks_own && !lacks_shared && open == open_before;
            for of in [Of::Lane, Of::AllLanes, Of::AllLanesOpen] {
                let [mine, theirs] = [warp, before].map(|warp| records(warp, lane, of, with_depth));
                assert!(mine == theirs || mine.is_empty(), "{mine:?} and not {theirs:?}");
            }
        }
        assert!(warp.recorded <= before.recorded);
        assert!(warp.recorded + warp.lost <= before.recorded + before.lost);
        if unreadable == 0 {
            assert_eq!((warp.recorded, warp.lost), (before.recorded, before.lost));
        }
    }
    assert!(lanes_lacking <= unreadable, "{diagnostics}");
}

/// Whose records: those of a lane, or of what lane 0 recorded for all lanes marks and the regions that have ended,
/// or those that have not.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    Lane,
    AllLanes,
    AllLanesOpen,
}

/// Whether a lane has records of its own, or marks and ended regions that lane 0 recorded for all lanes.
fn has(warp: &Warp, lane: u8, shared: bool) -> bool {
    let of = if shared { Of::AllLanes } else { Of::Lane };
    !records(warp, lane, of, false).is_empty()
}

/// Whether nothing of that is left.
fn lacks(warp: &Warp, before: &Warp, lane: u8, shared: bool) -> bool {
    !has(warp, lane, shared) && has(before, lane, shared)
}

/// Records but for nanoseconds.
fn records(warp: &Warp, lane: u8, of: Of, with_depth: bool) -> Vec<String> {
    let of_region = |region: &Region| match (region.is_shared(), region.end) {
        (false, _) => Of::Lane,
        (true, Some(_)) => Of::AllLanes,
        (true, None) => Of::AllLanesOpen,
    };
    let is_meant = |region: &&Region| region.lane == lane && of_region(region) == of;
    let regions = warp.regions.iter().filter(is_meant).map(|region| {
        let end = region.end.map(|end| end.ticks);
        let of = (region.site, region.track, with_depth.then_some(region.depth));
        format!("{of:?} {} {end:?} {:?}", region.start.ticks, region.value)
    });
    let of_mark = match of {
        Of::Lane => Some(false),
        Of::AllLanes => Some(true),
        Of::AllLanesOpen => None,
    };
    let marks =
        warp.marks.iter().filter(|mark| mark.lane == lane && of_mark == Some(mark.is_shared));
    let marks = marks.map(|mark| {
        format!("{:?} {:?} {} {:?}", mark.site, mark.track, mark.time.ticks, mark.value)
    });
    regions.chain(marks).collect()
}
