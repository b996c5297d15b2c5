//! A flame graph of the regions, by their self time.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use profiler_trace::{Decoder, Diagnostics, StackGroup, WarpSource};

use crate::text::{count, duration, escape, percent, things, wrap};

const STYLE: &str = include_str!("../assets/flamegraph.css");
const SCRIPT: &str = include_str!("../assets/flamegraph.js");

/// Okabe and Ito's colours, in the order in which the page gives them to regions.
const HUES: [[f64; 3]; 7] = [
    [0.0, 114.0, 178.0],
    [230.0, 159.0, 0.0],
    [0.0, 158.0, 115.0],
    [204.0, 121.0, 167.0],
    [86.0, 180.0, 233.0],
    [213.0, 94.0, 0.0],
    [240.0, 228.0, 66.0],
];
/// After the hues come darker ones, then lighter ones, then the first again.
const COLORS: usize = HUES.len() * 3;

/// A frame and the gap above it, in pixels.
const ROW_PIXELS: usize = 18;
/// The image's width where no script fits it to its window.
const WIDTH_PIXELS: usize = 1200;
/// What fits a line of notes, about.
const NOTE_CHARACTERS: usize = 170;
/// The frame around all kernels.
const ALL: usize = 0;
/// Frames with a smaller share of all time are left out, and counted.
const SMALLEST_SHARE: f64 = 1e-4;
/// Below this share of the image's first width a name does not fit its frame.
const NAMED_SHARE: f64 = 0.02;

/// What a flame graph shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlamegraphOptions {
    /// Its title; by default the names of the kernels.
    pub title: Option<String>,
}

/// Writes an SVG in which each frame is a region within those that it lies in, the kernel at the
/// bottom, as wide as its time in nanoseconds over all warps, lanes and launches. The trace may be one
/// in memory or one that is streamed. The writer need not be buffered.
///
/// The frames and their self times are those of
/// [`Trace::write_folded_to`](profiler_trace::Trace::write_folded_to), which says what they are
/// where regions cross, have no end, or were recorded by other lanes. Frames with less than a
/// ten-thousandth of all time are left out; the image says how many.
///
/// The image loads nothing. Pointing at a frame shows its figures; opened by itself in a browser, it
/// also zooms and finds regions by name. It follows the system's choice of light or dark.
///
/// # Errors
///
/// Those of the writer; and [`io::ErrorKind::InvalidInput`] where the trace holds no time at all.
pub fn write_flamegraph(
    trace: &impl WarpSource,
    writer: impl Write,
    options: &FlamegraphOptions,
) -> io::Result<()> {
    let mut folded = Vec::new();
    trace.write_folded_to(&mut folded, StackGroup::Kernel)?;
    let tree = Tree::read(&String::from_utf8_lossy(&folded));
    if tree.frames[ALL].ns == 0 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the trace holds no kernel and no region that lasted, so that there is nothing to draw; \
             record at least one launch to its end",
        ));
    }
    let title = options.title.clone().unwrap_or_else(|| crate::page::kernels(trace.outline()));
    let mut writer = BufWriter::with_capacity(1 << 16, writer);
    Drawing::new(&tree).write(&title, &trace.notes(), &mut writer)?;
    writer.flush()
}

/// Writes what [`write_flamegraph`] writes, and decodes warps as it goes, each of them twice. Returns
/// what was lost or odd in the capture,
/// [`Trace::diagnostics`](profiler_trace::Trace::diagnostics).
///
/// Next to the capture, this holds what [`Decoder::outline`] returns, the regions of one warp, and all
/// distinct stacks.
///
/// # Errors
///
/// Those of [`write_flamegraph`].
pub fn decode_to_flamegraph(
    decoder: &Decoder<'_>,
    writer: impl Write,
    options: &FlamegraphOptions,
) -> io::Result<Diagnostics> {
    let trace = decoder.streamed();
    write_flamegraph(&trace, writer, options)?;
    Ok(trace.into_outline().diagnostics)
}

/// A stack, by the frame that it adds to the one around it.
#[derive(Default)]
struct Frame {
    name: String,
    /// Nanoseconds in this stack and in those that are deeper.
    ns: u128,
    /// Nanoseconds in no deeper one.
    self_ns: u128,
    /// How many frames are around it.
    depth: usize,
    /// Frames in it, in the order in which they were first seen.
    inner: Vec<usize>,
}

/// All stacks. The first frame is around all others.
struct Tree {
    frames: Vec<Frame>,
}

