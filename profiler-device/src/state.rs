//! Entry and exit: how a thread finds its room, and what the slot's header says of it.

use core::cell::Cell;

use profiler_wire::descriptor::{
    self, CLAIM_STRIDE, FLAG_CLAIMED, FLAG_LANES, LANE_STEP, SHARES_PER_SM, offset,
};
use profiler_wire::header::{self, Clock, ExitHeader, SlotHeader};
use profiler_wire::record::{RecordKind, UNIT_BYTES, tag};
use profiler_wire::site::Buffer;
use profiler_wire::{Strategy, WIRE_VERSION};

use crate::config::Config;
use crate::hardware::{self, Constant, Descriptor, DescriptorPtr};
use crate::site::SiteId;

/// A slot that a warp has not found.
const NO_SLOT: u32 = u32::MAX;

/// A thread's recorder: lives in registers from the kernel's first line to its last.
///
/// The cells are never shared between threads; they are cells because regions nest.
#[doc(hidden)]
pub struct State {
    pub(crate) config: Config,
    /// Whether there is a session, selected or not.
    attached: bool,
    /// Whether the session selected this warp (false as well where there is no session).
    pub(crate) recording: bool,
    /// Whether this thread records by the kernel's strategy.
    pub(crate) leader: bool,
    slot: u32,
    room: Room,
    /// Bytes of the units emitted so far, kept or not.
    cursor: Cell<u32>,
    /// See [`State::address`].
    high: Cell<u32>,
    /// The upper halves of the stamps of the last two units, the last one first. See there.
    last: Cell<[u32; 2]>,
    /// How many of the units were attachments.
    attachments: Cell<u32>,
    /// The explicit descriptor of a kernel that has one.
    explicit: Option<DescriptorPtr>,
}

