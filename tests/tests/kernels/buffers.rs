//! Ten times more records than there is room for, by every strategy: nothing is written outside of
//! the buffers, and what is kept and what is lost add up.

use crate::support::on_both_back_ends;
use crate::support::with_lane_buffers;

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cust::context::Context;
use cust::memory::CopyDestination;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use profiler_emulator::LaunchConfig;
use profiler_host::{Backend, BackendChoice, Error, Keep, Profiler, Session, Slots, launch};
use profiler_wire::descriptor::{BYTES, Descriptor, FLAG_LANES, LANE_STEP, Lost};
use profiler_wire::header::{self, ExitHeader, SlotHeader, unpack_counts};
use profiler_wire::record::UNIT_BYTES;
use profiler_wire::{WIRE_VERSION, symbol};
use test_kernels::abuse as kernels;
use test_kernels::every_strategy::WHEN_STEP;

const PTX: Option<&str> = profiler_host::include_ptx!("abuse");
/// Of kernels with anchors alone.
const ANCHORS: Option<&str> = profiler_host::include_ptx!("anchors");

on_both_back_ends! {
    guard_words_stay
    recorded_and_lost_are_all
    anchors_by_lanes_alone_have_buffers
}

const BLOCKS: u32 = 3;
const WARPS: u32 = 5;
const THREADS: u32 = BLOCKS * WARPS * 32;
/// Regions that each recording thread emits, of two units each.
const ROUNDS: u32 = 50;
/// What kernels take for values of 32 bits, which are units of their own.
const LONG: u32 = 2;

/// A kernel: its twin, how to launch it in a session, and how many lanes of a block record.
struct Kernel {
    name: &'static str,
    twin: unsafe fn(*mut u32, u32, u32, u32),
    in_session: fn(&mut Session<'_>, *mut u32) -> Result<(), Error>,
    lanes: u32,
    /// Whether hardware that splits a warp makes more lanes record.
    is_least: bool,
}

macro_rules! kernel {
    ($name:ident, $lanes:expr, $is_least:expr) => {
        Kernel {
            name: stringify!($name),
            twin: kernels::$name,
            in_session: |session, output| {
                // SAFETY: one number a thread.
                unsafe {
                    launch!(
                        session,
                        kernels::$name<<<BLOCKS, 32 * WARPS>>>(output, ROUNDS, LONG, 0)
                    )
                }
            },
            lanes: $lanes,
            is_least: $is_least,
        }
    };
}

const KERNELS: [Kernel; 7] = [
    kernel!(block_cycles, 1, false),
    kernel!(warp_cycles, WARPS, false),
    kernel!(warp_1_cycles, 1, false),
    kernel!(warp_group_cycles, WARPS.div_ceil(4), false),
    kernel!(elected_cycles, WARPS, true),
    kernel!(thread_cycles, 32 * WARPS, false),
    kernel!(when_cycles, (32 * WARPS).div_ceil(WHEN_STEP), false),
];

impl Kernel {
    /// Regions that all blocks emit.
    fn records(&self) -> u64 {
        u64::from(BLOCKS * self.lanes * ROUNDS)
    }

    /// As many units again hold their values.
    fn units(&self) -> u64 {
        2 * self.records()
    }

    #[track_caller]
    fn check(&self, counted: u64, expected: u64) {
        if self.is_least {
            assert!(counted >= expected, "{}: {counted} of {expected}", self.name);
        } else {
            assert_eq!(counted, expected, "{}", self.name);
        }
    }
}

/// What launches kernels by a descriptor that the test has made.
enum Launcher {
    Emulator,
    Gpu { module: Module, stream: Stream, _context: Context },
}

impl Launcher {
    fn new(choice: BackendChoice) -> Self {
        if choice == BackendChoice::Emulator {
            return Self::Emulator;
        }
        let context = cust::quick_init().expect("a GPU");
        Self::Gpu {
            module: Module::from_ptx(PTX.expect("compiled"), &[]).expect("the module loads"),
            stream: Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream"),
            _context: context,
        }
    }

