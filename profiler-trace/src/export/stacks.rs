//! In which regions a recorder was, moment by moment: what flame graphs are made of.
//!
//! At every moment a lane has one stack: the kernel, and in it the regions of the lane that are open
//! then, the one that began first outermost. So every moment of a lane belongs to one stack only,
//! also where regions cross: while `a` and `b` cross, the stack is `a;b`, and once `a` has ended it
//! is `b`. What all frames of a region have in sum is the time of the region.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use profiler_wire::header::Dim3;

use crate::display;
use crate::export::walk::kernel_end;
use crate::model::{Region, SiteIndex, Time, Trace, Warp};

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Frame {
    /// A kernel, from a warp's entry to its exit.
    Kernel(SiteIndex),
    /// The same, of warps that never left: it ends with their launch.
    NeverLeft(SiteIndex),
    /// Around the regions of lanes other than lane 0, which have no time of the kernel of their own.
    OtherLanes(SiteIndex),
    /// A launch of a kernel.
    Launch(usize),
    /// An SM.
    Sm(u32),
    /// A block of a grid.
    Block { block: Dim3, grid: Dim3 },
    /// A warp of a block.
    Warp(u32),
    /// A region.
    Region(SiteIndex),
    /// A region without an end: it ends with its warp.
    Open(SiteIndex),
    /// Time of the kernel outside all regions, of warps that lost records: it may be of regions.
    RecordsLost,
    /// Everything that lies deeper than [`MOST_FRAMES`].
    Deeper,
}

/// How many regions in each other have a frame of their own. Those in them share one, so that tokens
/// which are never ended do not make stacks without limit.
const MOST_FRAMES: usize = 128;

impl Frame {
    /// The site that the frame is of.
    pub(super) fn site(self) -> Option<SiteIndex> {
        match self {
            Self::Kernel(site)
            | Self::NeverLeft(site)
            | Self::OtherLanes(site)
            | Self::Region(site)
            | Self::Open(site) => Some(site),
            _ => None,
        }
    }

    /// The frame as a person reads it.
    pub(super) fn label(self, trace: &Trace) -> String {
        let name = |site: SiteIndex, suffix| format!("{}{suffix}", trace.name_of(site));
        match self {
            Self::Kernel(site) | Self::Region(site) => name(site, ""),
            Self::NeverLeft(site) => name(site, " (never left)"),
            Self::OtherLanes(site) => name(site, " (other lanes)"),
            Self::Open(site) => name(site, " (open)"),
            Self::Launch(launch) => format!("launch {launch}"),
            Self::Sm(sm) => format!("SM {sm}"),
            Self::Block { block, grid } => display::block(block, grid),
            Self::Warp(warp) => format!("warp {warp}"),
            Self::RecordsLost => "(outside regions, or in regions that were lost)".to_owned(),
            Self::Deeper => format!("(deeper than {MOST_FRAMES} regions)"),
        }
    }
}

/// A moment in whole numbers, so that sums are exact: ticks, or [`PER_NS`]ths of a nanosecond.
pub(super) type Moment = i128;

/// Moments in a nanosecond. Of a trace of two minutes, a double holds no finer ones.
pub(super) const PER_NS: Moment = 1 << 16;

/// The unit in which stacks are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// [`PER_NS`]ths of a nanosecond on the trace's axis.
    Time,
    /// Ticks of the warp's clock.
    Ticks,
}

impl Scale {
    fn moment(self, time: Time) -> Moment {
        match self {
            Self::Time => moment(time.ns),
            Self::Ticks => time.ticks.into(),
        }
    }

    /// When a warp left; if it never did, when it was last heard of.
    pub(super) fn end(self, trace: &Trace, warp: &Warp) -> Moment {
        match (self, warp.exit) {
            (_, Some(exit)) => self.moment(exit),
            (Self::Time, None) => moment(kernel_end(trace, warp)),
            (Self::Ticks, None) => {
                let regions = warp.regions.iter().map(|region| region.end.unwrap_or(region.start));
                let marks = warp.marks.iter().map(|mark| mark.time);
                let ticks = regions.chain(marks).map(|time| time.ticks.into()).max();
                ticks.unwrap_or(0).max(warp.entry.ticks.into())
            }
        }
    }
}

/// Far beyond any trace (2^62 ns), it stops, so that sums have buffer.
pub(super) fn moment(ns: f64) -> Moment {
    const MOST: f64 = (1u64 << 62) as f64;
    // A cast from floating point makes 0 of what is not a number.
    (ns.clamp(-MOST, MOST) * PER_NS as f64).round() as Moment
}

/// Takes what a lane went through. Frames open and close as brackets do, in order of time.
pub(super) trait Watch {
    /// A frame opens in those that are open.
    fn open(&mut self, at: Moment, frame: Frame);
    /// The frame that opened last and has not closed closes.
    fn close(&mut self, at: Moment);
}

/// Something that a lane was in.
struct Span {
    start: Moment,
    end: Moment,
    /// How deep its recorder says it was: decides where times alone do not.
    depth: i32,
    /// `None` for the kernel, whose frames are the roots.
    frame: Option<Frame>,
}

impl Span {
    fn new(start: Moment, end: Moment, depth: i32, frame: Option<Frame>) -> Self {
        Self { start, end: end.max(start), depth, frame }
    }

    fn order(&self, other: &Self) -> Ordering {
        (self.start.cmp(&other.start))
            .then(self.depth.cmp(&other.depth))
            .then((self.end > self.start).cmp(&(other.end > other.start)))
            .then(other.end.cmp(&self.end))
    }

    fn ended_before(&self, later: &Self) -> bool {
        self.end < later.start || (self.end == later.start && later.depth <= self.depth)
    }
}

