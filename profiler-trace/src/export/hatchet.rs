//! Hatchet's literal format, as Triton's proton writes it and `proton-viewer` reads it.
//!
//! The viewer shows for every frame the sum over it and all that is in it, so that the file holds of
//! each frame what was spent in it and in no frame below it.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;
use serde_json::{Value, json};

use crate::export::stacks::{Frame, Lanes, Moment, PER_NS, Scale, Watch};
use crate::export::tree::{Adder, Tree};
use crate::model::{SiteIndex, Trace, Warp};
use crate::progress::Progress;
use crate::source::WarpSource;
use crate::source::notes;
use crate::stats::collect::{may_record, site_strategy};

pub(super) fn write(source: &impl WarpSource, writer: &mut impl Write) -> io::Result<()> {
    let profile = Profile::new(source);
    serde_json::to_writer(&mut *writer, &profile.to_json())?;
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
    /// Notes about the trace.
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
        Progress::expect("warps gathered", trace.warps.len());
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

/// The number of warps of a launch that could record a site.
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

impl Profile<'_> {
    fn to_json(&self) -> Value {
        let root = json!({
            "frame": { "name": "ROOT", "type": "function" },
            // The viewer adds up whatever metrics the root has.
            "metrics": self.metrics(None),
            "children": self.stacks(&self.tree.roots),
        });
        json!([root, self.devices()])
    }

    /// Stacks are no deeper than their frames, which are bounded.
    fn stacks(&self, nodes: &[usize]) -> Vec<Value> {
        let stack = |&index: &usize| {
            let node = &self.tree.nodes[index];
            let mut frame = json!({ "name": node.frame.label(self.trace), "type": "function" });
            let site = node.frame.site().and_then(|site| self.trace.sites.get(site.0 as usize));
            if let Some(site) = site {
                frame["file"] = site.file.as_str().into();
                frame["line"] = site.line.into();
            }
            json!({
                "frame": frame,
                "metrics": self.metrics(Some(index)),
                "children": self.stacks(&node.children),
            })
        };
        nodes.iter().map(stack).collect()
    }

    /// The figures of a node; zeros for the root, which has none of its own.
    fn metrics(&self, index: Option<usize>) -> Value {
        let node = index.map(|index| &self.tree.nodes[index]);
        let own = node.map(|node| node.own).unwrap_or_default();
        let mut metrics = json!({ "time (ns)": own.time as f64 / PER_NS as f64 });
        if self.has_cycles {
            let below = node.map_or(&[][..], |node| &node.children);
            let below: f64 = below.iter().map(|&child| self.normalized[child]).sum();
            let all = index.map_or(0.0, |index| self.normalized[index]);
            metrics["cycles"] = u64::try_from(own.ticks).unwrap_or(u64::MAX).into();
            metrics["normalized_cycles"] = (all - below).into();
        }
        if node.is_some() {
            metrics["device_id"] = "0".into();
            metrics["device_type"] = self.device_type().into();
        }
        metrics
    }

    fn devices(&self) -> Value {
        let device = &self.trace.device;
        let mut facts =
            json!({ "name": device.name, "num_sms": device.sm_count, "notes": self.notes });
        if let Some((major, minor)) = device.compute_capability {
            facts["arch"] = format!("{major}{minor}").into();
        }
        if let Some(mhz) = self.trace.clock_mhz {
            // In kHz, as proton writes it.
            facts["clock_rate"] = (mhz * 1000.0).round().into();
        }
        json!({ self.device_type(): { "0": facts } })
    }
}
