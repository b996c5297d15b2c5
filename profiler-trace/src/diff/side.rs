//! One side of a comparison, gathered trace by trace.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use profiler_wire::header::Clock;
use serde::Serialize;

use super::options::{DiffError, DiffOptions};
use super::{Part, Subject};
use crate::diagnostic::{DiagnosticKind, Severity};
use crate::model::Trace;
use crate::source::WarpSource;
use crate::stats::collect::Walk;

/// One side of a comparison, made of traces that need not all be in memory at once.
///
/// Held are 16 bytes for each name that a warp recorded and 24 for each warp.
#[derive(Clone, Debug)]
pub struct DiffSide {
    pub(super) options: DiffOptions,
    pub(super) facts: SideFacts,
    /// Subjects in the order in which they were seen first.
    pub(super) subjects: Vec<Subject>,
    pub(super) durations: HashMap<Subject, Durations>,
    /// The number of launches of each kernel.
    pub(super) launches: HashMap<String, u64>,
    pub(super) warps: Vec<Place>,
    blocks: u32,
}

/// The contents of a side. Their names are those in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct SideFacts {
    /// Traces, each of one capture.
    pub(super) captures: u64,
    /// Launches that are in.
    pub(super) launches: u64,
    /// Records in all of these traces.
    pub(super) recorded: u64,
    /// Records that were lost, in all of these traces.
    pub(super) lost: u64,
    /// Names of the devices, each once.
    pub(super) devices: Vec<String>,
    /// Whether any trace is from the emulator, whose times are not GPU times.
    pub(super) emulated: bool,
    /// Frequencies of the SM clock in MHz, one for each trace that knows it.
    pub(super) clock_mhz: Vec<f64>,
    /// The number of traces from which the cost of recording was subtracted.
    pub(super) cost_subtracted: u64,
    /// Traces of captures that do not hold all of their kernels: one failed, or was still running.
    pub(super) unfinished: u64,
    /// Diagnostics that say that numbers may be wrong.
    pub(super) errors: Vec<String>,
    /// Filters that nothing met.
    pub(super) unmet: Vec<String>,
}

/// The place of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) capture: u32,
    /// Counted over the side, as are blocks.
    pub(super) launch: u32,
    pub(super) block: u32,
    pub(super) sm: u32,
    pub(super) entry_ns: f64,
}

/// All durations of a subject.
#[derive(Clone, Debug)]
pub(super) struct Durations {
    pub(super) in_cycles: bool,
    /// Whether some were in another unit, so that they cannot be put together.
    pub(super) is_mixed: bool,
    pub(super) runs: Vec<Run>,
    pub(super) open: u64,
}

/// Durations of one warp: the index in the side's warps (of a launch's first, for a launch).
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) warp: u32,
    pub(super) count: u32,
    pub(super) sum: f64,
}

impl Durations {
    fn new(in_cycles: bool) -> Self {
        Self { in_cycles, is_mixed: false, runs: Vec::new(), open: 0 }
    }

    fn push(&mut self, warp: u32, value: f64) {
        match self.runs.last_mut() {
            Some(run) if run.warp == warp && run.count < u32::MAX => {
                run.count += 1;
                run.sum += value;
            }
            _ => self.runs.push(Run { warp, count: 1, sum: value }),
        }
    }

    fn append(&mut self, mut other: Self) {
        self.is_mixed |= other.is_mixed || other.in_cycles != self.in_cycles;
        self.runs.append(&mut other.runs);
        self.open += other.open;
    }
}

impl DiffSide {
    /// A side without traces.
    ///
    /// # Errors
    ///
    /// [`DiffError`] says which option cannot be.
    pub fn new(options: &DiffOptions) -> Result<Self, DiffError> {
        options.check()?;
        Ok(Self {
            options: options.clone(),
            facts: SideFacts::default(),
            subjects: Vec::new(),
            durations: HashMap::new(),
            launches: HashMap::new(),
            warps: Vec::new(),
            blocks: 0,
        })
    }

    /// Adds a trace, of a capture of its own: one in memory, or one that is streamed.
    pub fn add(&mut self, trace: &impl WarpSource) {
        let (source, trace) = (trace, trace.outline());
        self.add_facts(trace);
        let places = self.add_launches(trace);
        self.add_regions(source, &places);
        self.facts.captures += 1;
    }