/// The lanes of a warp that recorded, lane 0 always among them.
pub(super) struct Lanes<'t> {
    trace: &'t Trace,
    warp: &'t Warp,
    regions: BTreeMap<u8, Vec<&'t Region>>,
}

impl<'t> Lanes<'t> {
    pub(super) fn new(trace: &'t Trace, warp: &'t Warp) -> Self {
        let mut regions: BTreeMap<u8, Vec<&Region>> = BTreeMap::from([(0, Vec::new())]);
        for region in &warp.regions {
            regions.entry(region.lane).or_default().push(region);
        }
        Self { trace, warp, regions }
    }

    /// Their numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u8> + use<'_> {
        self.regions.keys().copied()
    }

    /// The root of a lane's stacks.
    pub(super) fn root(&self, lane: u8, kernel: SiteIndex) -> Frame {
        match (lane, self.warp.exit) {
            (0, Some(_)) => Frame::Kernel(kernel),
            (0, None) => Frame::NeverLeft(kernel),
            _ => Frame::OtherLanes(kernel),
        }
    }

    /// Goes through what a lane was in. Its frames lie in `roots`, which are open while any is, and
    /// for lane 0 while the warp is in the kernel.
    pub(super) fn watch(&self, lane: u8, scale: Scale, roots: &[Frame], watch: &mut impl Watch) {
        let left = scale.end(self.trace, self.warp);
        let mut spans = Vec::new();
        if lane == 0 {
            spans.push(Span::new(scale.moment(self.warp.entry), left, i32::MIN, None));
        }
        spans.extend(self.regions.get(&lane).into_iter().flatten().map(|region| {
            let (end, frame) = match region.end {
                Some(end) => (scale.moment(end), Frame::Region(region.site)),
                None => (left, Frame::Open(region.site)),
            };
            Span::new(scale.moment(region.start), end, i32::from(region.depth), Some(frame))
        }));
        spans.sort_by(Span::order);
        Stack {
            spans: &spans,
            roots,
            shown: Vec::new(),
            hidden: BTreeSet::new(),
            crossing: Vec::new(),
            watch,
        }
        .run();
    }
}

/// The spans that are open, as indices: in order, the one that began first has the lowest.
struct Stack<'a, W> {
    spans: &'a [Span],
    roots: &'a [Frame],
    shown: Vec<usize>,
    /// Those beyond [`MOST_FRAMES`].
    hidden: BTreeSet<usize>,
    /// Of [`Self::close`]; empty between its calls.
    crossing: Vec<usize>,
    watch: &'a mut W,
}

impl<W: Watch> Stack<'_, W> {
    fn run(mut self) {
        // What ends first; of what ends together, what began last.
        let mut ends: BinaryHeap<(Reverse<Moment>, usize)> = BinaryHeap::new();
        let mut together = Vec::new();
        for (index, span) in self.spans.iter().enumerate() {
            while let Some(&(_, ended)) = ends.peek()
                && self.spans[ended].ended_before(span)
            {
                ends.pop();
                self.ended(ended, &mut together);
            }
            self.close(&mut together);
            self.open(index);
            ends.push((Reverse(span.end), index));
        }
        while let Some((_, ended)) = ends.pop() {
            self.ended(ended, &mut together);
        }
        self.close(&mut together);
    }

    /// Gathers what ends together, so that no stack is seen that has only a part of it.
    fn ended(&mut self, index: usize, together: &mut Vec<usize>) {
        if together.first().is_some_and(|&other| self.spans[other].end < self.spans[index].end) {
            self.close(together);
        }
        together.push(index);
    }

    fn open(&mut self, index: usize) {
        let at = self.spans[index].start;
        if self.shown.is_empty() {
            self.roots.iter().for_each(|&root| self.watch.open(at, root));
        }
        if self.shown.len() < MOST_FRAMES {
            self.show(at, index);
        } else {
            if self.hidden.is_empty() {
                self.watch.open(at, Frame::Deeper);
            }
            self.hidden.insert(index);
        }
    }

    fn show(&mut self, at: Moment, index: usize) {
        self.shown.push(index);
        if let Some(frame) = self.spans[index].frame {
            self.watch.open(at, frame);
        }
    }

    /// Closes spans that end at one moment; they are no longer in the list then.
    fn close(&mut self, ended: &mut Vec<usize>) {
        let Some(&first) = ended.first() else { return };
        let at = self.spans[first].end;
        let had_hidden = !self.hidden.is_empty();
        let mut lowest = self.shown.len();
        for &index in ended.iter() {
            if !self.hidden.remove(&index)
                && let Ok(place) = self.shown.binary_search(&index)
            {
                lowest = lowest.min(place);
            }
        }
        // One list for all ends: they are as many as regions.
        let mut crossing = std::mem::take(&mut self.crossing);
        crossing.extend(self.shown.drain(lowest..));
        if had_hidden && (self.hidden.is_empty() || !crossing.is_empty()) {
            self.watch.close(at);
        }
        // What crosses the ends lies in them: it is closed with them, and opened again without.
        for &open in crossing.iter().rev() {
            if self.spans[open].frame.is_some() {
                self.watch.close(at);
            }
        }
        let has_buffer = !crossing.is_empty();
        for open in crossing.drain(..).filter(|open| !ended.contains(open)) {
            self.show(at, open);
        }
        self.crossing = crossing;
        ended.clear();
        if !has_buffer {
            return;
        }
        while self.shown.len() < MOST_FRAMES
            && let Some(next) = self.hidden.pop_first()
        {
            self.show(at, next);
        }
        if !self.hidden.is_empty() {
            self.watch.open(at, Frame::Deeper);
        }
        if self.shown.is_empty() {
            self.roots.iter().for_each(|_| self.watch.close(at));
        }
    }
}
