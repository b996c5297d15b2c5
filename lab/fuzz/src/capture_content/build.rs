//! Makes a capture of what a fuzzer chose.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use profiler_test_tools::synthetic::{Keep, SyntheticLane, SyntheticModule, SyntheticWarp};
use profiler_trace::{
    Capture, CaptureEnd, DeviceInfo, KernelResources, ModuleCapture, RecordCost, ResourceEffect,
    Value,
};
use profiler_wire::descriptor::{BYTES, Lost};
use profiler_wire::header::Clock;
use profiler_wire::record::{SITE_MAX, TRACK_MAX};
use profiler_wire::{Descriptor, SiteEntry, SiteKind};

/// All of a capture.
#[derive(Arbitrary, Clone, Debug, Default)]
pub struct Content {
    name: String,
    driver: String,
    emulated: bool,
    compute_capability: Option<(u32, u32)>,
    sm_count: u32,
    clock_mhz: Option<f64>,
    /// What a record costs before and after its stamp.
    cost: Option<(f64, f64)>,
    modules: Vec<Module>,
}

#[derive(Arbitrary, Clone, Debug, Default)]
struct Module {
    keeps_last: bool,
    capacity: u8,
    lane_capacity: Option<u8>,
    /// How many slots there are, if there are fewer than warps.
    slots: Option<u8>,
    names: [String; 4],
    list: Vec<String>,
    /// 255: the ids of the sites are the largest that there are.
    ids: u8,
    warps: Vec<Warp>,
    /// What else lost something.
    lost: Option<(u64, u64, u64)>,
    spoils: Vec<Spoil>,
}

#[derive(Arbitrary, Clone, Debug, Default)]
struct Warp {
    entry: (u64, u64),
    timer: bool,
    grid_id: u8,
    block: (u32, u8),
    grid: (u32, u8),
    /// Threads of its block but one.
    threads: u8,
    warp: u8,
    sm: u16,
    cluster_rank: Option<u8>,
    track: Option<u32>,
    strategy: u16,
    /// Ticks and nanoseconds from the last record to the exit, if the warp left.
    exit: Option<(u32, u64)>,
    steps: Vec<Step>,
}

/// One of the five regions, of which two are names of a list.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Site {
    Outer,
    Inner,
    First,
    Second,
    Beyond,
}

/// A value of one of a kernel's types: those of up to 16 bits go into the record of a region.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    ShortUnsigned(u16),
    ShortSigned(i16),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Step {
    /// Time passes.
    Wait(u16),
    WaitLong(u64),
    /// Another lane records from here on; each has a time of its own.
    Lane(u8),
    Range {
        site: Site,
        track: Option<u32>,
        length: u32,
        value: Option<Number>,
    },
    Open {
        site: Site,
        track: Option<u32>,
        length: u32,
    },
    Begin {
        site: Site,
        track: Option<u32>,
    },
    /// The end of a region that has a begin of its own.
    Watched {
        site: Site,
        track: Option<u32>,
        length: u32,
        value: Option<Number>,
    },
    Mark {
        track: Option<u32>,
    },
    Value(Number),
    Signal(u64),
    Await(u64),
    Anchor {
        nanoseconds: u32,
    },
    /// What no kernel writes.
    Unit([u64; 2]),
}

/// Something that no device does.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Spoil {
    /// A byte of an array is another one.
    Byte { array: u8, at: u32, byte: u8 },
    /// An array is cut short.
    Cut { array: u8, at: u32 },
    /// A word of the descriptor is another one.
    Descriptor { at: u8, word: u32 },
}

/// How far the ids of sites are moved to be the largest that there are.
const SHIFT: u32 = SITE_MAX - 64;
/// Ticks and nanoseconds that are far from any overflow, so that a device may well read them.
const CLOCK_MAX: u64 = 1 << 60;