    /// Runs a kernel to its end.
    fn launch(&self, kernel: &Kernel, descriptor: &Descriptor, mut output: *mut u32) {
        let bytes: [u8; BYTES] = descriptor.to_bytes();
        match self {
            Self::Emulator => {
                let mut config = LaunchConfig::new([BLOCKS, 1, 1], [32 * WARPS, 1, 1]);
                config.constant = Arc::from(bytes);
                let address = output.expose_provenance();
                let output = || std::ptr::with_exposed_provenance_mut(address);
                // SAFETY: one number a thread; the descriptor is that of an arena.
                let run = || unsafe { (kernel.twin)(output(), ROUNDS, LONG, 0) };
                profiler_emulator::launch(&config, run).expect("the launch");
            }
            Self::Gpu { module, stream, .. } => {
                let name = CString::new(symbol::DESCRIPTOR).expect("a name");
                let mut place = module.get_global::<[u8; BYTES]>(&name).expect("the descriptor");
                place.copy_from(&bytes).expect("it can be written");
                let function = module.get_function(kernel.name).expect("the kernel");
                let mut numbers = [ROUNDS, LONG, 0];
                let [rounds, values, leaving] =
                    numbers.each_mut().map(|number| std::ptr::from_mut(number).cast());
                let arguments: [*mut c_void; 4] =
                    [(&raw mut output).cast(), rounds, values, leaving];
                // SAFETY: as above.
                unsafe { stream.launch(&function, BLOCKS, 32 * WARPS, 0, &arguments) }
                    .expect("the launch");
                stream.synchronize().expect("the kernel ran");
            }
        }
    }
}

/// What memory holds that nobody has written: no record, header or count looks like it.
const UNTOUCHED: u64 = 0xa5a5_5a5a_c3c3_3c3c;
/// Bytes between two arrays.
const GAP: u64 = 256;
/// Words of an arena.
const ARENA_WORDS: usize = 1 << 17;
/// Slots of an arena: two warps find none.
const SLOTS: u32 = BLOCKS * WARPS - 2;

/// A buffer: units that are kept, and the binary logarithm of the bytes between two buffers.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    units: u32,
    keep: Keep,
    shift: u32,
}

impl Buffer {
    const fn first(units: u32, shift: u32) -> Self {
        Self { units, keep: Keep::First, shift }
    }

    const fn last(units: u32, shift: u32) -> Self {
        Self { units, keep: Keep::Last, shift }
    }

    fn mask(self, step: u32) -> u32 {
        if self.keep == Keep::Last { self.units * step - 1 } else { u32::MAX }
    }

    fn limit(self, step: u32) -> u32 {
        if self.keep == Keep::Last { u32::MAX } else { self.units * step }
    }
}

/// Buffers of lane 0 and of the other lanes: with and without unused space after them, of nothing,
/// and rings.
const BUFFERS: [(Buffer, Buffer); 4] = [
    (Buffer::first(10, 8), Buffer::first(5, 12)),
    (Buffer::first(8, 7), Buffer::first(0, 9)),
    (Buffer::last(8, 7), Buffer::last(1, 9)),
    (Buffer::last(8, 9), Buffer::last(4, 12)),
];

/// The arrays of a session, laid out by the test with space between them that must stay as it is.
struct Arena {
    base: u64,
    /// Bytes in use.
    end: u64,
    /// For each word, whether kernels may write it.
    writable: Vec<bool>,
}

impl Arena {
    /// An empty arena in memory that begins at `base`.
    fn new(base: u64) -> Self {
        Self { base, end: base, writable: vec![false; ARENA_WORDS] }
    }

    /// Places `count` elements, `stride` bytes apart, of each of which the first `used` bytes may be
    /// written. Gives the address of the first.
    fn place(&mut self, count: u32, stride: u64, used: u64, alignment: u64) -> u64 {
        let start = (self.end + GAP).next_multiple_of(alignment);
        self.end = start + u64::from(count) * stride;
        assert!(self.index(self.end + GAP) <= ARENA_WORDS, "the arena is too small");
        for element in 0..u64::from(count) {
            self.permit(start + element * stride, used);
        }
        start
    }

    /// Says that kernels may write so many bytes at an address.
    fn permit(&mut self, address: u64, bytes: u64) {
        let first = self.index(address);
        self.writable[first..first + bytes as usize / 8].fill(true);
    }

    /// Places the buffers of lane 0.
    fn buffers(&mut self, buffer: Buffer) -> u64 {
        let stride = 1 << buffer.shift;
        self.place(SLOTS, stride, u64::from(buffer.units * UNIT_BYTES), stride)
    }

