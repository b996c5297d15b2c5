//! The second half of the reference: when the lanes of a warp do what their scripts say, who is
//! elected, which regions all of them begin and end together, and which units they emit.
//!
//! Times are those of the emulator's virtual clock, whose rules are in the documentation of
//! `profiler_emulator`: a clock read costs 8 cycles, lanes that ask something go on at the latest time
//! of their warp, and everything else costs nothing.

use std::cmp::Reverse;

use profiler_emulator::{ClockMode, Emulator, TICKS_PER_NS};
use profiler_trace::Value;
use profiler_wire::header::Clock;
use profiler_wire::site::Buffer;

use crate::case::Case;
use crate::expected::bits;
use crate::kernels::Kernel;
use crate::script::{Instance, Lane, Lead, Meeting, Place, Question, Script, Step};

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
    /// That region, which began at that time, behind that record.
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
    /// Whether lane 0 writes it for all lanes; each has it among its units, as what it did.
    pub is_shared: bool,
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
    pub how: Recording,
}

/// Whether a session records a warp, by which clock, and where its records go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recording {
    records: bool,
    pub clock: Clock,
    buffer: Buffer,
}

impl LaneRun {
    /// All units that the lane would emit, were it elected wherever it asks and shared no record with
    /// others, in their order.
    pub(crate) fn with_all_elected(&self) -> Self {
        let mut runner = Runner::new(self.script.clone(), 0, self.how);
        runner.leads = self
            .script
            .instances
            .iter()
            .map(|instance| self.how.records && instance.lead != Lead::Fixed(false))
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
    /// Of each region, whether all lanes of the warp began it at once.
    began_with_all: Vec<bool>,
    /// The places of the regions of which it was answered who begins them, and not who ends them.
    open: Vec<Place>,
    /// Of each instance, whether lane 0 records it for all lanes.
    shared: Vec<bool>,
    begins: Vec<u64>,
    /// Of those regions whose ends were read.
    ends: Vec<u64>,
    units: Vec<Unit>,
    next: usize,
    time: u64,
    how: Recording,
    /// Whether the lane shares records: no more once it has ended a region without others with which
    /// it began it.
    shares: bool,
}

/// A lane's question, and where it is asked.
#[derive(Clone, Copy)]
struct Asked {
    meeting: Meeting,
    question: Question,
    instance: usize,
}

/// What is said to all lanes at a meeting.
struct Answer {
    /// Whether all lanes of the warp are there.
    is_of_all: bool,
    /// Whether none of those that are there has ended a region without others with which it began it.
    has_none_parted: bool,
    /// Whether, besides, all of them end what they began together.
    ends_together: bool,
    /// Whether what they ask about is the same region.
    is_same: bool,
    /// Whether the values of what they ask about are the same.
    is_alike: bool,
}

impl Answer {
    fn new(lanes: &[Runner], here: &[Option<Asked>]) -> Self {
        let mut values = lanes.iter().zip(here).filter_map(|(lane, asked)| {
            let value = lane.script.instances[(*asked)?.instance].value;
            Some(value.map(bits))
        });
        let first = values.next();
        let mut regions = lanes.iter().zip(here).filter_map(|(lane, asked)| {
            let instance = (*asked)?.instance;
            let times = [lane.begins[instance], lane.ends[instance]];
            let readings = times.map(|time| lane.reading(time));
            // By a coarse clock another one may look alike, which not all began.
            let is_of_all = lane.began_with_all[instance];
            Some((lane.script.instances[instance].place, readings, is_of_all))
        });
        let first_region = regions.next();
        Self {
            is_of_all: here.iter().all(Option::is_some),
            has_none_parted: lanes.iter().all(|lane| lane.shares),
            ends_together: lanes
                .iter()
                .zip(here)
                .all(|(lane, asked)| asked.is_some_and(|asked| lane.may_end(asked.instance))),
            is_same: regions.all(|region| Some(region) == first_region),
            is_alike: values.all(|value| Some(value) == first),
        }
    }
}

impl Runner {
    fn new(script: Script, time: u64, how: Recording) -> Self {
        let leads = |instance: &Instance| how.records && instance.lead == Lead::Fixed(true);
        let leads: Vec<bool> = script.instances.iter().map(leads).collect();
        let count = leads.len();
        Self {
            script,
            leads,
            began_with_all: vec![false; count],
            open: Vec::new(),
            shared: vec![false; count],
            begins: vec![0; count],
            ends: vec![0; count],
            units: Vec::new(),
            next: 0,
            time,
            how,
            shares: true,
        }
    }