impl Content {
    /// The capture, and how many records were emitted, where nothing was spoiled.
    #[must_use]
    pub fn capture(&self) -> (Capture, Option<u64>) {
        let modules: Vec<_> = self.modules.iter().take(3).map(Module::capture).collect();
        let emitted = modules.iter().try_fold(0_u64, |sum, (_, emitted)| {
            emitted.map(|emitted| sum.saturating_add(emitted))
        });
        let capture = Capture {
            device: DeviceInfo {
                name: self.name.clone(),
                emulated: self.emulated,
                compute_capability: self.compute_capability,
                sm_count: self.sm_count,
                driver: self.driver.clone(),
                clock_mhz: self.clock_mhz,
            },
            modules: modules.into_iter().map(|(module, _)| module).collect(),
            record_cost: self.cost.map(|(before, after)| RecordCost::uniform(before, after)),
            resources: vec![ResourceEffect {
                kernel: self.name.clone(),
                block: [self.sm_count, 1, 1],
                dynamic_shared_bytes: self.sm_count,
                without: KernelResources {
                    blocks_per_sm: self.sm_count / 2,
                    ..KernelResources::default()
                },
                with: KernelResources { registers: self.sm_count, ..KernelResources::default() },
            }],
            end: match self.sm_count % 3 {
                0 => CaptureEnd::Finished,
                1 => CaptureEnd::Running,
                _ => CaptureEnd::Failed { code: self.sm_count },
            },
            ..Capture::default()
        };
        (capture, emitted)
    }
}

impl Module {
    fn capture(&self) -> (ModuleCapture, Option<u64>) {
        let (keep, capacity, lane_capacity) = if self.keeps_last {
            (Keep::Last, 1 << (self.capacity % 6), self.lane_capacity.map(|power| 1 << (power % 4)))
        } else {
            let lanes = self.lane_capacity.map(|capacity| 1 + u32::from(capacity % 12));
            (Keep::First, u32::from(self.capacity % 50), lanes)
        };
        let mut module = SyntheticModule::new(keep, capacity);
        module.lane_capacity = lane_capacity;
        module.slots = self.slots.map_or(u32::MAX, u32::from);
        let sites = Sites::new(self, &mut module);
        let mut emitted =
            Some(self.lost.map_or(0, |(_, units, values)| units.saturating_sub(values)));
        for warp in self.warps.iter().take(12) {
            let (warp, records) = warp.run(&sites);
            emitted = emitted.zip(records).map(|(sum, records)| sum.saturating_add(records));
            module.warps.push(warp);
        }
        let mut capture = module.capture().expect("the sites are whole");
        if self.ids == 255 {
            // What the warps recorded is then of no site.
            emitted = None;
            capture.sites = shifted(self);
        }
        if let Some((warps, units, attachments)) = self.lost {
            let Lost { warps: no_slot, units: in_vain, attachments: values } = capture.lost;
            capture.lost = Lost {
                warps: warps.saturating_add(no_slot),
                units: units.saturating_add(in_vain),
                attachments: attachments.saturating_add(values),
            };
            // Counters that contradict each other have no right sum.
            emitted = emitted.filter(|_| {
                attachments <= units
                    && units < u64::MAX / 2
                    && capture.lost.attachments < u64::MAX / 2
            });
        }
        for spoil in self.spoils.iter().take(16) {
            emitted = None;
            spoil.apply(&mut capture);
        }
        (capture, emitted)
    }
}

/// The sites of a module with the largest ids.
fn shifted(module: &Module) -> profiler_trace::SiteTable {
    let mut entries = SyntheticModule::new(Keep::First, 0);
    Sites::new(module, &mut entries);
    let bytes: Vec<Vec<u8>> = entries
        .entries()
        .iter()
        .map(|entry| {
            let mut entry = entry.clone();
            let id = SiteEntry::parse(&entry).expect("it was just encoded").id + SHIFT;
            entry[profiler_wire::site::ID_OFFSET..][..4].copy_from_slice(&id.to_le_bytes());
            entry
        })
        .collect();
    profiler_trace::SiteTable::from_entries(bytes.iter().map(Vec::as_slice))
        .expect("the ids have buffer")
}

struct Sites {
    kernel: u32,
    outer: u32,
    inner: u32,
    signal: u32,
    wait: u32,
    mark: u32,
    names: u32,
}

impl Sites {
    fn new(of: &Module, module: &mut SyntheticModule) -> Self {
        let [kernel, outer, inner, mark] = &of.names;
        // More names than this say nothing new, and ids are to fit.
        let names: Vec<&str> = of.list.iter().take(3).map(String::as_str).collect();
        Self {
            kernel: module.site(SiteKind::Kernel, kernel),
            outer: module.site(SiteKind::Region, outer),
            inner: module.site_with_unit(SiteKind::Region, inner, "bytes"),
            signal: module.site(SiteKind::Signal, mark),
            wait: module.site(SiteKind::Wait, mark),
            mark: module.site(SiteKind::Mark, mark),
            names: module.names("list", &names),
        }
    }