    /// Places those of the other lanes. In each row the unit of lane 0 must stay as it is.
    fn lane_buffers(&mut self, buffer: Buffer) -> u64 {
        let stride = 1 << buffer.shift;
        let start = self.place(SLOTS, stride, 0, stride);
        for slot in 0..u64::from(SLOTS) {
            for row in 0..u64::from(buffer.units) {
                let row = start + slot * stride + row * u64::from(LANE_STEP);
                self.permit(row + u64::from(UNIT_BYTES), u64::from(LANE_STEP - UNIT_BYTES));
            }
        }
        start
    }

    /// Places everything that the kernels need.
    fn descriptor(&mut self, buffer: Buffer, lane_buffer: Buffer) -> Descriptor {
        let header_bytes = header::BYTES as u64;
        let written = 8 * (header::EXIT_START + header::EXIT_WORDS) as u64;
        Descriptor {
            version: WIRE_VERSION,
            flags: FLAG_LANES,
            headers: self.place(SLOTS, header_bytes, written, 16),
            records: self.buffers(buffer),
            record_mask: buffer.mask(UNIT_BYTES),
            record_limit: buffer.limit(UNIT_BYTES),
            record_shift: buffer.shift,
            slot_count: SLOTS,
            lanes: self.lane_buffers(lane_buffer),
            lane_counts: self.place(32 * SLOTS, 8, 8, 16),
            lane_mask: lane_buffer.mask(LANE_STEP),
            lane_limit: lane_buffer.limit(LANE_STEP),
            lane_shift: lane_buffer.shift,
            warp_mask: u32::MAX,
            block_count: u32::MAX,
            block_stride: 1,
            lost: self.place(1, Lost::BYTES as u64, Lost::BYTES as u64, 16),
            ..Descriptor::default()
        }
    }

    /// The word at an address.
    fn index(&self, address: u64) -> usize {
        (address - self.base) as usize / 8
    }
}

/// Checks a lane's buffer of `words`, in which its units lie `step` bytes apart, and of which `units`
/// were emitted.
fn check_buffer(words: &[u64], step: u32, buffer: Buffer, units: u32, what: &str) {
    let written = units.min(buffer.units) as usize;
    for (index, unit) in words.chunks(step as usize / 8).enumerate() {
        assert_eq!(unit[0] != UNTOUCHED, index < written, "{what}, unit {index} of {units}");
    }
}

fn guard_words_stay(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    let mut memory = backend.zeroed::<u64>(ARENA_WORDS).expect("memory");
    backend.synchronize().expect("the memory is zero");
    let launcher = Launcher::new(choice);
    for (kernel, (buffer, lane_buffer)) in
        KERNELS.iter().flat_map(|kernel| BUFFERS.map(|buffers| (kernel, buffers)))
    {
        let mut arena = Arena::new(memory.as_mut_ptr().addr() as u64);
        let descriptor = arena.descriptor(buffer, lane_buffer);
        let mut words = vec![UNTOUCHED; ARENA_WORDS];
        let lost_at = arena.index(descriptor.lost);
        words[lost_at..lost_at + Lost::BYTES / 8].fill(0);
        memory.write(&words).expect("the arena");
        launcher.launch(kernel, &descriptor, output.as_mut_ptr());
        let words = memory.read().expect("the arena");
        let name = kernel.name;
        assert_eq!(output.read().expect("the results"), [ROUNDS; THREADS as usize], "{name}");

        for (index, word) in words.iter().enumerate() {
            assert!(
                arena.writable[index] || *word == UNTOUCHED,
                "{name} wrote {word:#x} to byte {} with {buffer:?} and {lane_buffer:?}: {descriptor:?}",
                8 * index
            );
        }
        let array = |address: u64, count: usize| &words[arena.index(address)..][..count];
        let mut units = 0;
        for slot in 0..SLOTS {
            let address = descriptor.headers + u64::from(slot) * header::BYTES as u64;
            let header = array(address, header::WORDS).try_into().expect("a header");
            let entry = SlotHeader::unpack(header).expect("the warp entered");
            assert_eq!((entry.block[0], entry.warp), (slot / WARPS, slot % WARPS), "{name}");
            let exit = ExitHeader::unpack(header).expect("the warp left");
            let stride = 1 << buffer.shift;
            let records = descriptor.records + u64::from(slot) * stride;
            check_buffer(array(records, stride as usize / 8), UNIT_BYTES, buffer, exit.units, name);
            units += u64::from(exit.units);
            for lane in 1..32 {
                let count = array(descriptor.lane_counts + u64::from(32 * slot + lane) * 8, 1)[0];
                // A lane that emitted nothing writes no count.
                let (lane_units, _) =
                    if count == UNTOUCHED { (0, 0) } else { unpack_counts(count) };
                let stride = 1 << lane_buffer.shift;
                let column = u64::from(lane * UNIT_BYTES);
                let records = descriptor.lanes + u64::from(slot) * stride + column;
                let length = (stride - column) as usize / 8;
                check_buffer(array(records, length), LANE_STEP, lane_buffer, lane_units, name);
                units += u64::from(lane_units);
            }
        }
        let [lost_warps, lost_units, _] = *array(descriptor.lost, 3) else { panic!("3 counters") };
        assert_eq!(lost_warps, u64::from(BLOCKS * WARPS - SLOTS), "{name}");
        kernel.check(units + lost_units, kernel.units());
    }
}

