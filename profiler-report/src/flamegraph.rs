//! A flame graph of the regions by their self time, drawn by inferno from folded stacks.

use std::io::{self, Write};

use inferno::flamegraph::{Options, from_lines};
use profiler_trace::{Export, StackGroup, WarpSource};

use crate::text::legible;

/// Writes an SVG. Each frame is a region on top of its enclosing regions, with the kernel at the bottom; its
/// width is its time in nanoseconds over all warps, lanes and launches. The trace may be in memory or
/// streamed. The writer need not be buffered.
///
/// The frames and their self times are those of
/// [`Export::write_folded_to`], which covers regions that cross,
/// have no end, or were recorded by other lanes. Frames with less than a
/// ten-thousandth of all time are left out.
///
/// The image loads nothing. Pointing at a frame shows its figures; opened by itself in a browser, it
/// also zooms and finds regions by name.
///
/// # Errors
///
/// Those of the writer; and [`io::ErrorKind::InvalidInput`] if the trace holds no time at all, or
/// more nanoseconds than 64 bits hold.
pub fn write_flamegraph(trace: &impl WarpSource, writer: impl Write) -> io::Result<()> {
    let mut folded = Vec::new();
    trace.write_folded_to(&mut folded, StackGroup::Kernel)?;
    let folded = legible(&String::from_utf8_lossy(&folded));
    let mut options = Options::default();
    options.title = legible(&crate::page::kernels(trace.outline()));
    options.subtitle = Some(legible(&trace.notes().join(" · ")));
    options.count_name = "ns".to_owned();
    options.name_type = "Region:".to_owned();
    // Colours by name: the same trace makes the same bytes.
    options.deterministic = true;
    draw(&folded, &mut options, io::BufWriter::with_capacity(1 << 16, writer))
}

fn draw(folded: &str, options: &mut Options<'_>, writer: impl Write) -> io::Result<()> {
    let lines = folded.lines().filter_map(|line| line.rsplit_once(' '));
    let mut stacks: Vec<(&str, u64)> =
        lines.filter_map(|(stack, ns)| Some((stack, ns.parse().ok()?))).collect();
    let total = stacks.iter().try_fold(0, |total: u64, (_, ns)| total.checked_add(*ns));
    if total.is_none_or(|total| total == 0) {
        let cause = match total {
            None => {
                "the times of the regions add up to more than 584 years; check the clock readings"
            }
            Some(_) => {
                "the trace holds no kernel and no region that lasted, so that there is nothing to \
                 draw; record at least one launch to its end"
            }
        };
        return Err(io::Error::new(io::ErrorKind::InvalidInput, cause));
    }
    // inferno sorts lines byte by byte, which parts `tile` from `tile;load` if there is a `tile.b`. As
    // a flame chart it takes lines as they are, the last first.
    stacks.sort_by(|(left, _), (right, _)| right.split(';').cmp(left.split(';')));
    options.flame_chart = true;
    let lines: Vec<String> = stacks
        .into_iter()
        .map(|(stack, ns)| match stack.strip_prefix("# ") {
            // inferno takes it for a comment.
            Some(rest) => format!("#\u{a0}{rest} {ns}"),
            None => format!("{stack} {ns}"),
        })
        .collect();
    from_lines(options, lines.iter().map(String::as_str), writer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The title of each frame, its begin and its width, in nanoseconds.
    fn frames(folded: &str) -> Vec<(String, u64, u64)> {
        let mut svg = Vec::new();
        draw(folded, &mut Options::default(), &mut svg).expect("memory is written");
        let svg = String::from_utf8(svg).expect("an SVG is UTF-8");
        let value = |frame: &str, name: &str| {
            let value = frame.split(&format!("{name}=\"")).nth(1).expect("an attribute");
            value.split('"').next().and_then(|value| value.parse().ok()).expect("a number")
        };
        let frames = svg.split("<g><title>").skip(1);
        frames
            .map(|frame| {
                let said = frame.split(" (").next().expect("a title");
                (said.to_owned(), value(frame, "fg:x"), value(frame, "fg:w"))
            })
            .collect()
    }

    #[test]
    fn frames_lie_in_those_around_them_side_by_side() {
        let mut frames = frames(
            "gemm 30\ngemm;tile 20\ngemm;tile.b 40\ngemm;tile;wait 10\n# x 5\ngemm;tile 5\n",
        );
        frames.sort_by(|left, right| (left.1, &left.0).cmp(&(right.1, &right.0)));
        let frames: Vec<(&str, u64, u64)> =
            frames.iter().map(|(name, from, ns)| (name.as_str(), *from, *ns)).collect();
        assert_eq!(
            frames,
            [
                ("#\u{a0}x", 0, 5),
                ("all", 0, 110),
                ("gemm", 5, 105),
                ("tile", 35, 35),
                ("wait", 60, 10),
                ("tile.b", 70, 40),
            ]
        );
    }

    #[test]
    fn more_time_than_can_be_drawn_is_an_error() {
        let folded = format!("gemm {0}\nconv {0}\n", u64::MAX);
        let error = draw(&folded, &mut Options::default(), io::sink()).expect_err("too much");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("584 years"));
    }
}