    fn id(&self, site: Site) -> u32 {
        match site {
            Site::Outer => self.outer,
            Site::Inner => self.inner,
            Site::First => self.names,
            // Of a shorter list there is no such name.
            Site::Second => self.names + 1,
            Site::Beyond => self.names + 3,
        }
    }
}

impl Warp {
    /// The warp, and how many records it emitted, if all that it did is what kernels do.
    fn run(&self, sites: &Sites) -> (SyntheticWarp, Option<u64>) {
        let (entry, nanoseconds) = (self.entry.0 % CLOCK_MAX, self.entry.1 % CLOCK_MAX);
        let mut warp = SyntheticWarp::new(sites.kernel, entry, nanoseconds);
        let header = &mut warp.header;
        header.record_clock = if self.timer { Clock::GlobalTimer } else { Clock::Cycles };
        header.grid_id = self.grid_id.into();
        header.block = [self.block.0, self.block.1.into(), 0];
        header.grid_dim = [self.grid.0, self.grid.1.into(), 1];
        header.block_dim = [1 + u32::from(self.threads), 1, 1];
        header.warp = self.warp.into();
        header.sm = self.sm.into();
        header.cluster_rank = self.cluster_rank.map(u32::from);
        header.track = self.track.map_or(0, |track| track % TRACK_MAX);
        header.strategy = self.strategy.into();
        let start = if self.timer { nanoseconds } else { entry };
        let mut times: BTreeMap<u8, u64> = BTreeMap::new();
        let (mut lane, mut latest, mut usual) = (0, start, true);
        for step in self.steps.iter().take(100) {
            let now = times.entry(lane).or_insert(start);
            latest = latest.max(*now);
            match *step {
                Step::Wait(ticks) => *now += u64::from(ticks),
                Step::WaitLong(ticks) => *now = now.saturating_add(ticks >> 16).min(2 * CLOCK_MAX),
                Step::Lane(number) => {
                    lane = number % 32;
                    warp.lane(lane);
                }
                Step::Range { site, track, length, value } => {
                    let begin = now.saturating_sub(length.into()).max(start);
                    let site = sites.id(site);
                    match (track, value) {
                        (None, Some(Number::ShortUnsigned(short))) => {
                            warp.range_unsigned(site, begin, *now, short);
                        }
                        (None, Some(Number::ShortSigned(short))) => {
                            warp.range_signed(site, begin, *now, short);
                        }
                        _ => {
                            warp.range(site, track, begin, *now);
                            attach(&mut warp, site, *now, value);
                        }
                    }
                }
                Step::Open { site, track, length } => {
                    let begin = now.saturating_sub(length.into()).max(start);
                    warp.open(sites.id(site), track, begin, *now);
                }
                Step::Begin { site, track } => drop(warp.begin(sites.id(site), track, *now)),
                Step::Watched { site, track, length, value } => {
                    let begin = now.saturating_sub(length.into()).max(start);
                    warp.watched(sites.id(site), track, begin, *now);
                    attach(&mut warp, sites.id(site), *now, value);
                }
                Step::Mark { track } => drop(warp.mark(sites.mark, track, *now)),
                Step::Value(number) => drop(warp.value(sites.mark, *now, number.value())),
                Step::Signal(key) => drop(warp.value(sites.signal, *now, Value::Unsigned(key))),
                Step::Await(key) => drop(warp.value(sites.wait, *now, Value::Unsigned(key))),
                Step::Anchor { nanoseconds: since } => {
                    warp.anchor(*now, nanoseconds + u64::from(since));
                }
                Step::Unit(unit) => {
                    usual = false;
                    warp.unit(unit);
                }
            }
            latest = latest.max(times.get(&lane).copied().unwrap_or(start));
        }
        if let Some((ticks, since)) = self.exit {
            let exit = latest + u64::from(ticks);
            let since = since % CLOCK_MAX;
            if self.timer {
                warp.leave(entry + since, exit);
            } else {
                warp.leave(exit, nanoseconds + since);
            }
        }
        let records = |lane: &SyntheticLane| {
            (lane.units.len() as u64).saturating_sub(lane.attachments.into())
        };
        let emitted: u64 = warp.lanes.values().map(records).sum();
        // What did not leave has no count; a timer's anchor may lie outside the kernel; a name that
        // the list lacks is another site or none.
        let usual = usual && self.exit.is_some() && !self.timer && !self.names_beyond();
        (warp, usual.then_some(emitted))
    }