impl State {
    /// Enters a kernel whose descriptor is the module's.
    ///
    /// # Safety
    ///
    /// It must be the first thing that a kernel does: all threads of a warp come here together
    /// (a collective may name them all), and each only once, so that its room is its own.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter(kernel: SiteId, config: Config) -> Self {
        if config.enabled && Constant.u32::<{ offset::VERSION }>() == WIRE_VERSION {
            return Self::enter_selected(kernel, config, Constant, None);
        }
        Self::silent(config, false)
    }

    /// Enters a kernel with a descriptor of its own.
    ///
    /// # Safety
    ///
    /// As for [`State::enter`]; and `descriptor` must be null, or what a session gave for this
    /// launch.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_with(kernel: SiteId, config: Config, descriptor: DescriptorPtr) -> Self {
        if config.enabled && descriptor.u32::<{ offset::VERSION }>() == WIRE_VERSION {
            return Self::enter_selected(kernel, config, descriptor, Some(descriptor));
        }
        Self::silent(config, false)
    }

    /// Whether a session is attached to the kernel's module. It is the same for every thread of a
    /// launch, so that a branch on it parts no warp.
    #[inline(always)]
    #[must_use]
    pub fn is_attached(&self) -> bool {
        self.config.enabled && self.attached
    }

    /// A thread that records nothing, of which the compiler knows it: clocks are not even read.
    #[inline(always)]
    #[must_use]
    pub fn idle(config: Config) -> Self {
        Self::silent(Config { enabled: false, ..config }, false)
    }

    /// A thread that records nothing.
    #[inline(always)]
    fn silent(config: Config, attached: bool) -> Self {
        Self {
            config,
            attached,
            recording: false,
            leader: false,
            slot: NO_SLOT,
            room: Room::NONE,
            cursor: Cell::new(0),
            high: Cell::new(0),
            last: Cell::new([0; 2]),
            attachments: Cell::new(0),
            explicit: None,
        }
    }

    #[inline(always)]
    fn enter_selected(
        kernel: SiteId,
        config: Config,
        descriptor: impl Descriptor,
        explicit: Option<DescriptorPtr>,
    ) -> Self {
        let lane = hardware::lane_id();
        let warp = hardware::warp_index();
        let Some(ordinal) = selected(descriptor, warp) else {
            return Self::silent(config, true);
        };
        let flags = descriptor.u32::<{ offset::FLAGS }>();
        let mut slot = if flags & FLAG_CLAIMED == 0 {
            linear_slot(descriptor, ordinal, warp)
        } else if lane == 0 {
            // SAFETY: the descriptor is a session's.
            unsafe { claim_slot(descriptor) }
        } else {
            NO_SLOT
        };
        if lane == 0 && slot != NO_SLOT {
            // SAFETY: the slot is this warp's alone, and lane 0 writes its header.
            unsafe { write_entry(header_address(descriptor, slot), kernel, config, warp) };
        }
        // Where other lanes have rooms they wait here for lane 0, also where they know the slot: a
        // record from before the entry would have no time.
        if flags & FLAG_LANES != 0 {
            slot = hardware::broadcast(lanes_of(warp), slot);
        }
        let room = if lane == 0 {
            Room::of_leader(descriptor, slot)
        } else {
            Room::of_lane(descriptor, flags, slot, lane)
        };
        Self {
            config,
            recording: true,
            leader: match config.strategy {
                Strategy::Block => lane == 0 && warp == 0,
                Strategy::WarpIndex(index) => lane == 0 && warp == u32::from(index),
                Strategy::WarpGroup => lane == 0 && warp.is_multiple_of(4),
                Strategy::Warp => lane == 0,
                Strategy::When => config.when,
                // `Elected` is decided anew at every region.
                Strategy::Thread | Strategy::Elected => true,
            },
            slot,
            room,
            cursor: Cell::new(0),
            high: Cell::new(room.high),
            last: Cell::new([0; 2]),
            attachments: Cell::new(0),
            explicit,
            attached: true,
        }
    }

    /// Reads the record clock.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> u64 {
        match self.config.clock {
            Clock::Cycles => hardware::clock64(),
            Clock::GlobalTimer => hardware::globaltimer(),
        }
    }

    /// Reads the record clock once a value is there.
    #[inline(always)]
    pub(crate) fn stamp_after(&self, value: u32) -> u64 {
        match self.config.clock {
            Clock::Cycles => hardware::clock64_after(value),
            Clock::GlobalTimer => hardware::globaltimer_after(value),
        }
    }

    /// Whether the next unit is stored, if this thread `leads`. Asked for *before* the stamp that the
    /// unit holds, since the store waits for the answer.
    #[inline(always)]
    pub(crate) fn stores(&self, leads: bool) -> bool {
        // Not `&&`: see `append`.
        leads & (self.cursor.get() < self.room.limit)
    }

    /// The low half of the next unit's address.
    #[inline(always)]
    fn low(&self) -> u32 {
        let byte = descriptor::room_byte(self.cursor.get(), self.room.mask);
        hardware::hold(self.room.low | byte)
    }

    /// The address of the next unit, by halves. Asked for *after* the stamp: there it costs no time,
    /// as the store waits for the stamp; before it, it would wait for the store before.
    ///
    /// The high half is the same for a whole room, and what is done to it here does not change it:
    /// it decides which registers ptxas takes. A store reads its registers some ten cycles after it
    /// is issued, and what writes one of them until then waits. Left to itself ptxas takes for the
    /// next begin stamp the registers of the unit just stored, and copies the high half for every
    /// store. Here one register of each of the last two units is still to be read, so that the next
    /// goes into others; and the high half is a new value, so that it is made where it is needed.
    /// ptxas cannot know that the constant is 0. See docs/how-it-costs.md.
    #[inline(always)]
    pub(crate) fn address(&self) -> [u32; 2] {
        let low = self.low();
        let [_, kept] = self.last.get();
        let nothing = kept & Constant.u32::<{ offset::ZERO }>();
        self.high.set(hardware::hold(self.high.get() | nothing));
        [low, self.high.get()]
    }

    /// Appends a unit, and stores it where `stores` holds.
    ///
    /// # Safety
    ///
    /// Where `stores` holds, the state must be recording, and `stores` and `address` must be of this
    /// very unit. An idle state has no room; that it is not asked again here is what keeps a record
    /// at one predicated store.
    // Neither condition is a branch, also not to LLVM: it would make one of the store's predicate
    // too, and a branch around a record costs more than twice the record.
    #[inline(always)]
    pub(crate) unsafe fn append(
        &self,
        leads: bool,
        stores: bool,
        address: [u32; 2],
        data: u64,
        tag: u32,
        ticks: u64,
    ) {
        // SAFETY: the state records, so the room is this lane's own, or its limit is 0 and nothing
        // is stored. Below the limit the cursor, of which the address was made, lies in the room by
        // the descriptor's contract ("Slots"), and no other thread writes a room.
        let stamp = unsafe {
            match self.config.buffer() {
                Buffer::Global => hardware::store_unit_if(stores, address, data, tag, ticks),
                Buffer::Host => hardware::publish_unit_if(stores, address, data, tag, ticks),
            }
        };
        let [last, _] = self.last.get();
        self.last.set([stamp, last]);
        let step = self.room.step & u32::from(leads).wrapping_neg();
        self.cursor.set(descriptor::next_cursor(self.cursor.get(), step));
    }

    /// Appends a unit that belongs to the one before.
    ///
    /// # Safety
    ///
    /// Where `leads` holds, the state must be recording.
    #[inline(always)]
    pub(crate) unsafe fn append_attachment(&self, leads: bool, data: u64, tag: u32, ticks: u64) {
        let stores = self.stores(leads);
        // Right behind another store the address must lie in other registers.
        let address = [self.low(), self.room.high];
        // SAFETY: the caller's.
        unsafe { self.append(leads, stores, address, data, tag, ticks) };
        self.attachments.set(self.attachments.get().saturating_add(u32::from(leads)));
    }

    /// Appends a reading of both clocks, where they are not one and the same.
    ///
    /// # Safety
    ///
    /// As for [`State::append_attachment`].
    #[inline(always)]
    pub(crate) unsafe fn append_anchor(&self, leads: bool) {
        if self.config.clock == Clock::GlobalTimer {
            return;
        }
        let (clock, globaltimer) = anchor();
        // SAFETY: the caller's.
        unsafe {
            self.append_attachment(leads, globaltimer, tag(RecordKind::Anchor, 0), clock);
        }
    }

    #[inline(always)]
    fn exit_through(&self, descriptor: impl Descriptor) {
        let lane = hardware::lane_id();
        if self.config.buffer() == Buffer::Host {
            // So that who sees the counts below sees all units that they count.
            hardware::order_before_host();
        }
        let units = descriptor::units(self.cursor.get(), self.room.step);
        let attachments = self.attachments.get();
        if lane == 0 && self.slot != NO_SLOT {
            let (clock, globaltimer) = anchor();
            let exit = ExitHeader { clock, globaltimer, units, attachments };
            let address = header_address(descriptor, self.slot) + 8 * header::EXIT_START as u64;
            // SAFETY: the slot is this warp's alone, and lane 0 writes its header.
            unsafe { write_units(self.config.buffer(), address, exit.pack()) };
            return;
        }
        if lane != 0 {
            if units == 0 {
                return;
            }
            if self.slot != NO_SLOT && descriptor.u32::<{ offset::FLAGS }>() & FLAG_LANES != 0 {
                let index = u64::from(self.slot) * 32 + u64::from(lane);
                let address = descriptor.u64::<{ offset::LANE_COUNTS }>() + 8 * index;
                let counts = header::pack_counts(units, attachments);
                // SAFETY: the count is this lane's alone.
                unsafe {
                    match self.config.buffer() {
                        Buffer::Global => hardware::store_word(address, counts),
                        Buffer::Host => hardware::publish_word(address, counts),
                    }
                }
                return;
            }
        }
        let lost = descriptor.u64::<{ offset::LOST }>();
        // SAFETY: the session's three counters of 8 bytes.
        unsafe {
            if lane == 0 {
                hardware::atomic_add_u64(lost, 1);
            }
            hardware::atomic_add_u64(lost + 8, u64::from(units));
            hardware::atomic_add_u64(lost + 16, u64::from(attachments));
        }
    }
}