fn recorded_and_lost_are_all(choice: BackendChoice) {
    let backend = Backend::choose(choice, PTX).expect("the back end");
    let mut output = backend.zeroed::<u32>(THREADS as usize).expect("memory");
    for kernel in &KERNELS {
        for keep in [Keep::First, Keep::Last] {
            for slots in [Slots::Linear, Slots::Claimed] {
                for lane_buffers in [true, false] {
                    let options = Profiler::builder()
                        .records_per_warp(10)
                        .max_warps(SLOTS)
                        .keep(keep)
                        .slots(slots);
                    let options = with_lane_buffers(options, lane_buffers, 10);
                    let profiler = options.build().expect("the options");
                    let mut session = backend.session(&profiler).expect("a session");
                    (kernel.in_session)(&mut session, output.as_mut_ptr()).expect("the launch");
                    let trace = session.finish().expect("a trace");
                    kernel.check(trace.recorded() + trace.lost(), kernel.records());
                    for warp in &trace.warps {
                        assert_eq!(
                            warp.regions.len() as u64,
                            warp.recorded,
                            "{}: {}",
                            kernel.name,
                            trace.diagnostics
                        );
                    }
                }
            }
        }
    }
    assert_eq!(output.read().expect("the results"), [ROUNDS; THREADS as usize]);
}

/// Nothing but anchors asks for buffers of the lanes, and all of these are kept.
fn anchors_by_lanes_alone_have_buffers(choice: BackendChoice) {
    const ROUNDS: u32 = 5;
    if let Some(ptx) = ANCHORS {
        let sites = profiler_trace::SiteTable::from_ptx(ptx).expect("a site table");
        assert!(sites.needs_lanes());
    }
    let backend = Backend::choose(choice, ANCHORS).expect("the back end");
    let profiler = Profiler::builder().for_grid(2, 64, 1).build();
    let mut session = backend.session(&profiler.expect("the options")).expect("a session");
    // SAFETY: the kernel touches no memory but the session's.
    unsafe { launch!(session, test_kernels::anchors::anchored<<<2, 64>>>(ROUNDS)) }
        .expect("the launch");
    let trace = session.finish().expect("a trace");
    assert_eq!((trace.warps.len(), trace.lost()), (4, 0), "{}", trace.diagnostics);
    for warp in &trace.warps {
        let of = |lane| warp.anchors.iter().filter(|anchor| anchor.lane == lane).count();
        let counts: Vec<usize> = (0..32).map(of).collect();
        let round = |lane: u32| 1 + u32::from(lane == test_kernels::anchors::LANE);
        let by_all_and_one: u32 = (0..32).map(round).sum();
        let elected = (ROUNDS * (by_all_and_one + 1)) as usize;
        // Who is elected is not said.
        assert_eq!(counts.iter().sum::<usize>(), elected, "{counts:?}");
        for lane in 0..32 {
            assert!(counts[lane as usize] >= (ROUNDS * round(lane)) as usize, "{counts:?}");
        }
    }
}