    fn names_beyond(&self) -> bool {
        self.steps.iter().any(|step| {
            matches!(
                step,
                Step::Range { site: Site::Second | Site::Beyond, .. }
                    | Step::Open { site: Site::Second | Site::Beyond, .. }
                    | Step::Begin { site: Site::Second | Site::Beyond, .. }
                    | Step::Watched { site: Site::Second | Site::Beyond, .. }
            )
        })
    }
}

fn attach(warp: &mut SyntheticWarp, site: u32, now: u64, value: Option<Number>) {
    if let Some(number) = value {
        warp.attach(site, now, number.value());
    }
}

impl Number {
    fn value(self) -> Value {
        match self {
            Self::Unsigned(number) => Value::Unsigned(number),
            Self::Signed(number) => Value::Signed(number),
            Self::Float(number) => Value::Float(number),
            Self::ShortUnsigned(number) => Value::Unsigned(number.into()),
            Self::ShortSigned(number) => Value::Signed(number.into()),
        }
    }
}

impl Spoil {
    fn apply(self, module: &mut ModuleCapture) {
        match self {
            Self::Byte { array, at, byte } => {
                let array = array_mut(module, array);
                let length = array.len().max(1);
                if let Some(old) = array.get_mut(at as usize % length) {
                    *old = byte;
                }
            }
            Self::Cut { array, at } => {
                let array = array_mut(module, array);
                let length = array.len();
                array.truncate(at as usize % (length + 1));
            }
            Self::Descriptor { at, word } => {
                let mut bytes = module.descriptor.to_bytes();
                let at = 4 * (usize::from(at) % (BYTES / 4));
                bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                module.descriptor = Descriptor::from_bytes(&bytes);
            }
        }
    }
}

fn array_mut(module: &mut ModuleCapture, number: u8) -> &mut Vec<u8> {
    match number % 4 {
        0 => &mut module.headers,
        1 => &mut module.records,
        2 => &mut module.lanes,
        _ => &mut module.lane_counts,
    }
}

/// A capture of two modules with all kinds of records.
#[must_use]
pub fn sample() -> Capture {
    let track = Some(2);
    let number = Some(Number::Float(1.5));
    let steps = vec![
        Step::Wait(10),
        Step::Begin { site: Site::Outer, track },
        Step::Wait(20),
        Step::Range {
            site: Site::Inner,
            track: None,
            length: 2,
            value: Some(Number::ShortSigned(-3)),
        },
        Step::Range { site: Site::Inner, track: None, length: 15, value: number },
        Step::Range { site: Site::First, track: Some(3), length: 5, value: None },
        Step::Anchor { nanoseconds: 17 },
        Step::Mark { track: None },
        Step::Signal(7),
        Step::Value(Number::Signed(-4)),
        Step::Wait(5),
        Step::Watched { site: Site::Outer, track, length: 20, value: Some(Number::Unsigned(9)) },
        Step::Begin { site: Site::Inner, track: None },
        Step::Watched { site: Site::Inner, track: None, length: 0, value: None },
        Step::Wait(3),
        Step::Lane(5),
        Step::Range { site: Site::Outer, track: None, length: 3, value: None },
        Step::Range { site: Site::First, track: None, length: 1, value: Some(Number::Signed(-3)) },
        Step::Wait(50),
        Step::Range {
            site: Site::Inner,
            track: None,
            length: 9,
            value: Some(Number::ShortUnsigned(3)),
        },
        Step::Await(7),
    ];
    let warp = |number: u8| Warp {
        entry: (1_000 + 10 * u64::from(number), 64_000),
        grid_id: 1,
        block: (number.into(), 0),
        grid: (3, 1),
        threads: 7,
        sm: number.into(),
        exit: Some((30, 60)),
        steps: steps.clone(),
        ..Warp::default()
    };
    let names = ["kernel", "outer", "inner", "mark"].map(str::to_owned);
    let module = |keeps_last, lane_capacity| Module {
        keeps_last,
        capacity: 4,
        lane_capacity,
        names: names.clone(),
        list: vec!["first".to_owned(), "second".to_owned()],
        warps: (0..3).map(warp).collect(),
        ..Module::default()
    };
    let content = Content {
        name: "synthetic".to_owned(),
        sm_count: 4,
        compute_capability: Some((9, 0)),
        cost: Some((7.1, 0.3)),
        modules: vec![module(false, None), module(true, Some(3))],
        ..Content::default()
    };
    content.capture().0
}