impl Drop for State {
    /// Leaves the kernel: lane 0 writes the exit half of the header, other lanes their counts.
    #[inline(always)]
    fn drop(&mut self) {
        if !self.config.enabled || !self.recording || hardware::is_unwinding() {
            return;
        }
        match self.explicit {
            None => self.exit_through(Constant),
            Some(descriptor) => self.exit_through(descriptor),
        }
    }
}

/// A lane's room: see "Slots" in [`profiler_wire::descriptor`].
#[derive(Clone, Copy)]
struct Room {
    /// The halves of its address. A room is aligned to its size, so that the high one holds for all
    /// of it.
    low: u32,
    high: u32,
    mask: u32,
    /// Units whose cursor is not below it are counted and not stored.
    limit: u32,
    /// Bytes from one unit of the lane to the next.
    step: u32,
}

impl Room {
    /// No room. Its units are counted.
    const NONE: Self = Self { low: 0, high: 0, mask: 0, limit: 0, step: UNIT_BYTES };

    #[inline(always)]
    fn at(address: u64, mask: u32, limit: u32, step: u32) -> Self {
        Self { low: address as u32, high: (address >> 32) as u32, mask, limit, step }
    }

    #[inline(always)]
    fn of_leader(descriptor: impl Descriptor, slot: u32) -> Self {
        if slot == NO_SLOT {
            return Self::NONE;
        }
        Self::at(
            descriptor.u64::<{ offset::RECORDS }>()
                + (u64::from(slot) << descriptor.u32::<{ offset::RECORD_SHIFT }>()),
            descriptor.u32::<{ offset::RECORD_MASK }>(),
            descriptor.u32::<{ offset::RECORD_LIMIT }>(),
            UNIT_BYTES,
        )
    }