    fn stamp(&mut self) -> u64 {
        let now = self.time;
        self.time += CLOCK_READ;
        now
    }

    /// What its clock shows at a time, but for where the clock of its SM began.
    fn reading(&self, time: u64) -> u64 {
        match self.how.clock {
            Clock::Cycles => time,
            Clock::GlobalTimer => timer(time),
        }
    }

    /// A reading of both clocks: three reads, of which the middle one counts.
    fn both_clocks(&mut self) -> u64 {
        let before = self.stamp();
        self.time += 2 * CLOCK_READ;
        before + CLOCK_READ
    }

    fn emit(&mut self, instance: usize, what: What, time: u64) {
        if self.leads[instance] {
            let is_shared = self.shared[instance];
            self.units.push(Unit { what, instance, time, is_shared });
        }
    }

    fn done(self) -> LaneRun {
        LaneRun { script: self.script, units: self.units, how: self.how }
    }

    /// Whether it may end a region as one of all lanes, if the others are there.
    fn may_end(&self, region: usize) -> bool {
        self.shares && self.began_with_all[region]
    }

    /// Gets an answer; `is_first` says whether it is the lowest of the lanes that get it.
    fn take(&mut self, asked: Asked, answer: &Answer, is_first: bool) {
        let instance = asked.instance;
        match asked.question {
            Question::Elect => self.leads[instance] = is_first && self.how.records,
            Question::Begin => {
                self.begin_with_all(instance, answer);
                self.open.push(self.script.instances[instance].place);
            }
            Question::Start => self.begin_with_all(instance, answer),
            Question::Mark => self.shared[instance] = answer.is_of_all && answer.has_none_parted,
            Question::End => {
                // Regions end in the reverse order of their begins.
                let ended = self.open.pop();
                debug_assert_eq!(ended, Some(self.script.instances[instance].place));
                self.end_with_all(instance, answer);
            }
            Question::Stop(_) => self.stop_with_all(instance, answer),
            Question::Moment => self.shared[instance] &= answer.is_same,
            // The answer to the question before has it.
            Question::Alike(_) => {}
        }
    }

    fn begin_with_all(&mut self, region: usize, answer: &Answer) {
        self.began_with_all[region] = answer.is_of_all;
        // Of the record of the begin, where there is one, and of the end's once that has been asked for.
        self.shared[region] = answer.is_of_all && self.how.buffer == Buffer::Host;
    }

    fn end_with_all(&mut self, region: usize, answer: &Answer) {
        let is_together = match self.how.buffer {
            Buffer::Global => {
                let may_end = self.may_end(region);
                self.shares &= !may_end || answer.ends_together;
                may_end && answer.ends_together
            }
            Buffer::Host => self.began_with_all[region] && answer.is_of_all && answer.is_same,
        };
        self.shared[region] = is_together && answer.is_alike;
    }

    /// The end of a token's region: it may cross others, and so a lane parts from none by it.
    fn stop_with_all(&mut self, region: usize, answer: &Answer) {
        let may_end = match self.how.buffer {
            Buffer::Global => self.may_end(region) && answer.ends_together,
            Buffer::Host => self.began_with_all[region] && answer.is_of_all,
        };
        self.shared[region] = may_end && answer.is_same && answer.is_alike;
    }

    /// Goes on to the next question; `None` at the end.
    fn advance(&mut self) -> Option<Asked> {
        while let Some(&step) = self.script.steps.get(self.next) {
            if let Step::Ask(question, instance) = step {
                let meeting = question.meeting(self.script.instances[instance].place);
                return Some(Asked { meeting, question, instance });
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
                Step::MarkRead(mark) => self.emit(mark, What::Mark, self.ends[mark]),
                Step::Anchor(anchor) => {
                    let now = self.both_clocks();
                    self.emit(anchor, What::Anchor, now);
                }
                Step::Work(reads) => self.time += u64::from(reads) * CLOCK_READ,
                Step::Ask(..) => {}
            }
        }
        None
    }
}

/// When lanes that meet get their answer, the first first. Of ends, the region that stands last in the source
/// ends first. (That a value is asked about behind the end itself does not show: nothing comes between.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// An end to which no other lane has still to come.
    End(Reverse<Place>),
    Source(Place),
    EarlyEnd(Reverse<Place>),
}

