//! The second half of the reference: when the lanes of a warp do what their scripts say, who is
//! elected, and which units they emit.
//!
//! Times are those of the emulator's virtual clock, whose rules are in the documentation of
//! `profiler_emulator`: a clock read costs 8 cycles, lanes that ask something go on at the latest time
//! of their warp, and everything else costs nothing.

use profiler_emulator::{Emulator, TICKS_PER_NS};
use profiler_trace::Value;
use profiler_wire::header::Clock;

use crate::case::Case;
use crate::script::{Instance, Lane, Lead, Place, Script, Step};

/// What a clock read costs.
const CLOCK_READ: u64 = 8;
/// Between the end of a launch and the next.
const LAUNCH_GAP: u64 = 2000;
/// What the global timer is rounded down to, in nanoseconds.
pub(crate) const TIMER_STEP: u64 = 32;

/// What a unit says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    /// A whole region, which began at that time.
    Range(u64),
    /// The same and its value.
    RangeWith(u64, Value),
    /// A region that began at that time and whose token was dropped.
    Open(u64),
    /// The begin of a region, as a record of its own.
    Begin,
    /// That region, which began at that time, after that record.
    Watched(u64),
    /// The value of the region whose record is the unit before.
    Attached(Value),
    Mark,
    Anchor,
}

/// A unit that a lane emits, kept or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unit {
    pub what: What,
    /// The instance that it belongs to.
    pub instance: usize,
    /// When it was written, in cycles of the device.
    pub time: u64,
}

impl Unit {
    pub(crate) fn is_attachment(&self) -> bool {
        matches!(self.what, What::Attached(_) | What::Anchor)
    }
}

/// What one lane did.
#[derive(Debug)]
pub(crate) struct LaneRun {
    pub script: Script,
    pub units: Vec<Unit>,
    /// Whether a session records it.
    pub records: bool,
}

impl LaneRun {
    /// All units that the lane would emit, were it elected at each election, in their order.
    pub(crate) fn with_all_elected(&self) -> Self {
        let mut runner = Runner::new(self.script.clone(), 0, self.records);
        runner.leads = self
            .script
            .instances
            .iter()
            .map(|instance| self.records && instance.lead != Lead::Fixed(false))
            .collect();
        while runner.advance().is_some() {
            runner.next += 1;
        }
        runner.done()
    }
}

/// What one warp did.
#[derive(Debug)]
pub(crate) struct WarpRun {
    pub lanes: Vec<LaneRun>,
    /// When lane 0 read the clocks at entry and at exit; meaningful where it has a slot.
    pub entry: u64,
    pub exit: u64,
    /// When the last lane was done.
    pub end: u64,
}

/// A lane on its way.
struct Runner {
    script: Script,
    /// Of each instance, whether this lane records it.
    leads: Vec<bool>,
    begins: Vec<u64>,
    /// Of those regions whose ends were read.
    ends: Vec<u64>,
    units: Vec<Unit>,
    next: usize,
    time: u64,
    records: bool,
}

impl Runner {
    fn new(script: Script, time: u64, records: bool) -> Self {
        let leads = |instance: &Instance| records && instance.lead == Lead::Fixed(true);
        let leads: Vec<bool> = script.instances.iter().map(leads).collect();
        let count = leads.len();
        Self {
            script,
            leads,
            begins: vec![0; count],
            ends: vec![0; count],
            units: Vec::new(),
            next: 0,
            time,
            records,
        }
    }

    fn stamp(&mut self) -> u64 {
        let now = self.time;
        self.time += CLOCK_READ;
        now
    }

    /// A reading of both clocks: three reads, of which the middle one counts.
    fn both_clocks(&mut self) -> u64 {
        let before = self.stamp();
        self.time += 2 * CLOCK_READ;
        before + CLOCK_READ
    }

