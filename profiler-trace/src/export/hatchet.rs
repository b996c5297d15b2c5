//! Hatchet's literal format, as Triton's proton writes it and `proton-viewer` reads it.
//!
//! The viewer shows for every frame the sum over it and all that is in it, so that the file holds of
//! each frame what was spent in it and in no frame below it.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use serde_core::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::export::stacks::{Frame, Lanes, Moment, PER_NS, Scale, Watch};
use crate::export::tree::{Adder, Tree};
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;
use crate::source::notes;
use crate::stats::collect::{may_record, site_strategy};

pub(super) fn write(source: &impl WarpSource, writer: &mut impl Write) -> io::Result<()> {
    let profile = Profile::new(source);
    serde_json::to_writer(&mut *writer, &profile)?;
    writer.write_all(b"\n")
}

struct Profile<'t> {
    trace: &'t Trace,
    /// See [`Trace::sites_by_name`].
    names: Vec<SiteIndex>,
    tree: Tree,
    /// Of each node, the cycles that warps spent in it and in all below it, divided launch by launch by the
    /// warps that could record them; empty where not all records hold cycles.
    normalized: Vec<f64>,
    /// Whether all records hold cycles.
    has_cycles: bool,
    /// What is to be known of the trace.
    notes: Vec<String>,
}

impl<'t> Profile<'t> {
    fn new(source: &'t impl WarpSource) -> Self {
        let trace = source.outline();
        let has_cycles = trace.warps.iter().all(|warp| warp.clock == Clock::Cycles);
        let mut profile = Self {
            trace,
            names: trace.sites_by_name(),
            tree: Tree::default(),
            normalized: Vec::new(),
            has_cycles,
            notes: notes::summary(source),
        };
        let mut next = 0;
        for warps in trace.warps.chunk_by(|left, right| left.launch == right.launch) {
            let first = next;
            next += warps.len();
            if let Some(launch) = warps.first().and_then(|warp| trace.launches.get(warp.launch)) {
                profile.launch(launch.kernel, first..next, source);
            }
        }
        profile
    }

    fn launch(&mut self, kernel: SiteIndex, warps: Range<usize>, source: &impl WarpSource) {
        let mut of_launch = Tree::default();
        let mut warp_ticks = WarpTicks::default();
        for index in Progress::each(warps.clone()) {
            let warp = &*source.warp(index);
            let lanes = Lanes::new(self.trace, warp);
            for lane in lanes.numbers() {
                let root = [lanes.root(lane, kernel)];
                let has_lost = warp.lost > 0 && lane == 0;
                let mut add = |scale| {
                    let mut adder = Adder::new(&mut of_launch, scale, root.len(), has_lost);
                    lanes.watch(lane, scale, &root, &mut adder);
                };
                add(Scale::Time);
                if self.has_cycles {
                    add(Scale::Ticks);
                    let mut spans = SpansOfLane {
                        ticks: &mut warp_ticks,
                        tree: &mut of_launch,
                        names: &self.names,
                        open: Vec::new(),
                    };
                    lanes.watch(lane, Scale::Ticks, &root, &mut spans);
                }
            }
            warp_ticks.finish_warp();
        }
        self.merge(&of_launch, warp_ticks.of_nodes, &self.trace.warps[warps]);
    }

    /// Adds the frames of a launch; `ticks` is what its warps spent in each and in all below it.
    fn merge(&mut self, of_launch: &Tree, mut ticks: Vec<Moment>, warps: &[Warp]) {
        let mut recorders = Recorders { trace: self.trace, warps, known: HashMap::new() };
        ticks.resize(of_launch.nodes.len(), 0);
        for (node, ticks) in of_launch.nodes.iter().zip(&mut ticks) {
            // Only lane 0 has such a frame, which no lane enters or leaves.
            if node.frame == Frame::RecordsLost {
                *ticks = node.own.ticks;
            }
        }
        // Of each node of the launch, its place in the whole tree, and who could record it.
        let mut nodes: Vec<(usize, u64)> = Vec::with_capacity(of_launch.nodes.len());
        for (node, ticks) in of_launch.nodes.iter().zip(ticks) {
            let parent = node.parent.map(|parent| nodes[parent]);
            let index = self.tree.child(parent.map(|(index, _)| index), node.frame);
            let recorders = match (node.frame.site(), parent) {
                (Some(site), _) => recorders.of(site),
                (None, Some((_, recorders))) => recorders,
                (None, None) => 0,
            };
            nodes.push((index, recorders));
            let own = &mut self.tree.nodes[index].own;
            own.time += node.own.time;
            own.ticks += node.own.ticks;
            self.normalized.resize(self.tree.nodes.len(), 0.0);
            if recorders > 0 {
                self.normalized[index] += ticks as f64 / recorders as f64;
            }
        }
    }

    /// The kind of device, as proton calls it.
    fn device_type(&self) -> &'static str {
        if self.trace.device.emulated { "EMULATOR" } else { "CUDA" }
    }
}

/// Ticks that warps spend in each frame of a launch, and in all below it. While several lanes of a warp
/// are in regions of one name, or one lane is several times, the warp's time counts once, for the frame that
/// began first.
#[derive(Default)]
struct WarpTicks {
    /// By node of the launch's tree.
    of_nodes: Vec<Moment>,
    /// Of the warp at hand: what counts once, begin and end, and the node to count it for.
    spans: Vec<(Frame, Moment, Moment, usize)>,
}