/// When those get their answer that meet there. (The emulator's rule, told again: a GPU has its own.)
fn turn(lanes: &[Runner], asking: &[Option<Asked>], meeting: Meeting) -> Turn {
    let place = match meeting {
        Meeting::Source(place) => return Turn::Source(place),
        Meeting::End(place) => place,
    };
    let is_here = |asked: &Option<Asked>| asked.is_some_and(|asked| asked.meeting == meeting);
    // The region may be within itself; who ends it here has one less to end then.
    let left = |lane: &Runner| lane.open.iter().filter(|open| **open == place).count();
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        lanes.iter().zip(asking).partition(|(_, asked)| is_here(asked));
    let left_here = here.iter().map(|(lane, _)| left(lane) - 1).max();
    let left_elsewhere = elsewhere.iter().map(|(lane, _)| left(lane)).max();
    if left_elsewhere > left_here {
        Turn::EarlyEnd(Reverse(place))
    } else {
        Turn::End(Reverse(place))
    }
}

/// How a warp enters.
#[derive(Clone, Copy)]
struct Entry {
    start: u64,
    how: Recording,
    has_slot: bool,
    /// Whether the lanes wait for lane 0's entry, as those with rooms do.
    together: bool,
}

/// Runs the scripts of a warp's lanes.
fn run_warp(scripts: Vec<Script>, entry: Entry) -> WarpRun {
    let Entry { start, how, has_slot, together } = entry;
    let mut lanes: Vec<Runner> =
        scripts.into_iter().map(|script| Runner::new(script, start, how)).collect();
    let mut entry = start;
    if has_slot {
        entry = lanes[0].both_clocks();
    }
    if together {
        let time = lanes[0].time;
        lanes.iter_mut().for_each(|lane| lane.time = time);
    }
    loop {
        // All go on to where they ask, or to their end; the first meeting gets its answer.
        let asking: Vec<_> = lanes.iter_mut().map(Runner::advance).collect();
        let meetings = asking.iter().flatten().map(|asked| asked.meeting);
        let first = meetings.min_by_key(|&meeting| turn(&lanes, &asking, meeting));
        let Some(meeting) = first else { break };
        let here: Vec<Option<Asked>> = asking
            .into_iter()
            .map(|asked| asked.filter(|asked| asked.meeting == meeting))
            .collect();
        let latest = lanes.iter().map(|lane| lane.time).max().unwrap_or(start);
        let answer = Answer::new(&lanes, &here);
        let mut is_first = true;
        for (lane, asked) in lanes.iter_mut().zip(here) {
            let Some(asked) = asked else { continue };
            lane.take(asked, &answer, is_first);
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
fn idle_warp(scripts: Vec<Script>, start: u64, how: Recording) -> WarpRun {
    let work = |script: &Script| -> u64 {
        let reads = script.steps.iter().map(|step| match step {
            Step::Work(reads) => u64::from(*reads),
            _ => 0,
        });
        reads.sum::<u64>() * CLOCK_READ
    };
    let end = start + scripts.iter().map(work).max().unwrap_or(0);
    let lanes = scripts.into_iter().map(|script| Runner::new(script, start, how).done());
    WarpRun { lanes: lanes.collect(), entry: start, exit: end, end }
}

/// Runs the whole case; `has_slot` says of launch, block and warp, all selected, whether it found a
/// slot. Gives the warps by launch, block and warp.
pub(crate) fn run(case: &Case, has_slot: impl Fn(u32, u32, u32) -> bool) -> Vec<Vec<Vec<WarpRun>>> {
    let Kernel { clock, buffer, .. } = case.kernel;
    let idle = Recording { records: false, clock, buffer };
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
                        return idle_warp(scripts(case, warp), begin, idle);
                    }
                    let selected = case.is_selected(block, warp);
                    let has_slot = selected && has_slot(launch, block, warp);
                    let together = selected && case.session.lane_rooms;
                    let how = Recording { records: selected, ..idle };
                    let entry = Entry { start: begin, how, has_slot, together };
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
    Emulator::new(1).globaltimer(ClockMode::Virtual)
}

/// When an SM's cycle counter stood so, in nanoseconds behind a reading of the global timer.
pub(crate) fn ns_behind(timer: u64, sm: u32, ticks: u64) -> f64 {
    let cycles = ticks - Emulator::clock_offset(sm);
    cycles as f64 / TICKS_PER_NS as f64 - (timer - epoch()) as f64
}