    fn emit(&mut self, instance: usize, what: What, time: u64) {
        if self.leads[instance] {
            self.units.push(Unit { what, instance, time });
        }
    }

    fn done(self) -> LaneRun {
        LaneRun { script: self.script, units: self.units, records: self.records }
    }

    /// Goes on to the next election, whose instance it gives; `None` at the end.
    fn advance(&mut self) -> Option<usize> {
        while let Some(&step) = self.script.steps.get(self.next) {
            if let Step::Elect(instance) = step {
                return Some(instance);
            }
            self.next += 1;
            match step {
                Step::Begin(region) => self.begins[region] = self.stamp(),
                Step::Finish(region, value) => {
                    let end = self.ends[region];
                    let begin = self.begins[region];
                    let held = value.filter(|_| self.script.instances[region].holds_value);
                    let range = |value| What::RangeWith(begin, value);
                    self.emit(region, held.map_or(What::Range(begin), range), end);
                    if let (None, Some(value)) = (held, value) {
                        self.emit(region, What::Attached(value), end);
                    }
                }
                Step::Open(region) => {
                    let now = self.stamp();
                    self.emit(region, What::Begin, now);
                    self.begins[region] = self.stamp();
                }
                Step::Read(region) => self.ends[region] = self.stamp(),
                Step::Close(region, value) => {
                    let end = self.ends[region];
                    self.emit(region, What::Watched(self.begins[region]), end);
                    if let Some(value) = value {
                        self.emit(region, What::Attached(value), end);
                    }
                }
                Step::Drop(token) => {
                    let now = self.stamp();
                    self.emit(token, What::Open(self.begins[token]), now);
                }
                Step::Mark(mark) => {
                    let now = self.stamp();
                    self.emit(mark, What::Mark, now);
                }
                Step::Anchor(anchor) => {
                    let now = self.both_clocks();
                    self.emit(anchor, What::Anchor, now);
                }
                Step::Work(reads) => self.time += u64::from(reads) * CLOCK_READ,
                Step::Elect(_) => {}
            }
        }
        None
    }
}

/// How a warp enters.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    records: bool,
    has_slot: bool,
    /// Whether the lanes wait for lane 0's entry, as those with buffers do.
    together: bool,
}

/// Runs the scripts of a warp's lanes.
fn run_warp(scripts: Vec<Script>, entry: Entry) -> WarpRun {
    let Entry { start, records, has_slot, together } = entry;
    let mut lanes: Vec<Runner> =
        scripts.into_iter().map(|script| Runner::new(script, start, records)).collect();
    let mut entry = start;
    if has_slot {
        entry = lanes[0].both_clocks();
    }
    if together {
        let time = lanes[0].time;
        lanes.iter_mut().for_each(|lane| lane.time = time);
    }
    loop {
        // All go on to an election, or to their end; the first one in the source is decided.
        let elections: Vec<_> = lanes.iter_mut().map(Runner::advance).collect();
        let place =
            |lane: &Runner, instance: usize| -> Place { lane.script.instances[instance].place };
        let places = lanes
            .iter()
            .zip(&elections)
            .filter_map(|(lane, instance)| Some(place(lane, (*instance)?)));
        let Some(first) = places.min() else { break };
        let latest = lanes.iter().map(|lane| lane.time).max().unwrap_or(start);
        let mut is_first = true;
        for (lane, instance) in lanes.iter_mut().zip(elections) {
            let Some(instance) = instance.filter(|instance| place(lane, *instance) == first) else {
                continue;
            };
            lane.leads[instance] = is_first && lane.records;
            is_first = false;
            lane.next += 1;
            lane.time = latest;
        }
    }
    let latest = |lanes: &[Runner]| lanes.iter().map(|lane| lane.time).max().unwrap_or(start);
    // Lane 0 reads the clocks when the last lane has left.
    let mut exit = latest(&lanes);
    if has_slot {
        lanes[0].time = exit;
        exit = lanes[0].both_clocks();
    }
    let end = latest(&lanes);
    let lanes = lanes.into_iter().map(Runner::done).collect();
    WarpRun { lanes, entry, exit, end }
}

