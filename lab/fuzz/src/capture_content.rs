//! Captures of any content, in whole files and in damaged ones.

mod build;
mod edit;

use arbitrary::Arbitrary;
use profiler_trace::Capture;

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
    let read = Capture::read_from(file.as_slice()).expect("it was just written");
    assert_eq!(read.modules, capture.modules);
    assert_eq!(write(&read), file);

    let mut damaged = file.clone();
    input.edits.iter().take(4).for_each(|edit| edit.apply(&mut damaged));
    if damaged != file {
        assert!(Capture::read_from(damaged.as_slice()).is_err(), "it is not what was written");
    }
}

fn write(capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    capture.write_to(&mut bytes).expect("a vector takes all");
    bytes
}