    fn add_facts(&mut self, trace: &Trace) {
        let facts = &mut self.facts;
        facts.recorded = facts.recorded.saturating_add(trace.recorded());
        facts.lost = facts.lost.saturating_add(trace.lost());
        facts.emulated |= trace.device.emulated;
        facts.cost_subtracted += u64::from(trace.cost_subtracted);
        facts.clock_mhz.extend(trace.clock_mhz);
        if !facts.devices.contains(&trace.device.name) {
            facts.devices.push(trace.device.name.clone());
        }
        let ends = [DiagnosticKind::KernelFailed, DiagnosticKind::KernelRunning];
        let is_unfinished = ends.into_iter().any(|kind| trace.diagnostics.get(kind).is_some());
        facts.unfinished += u64::from(is_unfinished);
        let capture = facts.captures;
        let errors = trace.diagnostics.list.iter().filter(|of| of.severity() == Severity::Error);
        facts.errors.extend(errors.map(|error| format!("capture {capture}: {error}")));
        let unmet = self.options.query.unmet(trace);
        facts.unmet.extend(unmet.into_iter().map(|unmet| format!("capture {capture}: {unmet}")));
    }

    /// Launches as a whole, and the places of their warps, by their index in the trace.
    fn add_launches(&mut self, trace: &Trace) -> Vec<u32> {
        let mut places: Vec<u32> = vec![u32::MAX; trace.warps.len()];
        for (number, launch) in trace.launches.iter().enumerate() {
            if !self.options.query.takes_launch(trace, number) {
                continue;
            }
            let kernel = trace.name_of(launch.kernel).to_owned();
            *self.launches.entry(kernel.clone()).or_default() += 1;
            let first = self.warps.len() as u32;
            let (mut last_block, mut is_open) = (None, false);
            for index in launch.warps.clone() {
                let Some(warp) = trace.warps.get(index) else { break };
                if last_block != Some(warp.block) {
                    last_block = Some(warp.block);
                    self.blocks += 1;
                }
                is_open |= warp.exit.is_none();
                places[index] = self.warps.len() as u32;
                self.warps.push(Place {
                    capture: self.facts.captures as u32,
                    launch: self.facts.launches as u32,
                    block: self.blocks,
                    sm: warp.sm,
                    entry_ns: warp.entry.ns,
                });
            }
            self.facts.launches += 1;
            if self.options.query.takes_whole_launches() && (first as usize) < self.warps.len() {
                let mut durations = Durations::new(false);
                // What is known of the end of a launch is that of the warps that left.
                if is_open {
                    durations.open += 1;
                } else {
                    durations.push(first, launch.end_ns - launch.start_ns);
                }
                self.append(Subject { kernel, part: Part::Launches }, durations);
            }
        }
        places
    }

    fn add_regions(&mut self, source: &impl WarpSource, places: &[u32]) {
        let query = self.options.query.clone();
        let mut walk = Walk::new(source, &query);
        let mut rows: Vec<Option<(bool, Durations)>> = Vec::new();
        walk.seen(|_, row, seen| {
            if !query.takes_begin(seen.start().ns) {
                return;
            }
            let in_cycles = seen.warp.clock == Clock::Cycles;
            let row = row as usize;
            if rows.len() <= row {
                rows.resize(row + 1, None);
            }
            let new = || (seen.region.is_none(), Durations::new(in_cycles));
            let (_, durations) = rows[row].get_or_insert_with(new);
            durations.is_mixed |= durations.in_cycles != in_cycles;
            match if in_cycles { seen.cycles() } else { seen.ns() } {
                Some(duration) => durations.push(places[seen.index], duration),
                None => durations.open += 1,
            }
        });
        for (row, of_row) in rows.into_iter().enumerate() {
            let Some((is_kernel, durations)) = of_row else { continue };
            let (kernel, mut path, name) = walk.names(row as u32);
            path.push(name);
            let part = if is_kernel { Part::Warps } else { Part::Region(path) };
            self.append(Subject { kernel, part }, durations);
        }
    }

    fn append(&mut self, subject: Subject, durations: Durations) {
        match self.durations.entry(subject) {
            Entry::Occupied(mut entry) => entry.get_mut().append(durations),
            Entry::Vacant(entry) => {
                self.subjects.push(entry.key().clone());
                entry.insert(durations);
            }
        }
    }
}