    #[inline(always)]
    fn of_lane(descriptor: impl Descriptor, flags: u32, slot: u32, lane: u32) -> Self {
        if slot == NO_SLOT || flags & FLAG_LANES == 0 {
            return Self::NONE;
        }
        Self::at(
            descriptor.u64::<{ offset::LANES }>()
                + (u64::from(slot) << descriptor.u32::<{ offset::LANE_SHIFT }>())
                + u64::from(lane * UNIT_BYTES),
            descriptor.u32::<{ offset::LANE_MASK }>(),
            descriptor.u32::<{ offset::LANE_LIMIT }>(),
            LANE_STEP,
        )
    }
}

/// The number of this warp's block among the selected ones, if block and warp are selected.
#[inline(always)]
fn selected(descriptor: impl Descriptor, warp: u32) -> Option<u64> {
    let [x, y, z] = hardware::block_index();
    let [width, height, _] = hardware::grid_dim();
    let block = (u64::from(z) * u64::from(height) + u64::from(y)) * u64::from(width) + u64::from(x);
    let first = u64::from(descriptor.u32::<{ offset::BLOCK_FIRST }>());
    let stride = descriptor.u32::<{ offset::BLOCK_STRIDE }>();
    if descriptor.u32::<{ offset::WARP_MASK }>() >> warp & 1 == 0 || block < first {
        return None;
    }
    let mut ordinal = block - first;
    if stride > 1 {
        // A 64-bit division is a long subroutine; grids beyond 2^32 blocks do not get strides.
        let near = u32::try_from(ordinal).ok()?;
        if near % stride != 0 {
            return None;
        }
        ordinal = u64::from(near / stride);
    }
    let count = descriptor.u32::<{ offset::BLOCK_COUNT }>();
    (count == u32::MAX || ordinal < u64::from(count)).then_some(ordinal)
}

/// The lanes that a warp has: all 32, but for the last warp of a block whose size is no multiple of
/// 32. All are in the kernel when it is entered, so a collective may name them all, and then waits
/// for those that a divergent branch holds up. Which lanes are active would not do: where lane 0 is
/// late, the others would take their slot from no one.
#[inline(always)]
fn lanes_of(warp: u32) -> u32 {
    let [x, y, z] = hardware::block_dim();
    let threads = x * y * z - 32 * warp;
    if threads < 32 { (1 << threads) - 1 } else { u32::MAX }
}

/// The slot that follows from the grid: the warp's index among the selected ones, from the base.
#[inline(always)]
fn linear_slot(descriptor: impl Descriptor, ordinal: u64, warp: u32) -> u32 {
    let [x, y, z] = hardware::block_dim();
    let warps = (x * y * z).div_ceil(32);
    let present = u32::MAX >> (32 - warps);
    let mask = descriptor.u32::<{ offset::WARP_MASK }>() & present;
    let rank = (mask & ((1 << warp) - 1)).count_ones();
    let slot = u64::from(descriptor.u32::<{ offset::SLOT_BASE }>())
        + ordinal * u64::from(mask.count_ones())
        + u64::from(rank);
    if slot < u64::from(descriptor.u32::<{ offset::SLOT_COUNT }>()) { slot as u32 } else { NO_SLOT }
}