impl WarpTicks {
    fn finish_warp(&mut self) {
        self.spans.sort_unstable();
        let mut last: Option<(Frame, Moment)> = None;
        for (frame, start, end, node) in self.spans.drain(..) {
            let until = last.filter(|(of, _)| *of == frame).map_or(start, |(_, until)| until);
            if self.of_nodes.len() <= node {
                self.of_nodes.resize(node + 1, 0);
            }
            self.of_nodes[node] += (end - start.max(until)).max(0);
            last = Some((frame, end.max(until)));
        }
    }
}

/// Gathers the spans of a lane.
struct SpansOfLane<'a> {
    ticks: &'a mut WarpTicks,
    tree: &'a mut Tree,
    /// See [`Trace::sites_by_name`].
    names: &'a [SiteIndex],
    /// The frames that are open: when each opened, its node, and what of it counts once.
    open: Vec<(Moment, usize, Frame)>,
}

impl Watch for SpansOfLane<'_> {
    fn open(&mut self, at: Moment, frame: Frame) {
        let node = self.tree.child(self.open.last().map(|(_, node, _)| *node), frame);
        let frame = match frame {
            Frame::Region(site) => {
                Frame::Region(self.names.get(site.0 as usize).copied().unwrap_or(site))
            }
            other => other,
        };
        self.open.push((at, node, frame));
    }

    fn close(&mut self, at: Moment) {
        if let Some((start, node, frame)) = self.open.pop() {
            self.ticks.spans.push((frame, start, at, node));
        }
    }
}

/// How many warps of a launch could record a site.
struct Recorders<'t> {
    trace: &'t Trace,
    warps: &'t [Warp],
    known: HashMap<Option<Strategy>, u64>,
}

impl Recorders<'_> {
    fn of(&mut self, site: SiteIndex) -> u64 {
        let strategy = site_strategy(self.trace, site);
        *self.known.entry(strategy).or_insert_with(|| {
            let could = |warp: &&Warp| may_record(strategy.unwrap_or(warp.strategy), warp.warp);
            self.warps.iter().filter(could).count() as u64
        })
    }
}

impl Serialize for Profile<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(2))?;
        list.serialize_element(&Root(self))?;
        list.serialize_element(&Devices(self))?;
        list.end()
    }
}

struct Root<'p>(&'p Profile<'p>);

impl Serialize for Root<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(profile) = *self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("frame", &serde_json::json!({"name": "ROOT", "type": "function"}))?;
        // What the root has, the viewer takes for something that adds up.
        map.serialize_entry("metrics", &Metrics { profile, node: None })?;
        map.serialize_entry("children", &Children { profile, nodes: &profile.tree.roots })?;
        map.end()
    }
}

struct Children<'p> {
    profile: &'p Profile<'p>,
    nodes: &'p [usize],
}

impl Serialize for Children<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.profile;
        serializer.collect_seq(self.nodes.iter().map(|&node| Stack { profile, node }))
    }
}

struct Stack<'p> {
    profile: &'p Profile<'p>,
    node: usize,
}

impl Serialize for Stack<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.profile;
        let node = &profile.tree.nodes[self.node];
        let mut frame = serde_json::Map::new();
        frame.insert("name".to_owned(), node.frame.label(profile.trace).into());
        frame.insert("type".to_owned(), "function".into());
        let site = node.frame.site().and_then(|site| profile.trace.sites.get(site.0 as usize));
        if let Some(site) = site {
            frame.insert("file".to_owned(), site.file.as_str().into());
            frame.insert("line".to_owned(), site.line.into());
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("frame", &frame)?;
        map.serialize_entry("metrics", &Metrics { profile, node: Some(self.node) })?;
        map.serialize_entry("children", &Children { profile, nodes: &node.children })?;
        map.end()
    }
}

/// The figures of a node; zeros for the root, which has none of its own.
struct Metrics<'p> {
    profile: &'p Profile<'p>,
    node: Option<usize>,
}

impl Serialize for Metrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.profile;
        let node = self.node.map(|node| &profile.tree.nodes[node]);
        let own = node.map(|node| node.own).unwrap_or_default();
        let mut map = serializer.serialize_map(None)?;
        if profile.has_cycles {
            let below = node.map_or(&[][..], |node| &node.children);
            let below: f64 = below.iter().map(|&child| profile.normalized[child]).sum();
            let all = self.node.map_or(0.0, |node| profile.normalized[node]);
            map.serialize_entry("cycles", &whole(own.ticks))?;
            map.serialize_entry("normalized_cycles", &(all - below))?;
        }
        map.serialize_entry("time (ns)", &(own.time as f64 / PER_NS as f64))?;
        if node.is_some() {
            map.serialize_entry("device_id", "0")?;
            map.serialize_entry("device_type", profile.device_type())?;
        }
        map.end()
    }
}

/// A count as JSON's readers take it.
fn whole(count: Moment) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

struct Devices<'p>(&'p Profile<'p>);

impl Serialize for Devices<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(profile) = *self;
        let trace = profile.trace;
        let device = &trace.device;
        let mut facts = serde_json::Map::new();
        facts.insert("name".to_owned(), device.name.as_str().into());
        if let Some((major, minor)) = device.compute_capability {
            facts.insert("arch".to_owned(), format!("{major}{minor}").into());
        }
        facts.insert("num_sms".to_owned(), device.sm_count.into());
        if let Some(mhz) = trace.clock_mhz {
            // In kHz, as proton writes it.
            facts.insert("clock_rate".to_owned(), (mhz * 1000.0).round().into());
        }
        facts.insert("notes".to_owned(), profile.notes.as_slice().into());
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(profile.device_type(), &serde_json::json!({ "0": facts }))?;
        map.end()
    }
}