impl Tree {
    /// Reads folded stacks. Sites of one name make one frame.
    fn read(folded: &str) -> Self {
        let all = Frame { name: "all".to_owned(), ..Frame::default() };
        let mut frames = vec![all];
        let mut index: HashMap<(usize, &str), usize> = HashMap::new();
        for line in folded.lines() {
            // As every line is written: nothing but a number stands behind the last space.
            let Some((stack, ns)) = line.rsplit_once(' ') else { continue };
            let Ok(ns) = ns.parse::<u128>() else { continue };
            let mut at = ALL;
            frames[at].ns += ns;
            for (outer, name) in stack.split(';').enumerate() {
                at = *index.entry((at, name)).or_insert_with(|| {
                    let new = frames.len();
                    let name = name.to_owned();
                    frames.push(Frame { name, depth: outer + 1, ..Frame::default() });
                    frames[at].inner.push(new);
                    new
                });
                frames[at].ns += ns;
            }
            frames[at].self_ns += ns;
        }
        Self { frames }
    }

    fn share(&self, ns: u128) -> f64 {
        ns as f64 / self.frames[ALL].ns as f64
    }

    /// A colour for each name of a region. Those with the most time have the first colours.
    fn colors(&self) -> HashMap<&str, usize> {
        let mut names: Vec<(&str, u128)> = Vec::new();
        let mut index: HashMap<&str, usize> = HashMap::new();
        for frame in self.frames.iter().filter(|frame| frame.is_region()) {
            let name = frame.region();
            let at = *index.entry(name).or_insert_with(|| {
                names.push((name, 0));
                names.len() - 1
            });
            names[at].1 += frame.ns;
        }
        // Stable, so that the same trace makes the same bytes.
        names.sort_by_key(|&(_, ns)| std::cmp::Reverse(ns));
        names.iter().enumerate().map(|(rank, &(name, _))| (name, rank % COLORS)).collect()
    }
}

impl Frame {
    /// Whether it is in a kernel. Those in parentheses stand for what is not known.
    fn is_region(&self) -> bool {
        self.depth > 1 && !(self.name.starts_with('(') && self.name.ends_with(')'))
    }

    /// The region's name, whether it has an end or not.
    fn region(&self) -> &str {
        self.name.strip_suffix(" (open)").unwrap_or(&self.name)
    }
}

/// The frames that are drawn, and where.
struct Drawing<'t> {
    tree: &'t Tree,
    /// Frames and the nanoseconds to the left of them, outer ones first.
    placed: Vec<(usize, u128)>,
    left_out: u64,
}

impl<'t> Drawing<'t> {
    fn new(tree: &'t Tree) -> Self {
        let mut drawing = Self { tree, placed: Vec::new(), left_out: 0 };
        let mut open = vec![(ALL, 0)];
        while let Some((at, from)) = open.pop() {
            if tree.share(tree.frames[at].ns) < SMALLEST_SHARE {
                drawing.left_out += 1;
            } else {
                drawing.placed.push((at, from));
            }
            let mut to = from;
            let inner = tree.frames[at].inner.iter().map(|&inner| {
                let from = to;
                to += tree.frames[inner].ns;
                (inner, from)
            });
            let inner: Vec<(usize, u128)> = inner.collect();
            open.extend(inner.into_iter().rev());
        }
        drawing
    }

    fn write(&self, title: &str, notes: &[String], out: &mut impl Write) -> io::Result<()> {
        let mut lines: Vec<String> =
            notes.iter().flat_map(|note| wrap(note, NOTE_CHARACTERS)).collect();
        if self.left_out > 0 {
            lines.push(format!(
                "{} narrower than {} of all time {} left out",
                things(self.left_out, "frame", "frames"),
                percent(SMALLEST_SHARE),
                if self.left_out == 1 { "is" } else { "are" },
            ));
        }
        let drawn = self.placed.iter().map(|&(at, _)| self.tree.frames[at].depth);
        let deepest = drawn.max().unwrap_or_default();
        let above = 46 + lines.len() * 16;
        let graph = (deepest + 1) * ROW_PIXELS;
        write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH_PIXELS}\" height=\"{}\">\n\
             <title>{title}</title>\n<style>\n{STYLE}",
            above + graph + 12,
            title = escape(title),
        )?;
        let colors = self.tree.colors();
        for color in 0..colors.len().min(COLORS) {
            writeln!(out, "{}", rule(color))?;
        }
        write!(
            out,
            "</style>\n<rect id=\"page\" width=\"100%\" height=\"100%\"/>\n\
             <text id=\"title\" x=\"1%\" y=\"26\">{}</text>\n",
            escape(title)
        )?;
        for (at, line) in lines.iter().enumerate() {
            let y = 46 + at * 16;
            writeln!(out, "<text class=\"note\" x=\"1%\" y=\"{y}\">{}</text>", escape(line))?;
        }
        writeln!(
            out,
            "<svg id=\"frames\" x=\"1%\" y=\"{above}\" width=\"98%\" height=\"{graph}\">"
        )?;
        for &(at, from) in &self.placed {
            let frame = &self.tree.frames[at];
            let color = colors.get(frame.region()).filter(|_| frame.is_region());
            self.frame(frame, from, color, (deepest - frame.depth) * ROW_PIXELS, out)?;
        }
        write!(out, "</svg>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n")
    }

    /// A drawing of its own for each frame, so that names are cut at its edge.
    fn frame(
        &self,
        frame: &Frame,
        from: u128,
        color: Option<&usize>,
        y: usize,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let share = self.tree.share(frame.ns);
        let color = color.map_or_else(|| "none".to_owned(), |color| color.to_string());
        let narrow = if share < NAMED_SHARE { " narrow" } else { "" };
        write!(
            out,
            "<svg class=\"frame c{color}{narrow}\" x=\"{:.4}%\" y=\"{y}\" width=\"{:.4}%\" \
             height=\"{}\" data-from=\"{from}\" data-ns=\"{}\" data-depth=\"{}\"><title>{name}\n{} \
             ({} ns), {} of all",
            self.tree.share(from) * 100.0,
            share * 100.0,
            ROW_PIXELS - 1,
            frame.ns,
            frame.depth,
            duration(frame.ns as f64),
            grouped(frame.ns),
            percent(share),
            name = escape(&frame.name),
        )?;
        if !frame.inner.is_empty() && frame.depth > 0 {
            let outside = self.tree.share(frame.self_ns);
            let time = duration(frame.self_ns as f64);
            write!(out, "\noutside the regions in it {time}, {}", percent(outside))?;
        }
        writeln!(
            out,
            "</title><rect width=\"100%\" height=\"100%\"/><text x=\"4\" y=\"13\">{}</text></svg>",
            escape(&frame.name)
        )
    }
}

