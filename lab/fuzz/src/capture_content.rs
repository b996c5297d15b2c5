//! Captures of any content, in whole files and in damaged ones.

mod build;
mod edit;

use arbitrary::Arbitrary;
use profiler_trace::{Capture, CaptureArray, CaptureDamage, DiagnosticKind as Kind, Trace, Warp};

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
        for lane in 0..32 {
            let [mine, theirs] = [warp, before].map(|warp| records(warp, lane));
            assert!(mine == theirs || mine.is_empty(), "{mine:?} and not {theirs:?}");
            lanes_lacking += u64::from(mine != theirs);
        }
        assert!(warp.recorded <= before.recorded);
        assert!(warp.recorded + warp.lost <= before.recorded + before.lost);
        if unreadable == 0 {
            assert_eq!((warp.recorded, warp.lost), (before.recorded, before.lost));
        }
    }
    assert!(lanes_lacking <= unreadable, "{diagnostics}");
}

/// The records of a lane, but for nanoseconds.
fn records(warp: &Warp, lane: u8) -> Vec<String> {
    let regions = warp.regions.iter().filter(|region| region.lane == lane).map(|region| {
        let end = region.end.map(|end| end.ticks);
        let of = (region.site, region.track, region.depth);
        format!("{of:?} {} {end:?} {:?}", region.start.ticks, region.value)
    });
    let marks = warp.marks.iter().filter(|mark| mark.lane == lane).map(|mark| {
        format!("{:?} {:?} {} {:?}", mark.site, mark.track, mark.time.ticks, mark.value)
    });
    regions.chain(marks).collect()
}