/// A warp of a block without profiling: only what the program does itself takes time.
fn idle_warp(scripts: Vec<Script>, start: u64) -> WarpRun {
    let work = |script: &Script| -> u64 {
        let reads = script.steps.iter().map(|step| match step {
            Step::Work(reads) => u64::from(*reads),
            _ => 0,
        });
        reads.sum::<u64>() * CLOCK_READ
    };
    let end = start + scripts.iter().map(work).max().unwrap_or(0);
    let lanes = scripts.into_iter().map(|script| Runner::new(script, start, false).done());
    WarpRun { lanes: lanes.collect(), entry: start, exit: end, end }
}

/// Runs the whole case; `has_slot` says of launch, block and warp, all selected, whether it found a
/// slot. Gives the warps by launch, block and warp.
pub(crate) fn run(case: &Case, has_slot: impl Fn(u32, u32, u32) -> bool) -> Vec<Vec<Vec<WarpRun>>> {
    let mut start = 0;
    let mut launches = Vec::new();
    for launch in 0..case.launches {
        // An SM takes one block at a time; its next one begins when that has ended.
        let mut sm_ends = vec![start; case.sm_count as usize];
        let mut blocks = Vec::new();
        for block in 0..case.blocks() {
            let sm_end = &mut sm_ends[case.sm_of(block) as usize];
            let begin = *sm_end;
            let warps: Vec<WarpRun> = (0..case.warps())
                .map(|warp| {
                    if !case.is_block_selected(block) {
                        return idle_warp(scripts(case, warp), begin);
                    }
                    let selected = case.is_selected(block, warp);
                    let has_slot = selected && has_slot(launch, block, warp);
                    let together = selected && case.session.lane_buffers;
                    let entry = Entry { start: begin, records: selected, has_slot, together };
                    run_warp(scripts(case, warp), entry)
                })
                .collect();
            *sm_end = warps.iter().map(|warp| warp.end).max().unwrap_or(begin);
            blocks.push(warps);
        }
        start = sm_ends.into_iter().max().unwrap_or(start) + LAUNCH_GAP;
        launches.push(blocks);
    }
    launches
}

fn scripts(case: &Case, warp: u32) -> Vec<Script> {
    let lane = |lane| Lane {
        strategy: case.kernel.strategy,
        clock: case.kernel.clock,
        buffer: case.kernel.buffer,
        warp,
        lane,
        when: case.when,
        fuel: case.fuel,
    };
    (0..case.lanes(warp)).map(|number| lane(number).run(&case.program)).collect()
}

impl Case {
    /// The SM on which the emulator runs a block.
    pub(crate) fn sm_of(&self, block: u32) -> u32 {
        block % self.sm_count
    }

    /// What a record of a block says whose time is `time` cycles of the device.
    pub(crate) fn ticks(&self, block: u32, time: u64) -> u64 {
        match self.kernel.clock {
            Clock::Cycles => time + Emulator::clock_offset(self.sm_of(block)),
            Clock::GlobalTimer => timer(time),
        }
    }
}

/// What the global timer shows at that time.
fn timer(time: u64) -> u64 {
    let ns = time / TICKS_PER_NS;
    epoch() + ns - ns % TIMER_STEP
}

/// What the global timer of a device shows that has just been made.
fn epoch() -> u64 {
    Emulator::new(1).globaltimer()
}

/// When an SM's cycle counter stood so, in nanoseconds after a reading of the global timer.
pub(crate) fn ns_after(timer: u64, sm: u32, ticks: u64) -> f64 {
    let cycles = ticks - Emulator::clock_offset(sm);
    cycles as f64 / TICKS_PER_NS as f64 - (timer - epoch()) as f64
}