/// A number with its digits in groups.
fn grouped(ns: u128) -> String {
    u64::try_from(ns).map_or_else(|_| ns.to_string(), count)
}

/// A colour's rule, with black or white for the name, whichever differs more from it.
fn rule(color: usize) -> String {
    let hue = HUES[color % HUES.len()];
    let part = |part: f64| match color / HUES.len() {
        0 => part,
        1 => part * 0.62,
        _ => part + (255.0 - part) * 0.5,
    };
    let [red, green, blue] = hue.map(|one| part(one).round());
    // Relative luminance, by the Web Content Accessibility Guidelines; black and white differ as much
    // from 0.179.
    let linear = |part: f64| match part / 255.0 {
        share if share <= 0.04045 => share / 12.92,
        share => ((share + 0.055) / 1.055).powf(2.4),
    };
    let luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let ink = if luminance > 0.179 { "#000" } else { "#fff" };
    format!(".c{color} rect {{ fill: rgb({red},{green},{blue}) }} .c{color} text {{ fill: {ink} }}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(folded: &str) -> Vec<(String, usize, u128, u128)> {
        let tree = Tree::read(folded);
        let drawing = Drawing::new(&tree);
        let frames = drawing.placed.iter().map(|&(at, from)| {
            let frame = &tree.frames[at];
            (frame.name.clone(), frame.depth, from, frame.ns)
        });
        frames.collect()
    }

    #[test]
    fn frames_lie_in_those_around_them_side_by_side() {
        let frames = placed("gemm 30\ngemm;mma 20\ngemm;mma;wait 10\ngemm;load 40\nother 5\n");
        let frames: Vec<_> = frames
            .iter()
            .map(|(name, depth, from, ns)| (name.as_str(), *depth, *from, *ns))
            .collect();
        assert_eq!(
            frames,
            [
                ("all", 0, 0, 105),
                ("gemm", 1, 0, 100),
                ("mma", 2, 0, 30),
                ("wait", 3, 0, 10),
                ("load", 2, 30, 40),
                ("other", 1, 100, 5),
            ]
        );
    }

    #[test]
    fn stacks_of_one_name_are_one_frame() {
        let frames = placed("gemm;a 1\ngemm;b 2\ngemm;a 4\n");
        assert_eq!(frames[2], ("a".to_owned(), 2, 0, 5));
        assert_eq!(frames.len(), 4);
    }

    #[test]
    fn what_is_too_narrow_is_counted() {
        let tree = Tree::read("gemm;long 1000000\ngemm;short 7\ngemm;short;shorter 3\n");
        let drawing = Drawing::new(&tree);
        assert_eq!(drawing.placed.len(), 3);
        assert_eq!(drawing.left_out, 2);
        let mut svg = Vec::new();
        drawing.write("gemm", &[], &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.contains("2 frames narrower than 0.01 % of all time are left out"), "{svg}");
    }

    #[test]
    fn colours_go_by_time_and_open_regions_have_that_of_their_name() {
        let tree = Tree::read("k 9\nk;a 1\nk;b 5\nk;a (open) 6\nk;(outside regions, or lost) 9\n");
        assert_eq!(tree.colors(), HashMap::from([("a", 0), ("b", 1)]));
    }
}