/// A slot of a share of this SM, or of the common pool where the share is used up.
///
/// # Safety
///
/// The descriptor must be a session's: its counters are live.
#[inline(always)]
unsafe fn claim_slot(descriptor: impl Descriptor) -> u32 {
    let claims = descriptor.u64::<{ offset::CLAIMS }>();
    let sm_count = descriptor.u32::<{ offset::SM_COUNT }>();
    let slots = descriptor.u32::<{ offset::SLOTS_PER_SHARE }>();
    let counter = |index: u32| claims + u64::from(index) * u64::from(CLAIM_STRIDE);
    if slots != 0 {
        // `%smid` may exceed the number of SMs ("Special Registers: %smid"); such SMs share
        // counters. `%warpid` may change while a warp runs ("%warpid"), which only deals it to
        // another counter.
        let sm = hardware::sm_id().min(sm_count - 1);
        let share = sm * SHARES_PER_SM + hardware::warp_id() % SHARES_PER_SM;
        // SAFETY: SHARES_PER_SM * sm_count + 1 counters of 8 bytes; 64 bits do not wrap.
        let claimed = unsafe { hardware::atomic_add_u64(counter(share), 1) };
        if claimed < u64::from(slots) {
            return share * slots + claimed as u32;
        }
    }
    // SAFETY: as above; the last counter is the pool's.
    let claimed = unsafe { hardware::atomic_add_u64(counter(SHARES_PER_SM * sm_count), 1) };
    let slot = u64::from(descriptor.u32::<{ offset::POOL_START }>()) + claimed;
    if slot < u64::from(descriptor.u32::<{ offset::SLOT_COUNT }>()) { slot as u32 } else { NO_SLOT }
}

#[inline(always)]
fn header_address(descriptor: impl Descriptor, slot: u32) -> u64 {
    descriptor.u64::<{ offset::HEADERS }>() + u64::from(slot) * header::BYTES as u64
}

/// Cycles within which the three reads of an anchor must lie.
const ANCHOR_CYCLES: u64 = 64;
/// How often an anchor is tried.
const ANCHOR_TRIES: u32 = 4;

/// Reads both clocks at one moment: `(%clock64, %globaltimer)`.
///
/// A warp may lose hundreds of cycles between two reads, to other warps or to an instruction that
/// is not in the cache yet, as at the start of a kernel. So the cycles are read before and after the
/// timer, and the three reads are repeated where they lie too far apart.
#[inline(always)]
fn anchor() -> (u64, u64) {
    let mut tries = 0;
    loop {
        let before = hardware::clock64();
        let globaltimer = hardware::globaltimer();
        let span = hardware::clock64() - before;
        tries += 1;
        if span < ANCHOR_CYCLES || tries == ANCHOR_TRIES {
            return (before + span / 2, globaltimer);
        }
    }
}

/// Writes the entry half of a header; the clocks are read last, so that what entry costs does not
/// lie inside the kernel's time.
///
/// # Safety
///
/// `address` must be that of a header that only this thread writes.
#[inline(always)]
unsafe fn write_entry(address: u64, kernel: SiteId, config: Config, warp: u32) {
    let mut entry = SlotHeader {
        clock: 0,
        globaltimer: 0,
        version: WIRE_VERSION,
        kernel: kernel.0,
        record_clock: config.clock,
        grid_id: hardware::grid_id(),
        block: hardware::block_index(),
        grid_dim: hardware::grid_dim(),
        block_dim: hardware::block_dim(),
        warp,
        sm: hardware::sm_id(),
        cluster_rank: hardware::cluster_rank(),
        track: config.track,
        strategy: u32::from(config.strategy.code()),
    };
    (entry.clock, entry.globaltimer) = anchor();
    // SAFETY: the caller's.
    unsafe { write_units(config.buffer(), address, entry.pack()) };
}

/// Writes words by 16-byte stores.
///
/// # Safety
///
/// `address` must be that of `N` words, aligned to 16, that only this thread writes.
#[inline(always)]
unsafe fn write_units<const N: usize>(buffer: Buffer, address: u64, words: [u64; N]) {
    const { assert!(N.is_multiple_of(2), "units have two words") };
    let mut index = 0;
    while index < N {
        let (unit, words) = (address + 8 * index as u64, [words[index], words[index + 1]]);
        // SAFETY: inside the N words.
        unsafe {
            match buffer {
                Buffer::Global => hardware::store_unit(unit, words),
                Buffer::Host => hardware::publish_unit(unit, words),
            }
        };
        index += 2;
    }
}
