//! Entry and exit: how a thread finds its room, and what the slot's header says of it.

use core::cell::Cell;

use profiler_wire::descriptor::{
    self, CLAIM_STRIDE, FLAG_CLAIMED, FLAG_LANES, SHARES_PER_SM, offset,
};
use profiler_wire::header::{self, Clock, ExitHeader, SlotHeader};
use profiler_wire::record::{RecordKind, tag};
use profiler_wire::site::Buffer;
use profiler_wire::{Strategy, WIRE_VERSION};

use crate::config::Config;
use crate::hardware::{self, Constant, Descriptor, DescriptorPtr};
use crate::room::{NO_SLOT, Room, Share, step_of};
use crate::site::SiteId;

/// The slot of a warp that does not record.
const SILENT: u32 = u32::MAX - 1;

/// A thread's recorder: lives in registers from the kernel's first line to its last.
///
/// The cells are never shared between threads; they are cells because regions nest.
#[doc(hidden)]
pub struct State {
    pub(crate) config: Config,
    slot: u32,
    room: Room,
    /// What this thread does as the kernel's strategy has it.
    leader: Share,
    /// Bytes of the units emitted so far, kept or not.
    cursor: Cell<u32>,
    /// The upper halves of the stamps of the last three units, the last one first: see
    /// [`State::address`].
    last: Cell<[u32; 3]>,
    /// How many of the units were attachments, counted as the cursor counts.
    attachments: Cell<u32>,
    /// The explicit descriptor of a kernel that has one.
    explicit: Option<DescriptorPtr>,
}

impl State {
    /// The ordinal of this block among those that a session records, if it is one of them. The same
    /// for every thread of a block, so that a branch on it parts no warp and no warp group.
    #[inline(always)]
    #[must_use]
    pub fn recorded_block(config: Config) -> Option<u64> {
        ordinal_of_block(config, Constant)
    }

    /// [`State::recorded_block`] of a kernel with a descriptor of its own.
    ///
    /// # Safety
    ///
    /// `descriptor` must be null, or what a session gave for this launch.
    #[inline(always)]
    #[must_use]
    pub unsafe fn recorded_block_with(config: Config, descriptor: DescriptorPtr) -> Option<u64> {
        ordinal_of_block(config, descriptor)
    }

    /// Enters a kernel whose descriptor is the module's, and whose `block` is recorded.
    ///
    /// # Safety
    ///
    /// Nothing of the kernel may have run but [`State::recorded_block`], of which `block` is: all
    /// threads of a warp come here together (a collective may name them all), and each only once, so
    /// that its room is its own.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_block(kernel: SiteId, config: Config, block: u64) -> Self {
        Self::enter_together(kernel, config, Constant, None, block)
    }

    /// [`State::enter_block`] with a descriptor of its own.
    ///
    /// # Safety
    ///
    /// As there, and for [`State::recorded_block_with`].
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_block_with(
        kernel: SiteId,
        config: Config,
        block: u64,
        descriptor: DescriptorPtr,
    ) -> Self {
        Self::enter_together(kernel, config, descriptor, Some(descriptor), block)
    }

    /// A thread that records nothing, of which the compiler knows it: clocks are not even read.
    #[inline(always)]
    #[must_use]
    pub fn idle(config: Config) -> Self {
        Self::silent(Config { enabled: false, ..config })
    }

    /// A thread that records nothing, in the copy of a body that records.
    #[inline(always)]
    #[must_use]
    pub fn silent(config: Config) -> Self {
        Self {
            config,
            slot: SILENT,
            room: Room::SILENT,
            leader: Share::NONE,
            cursor: Cell::new(0),
            last: Cell::new([0; 3]),
            attachments: Cell::new(0),
            explicit: None,
        }
    }

    /// Lane 0 does more than others here, and some warps do nothing. Behind it they are together again.
    #[inline(always)]
    fn enter_together(
        kernel: SiteId,
        config: Config,
        descriptor: impl Descriptor,
        explicit: Option<DescriptorPtr>,
        block: u64,
    ) -> Self {
        let state = Self::enter_selected(kernel, config, descriptor, explicit, block);
        hardware::converge();
        state
    }

    #[inline(always)]
    fn enter_selected(
        kernel: SiteId,
        config: Config,
        descriptor: impl Descriptor,
        explicit: Option<DescriptorPtr>,
        block: u64,
    ) -> Self {
        let lane = hardware::lane_id();
        let warp = hardware::warp_index();
        if descriptor.u32::<{ offset::WARP_MASK }>() >> warp & 1 == 0 {
            return Self::silent(config);
        }
        let flags = descriptor.u32::<{ offset::FLAGS }>();
        let mut slot = if flags & FLAG_CLAIMED == 0 {
            linear_slot(descriptor, block, warp)
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
        let leads = match config.strategy {
            Strategy::Block => lane == 0 && warp == 0,
            Strategy::WarpIndex(index) => lane == 0 && warp == u32::from(index),
            Strategy::WarpGroup => lane == 0 && warp.is_multiple_of(4),
            Strategy::Warp => lane == 0,
            Strategy::When => config.when,
            // `Elected` is decided anew at every region.
            Strategy::Thread | Strategy::Elected => true,
        };
        Self {
            config,
            // What a kernel holds from its first line to its last, it holds in registers and not in
            // predicates, of which a warp has seven: a kernel that needed those lost more by it than
            // by recording. To the compilers the values have nothing to do with each other.
            slot: hardware::hold(slot),
            room,
            leader: if leads { room.share } else { Share::NONE }.held(),
            cursor: Cell::new(0),
            // Nothing was stored yet, and any words will do. Where they differ between lanes, ptxas does
            // not take stamps for alike in all lanes, nor moves them through uniform registers; and
            // the registers that it takes leave no unit waiting (docs/how-it-costs.md).
            last: Cell::new([room.share.limit, room.mask, slot]),
            attachments: Cell::new(0),
            explicit,
        }
    }

    /// Whether the session selected this warp; false as well where there is no session.
    #[inline(always)]
    pub(crate) fn is_recording(&self) -> bool {
        self.config.enabled && self.slot != SILENT
    }

    /// What this thread may do where it records by the kernel's strategy, other than
    /// [`Strategy::Elected`].
    #[inline(always)]
    pub(crate) fn leader(&self) -> Share {
        self.leader
    }

    /// What this thread may do where it records by another strategy.
    #[inline(always)]
    pub(crate) fn anyone(&self) -> Share {
        self.room.share
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
    pub(crate) fn stores(&self, leads: bool, share: Share) -> bool {
        // Not `&&`: see `append`.
        leads & (self.cursor.get() < share.limit)
    }

    /// The low half of the next unit's address.
    #[inline(always)]
    fn low(&self) -> u32 {
        let byte = descriptor::room_byte(self.cursor.get(), self.room.mask);
        hardware::hold(self.room.low() | byte)
    }

    /// The address of the next unit. Asked for *after* the stamp: there it costs no time, as the store
    /// waits for the stamp; before it, it would wait for the store before.
    ///
    /// It decides which registers ptxas takes. A store reads its registers some ten cycles after it is
    /// issued, and what writes one of them until then waits. Left to itself ptxas takes for the next
    /// begin stamp the registers of the unit just stored. Here a word of each of the last three units
    /// is still to be read, so that units go into four sets of registers in turn. See
    /// docs/how-it-costs.md.
    #[inline(always)]
    pub(crate) fn address(&self) -> u64 {
        let [_, _, kept] = self.last.get();
        hardware::unit_address(self.room.address, self.low(), kept)
    }

    /// Appends a unit, and stores it where `stores` holds.
    ///
    /// # Safety
    ///
    /// `share`, `stores` and `address` must be of this state, the last two of this very unit.
    // Neither condition is a branch, also not to LLVM: it would make one of the store's predicate
    // too, and a branch around a record costs more than twice the record.
    #[inline(always)]
    pub(crate) unsafe fn append(
        &self,
        (leads, share): (bool, Share),
        stores: bool,
        address: u64,
        data: u64,
        tag: u32,
        ticks: u64,
    ) {
        // SAFETY: the room is this lane's own, or the share's limit is 0 and nothing is stored. Below
        // the limit the cursor, of which the address was made, lies in the room by the descriptor's
        // contract ("Slots"), and no other thread writes a room.
        let stamp = unsafe {
            match self.config.buffer() {
                Buffer::Global => hardware::store_unit_if(stores, address, data, tag, ticks),
                Buffer::Host => hardware::publish_unit_if(stores, address, data, tag, ticks),
            }
        };
        let [a, b, _] = self.last.get();
        self.last.set([stamp, a, b]);
        self.cursor.set(descriptor::next_cursor(self.cursor.get(), share.step_if(leads)));
    }

    /// Appends a unit that belongs to the one before.
    ///
    /// # Safety
    ///
    /// `share` must be of this state.
    #[inline(always)]
    pub(crate) unsafe fn append_attachment(
        &self,
        (leads, share): (bool, Share),
        data: u64,
        tag: u32,
        ticks: u64,
    ) {
        let stores = self.stores(leads, share);
        let address = self.room.address & !u64::from(u32::MAX) | u64::from(self.low());
        // SAFETY: the caller's.
        unsafe { self.append((leads, share), stores, address, data, tag, ticks) };
        let attachments = self.attachments.get();
        self.attachments.set(descriptor::next_cursor(attachments, share.step_if(leads)));
    }

    /// Appends a reading of both clocks, where they are not one and the same.
    ///
    /// # Safety
    ///
    /// As for [`State::append_attachment`].
    #[inline(always)]
    pub(crate) unsafe fn append_anchor(&self, leader: (bool, Share)) {
        if self.config.clock == Clock::GlobalTimer {
            return;
        }
        let (clock, globaltimer) = anchor();
        // SAFETY: the caller's.
        unsafe {
            self.append_attachment(leader, globaltimer, tag(RecordKind::Anchor, 0), clock);
        }
    }

    #[inline(always)]
    fn exit_through(&self, descriptor: impl Descriptor) {
        let lane = hardware::lane_id();
        if self.config.buffer() == Buffer::Host {
            // So that who sees the counts below sees all units that they count.
            hardware::order_before_host();
        }
        let units = descriptor::units(self.cursor.get(), step_of(lane));
        let attachments = descriptor::units(self.attachments.get(), step_of(lane));
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
        if !self.is_recording() || hardware::is_unwinding() {
            return;
        }
        match self.explicit {
            None => self.exit_through(Constant),
            Some(descriptor) => self.exit_through(descriptor),
        }
    }
}

/// The number of this block among those that a session records, if there is a session and it does.
#[inline(always)]
fn ordinal_of_block(config: Config, descriptor: impl Descriptor) -> Option<u64> {
    if !config.enabled || descriptor.u32::<{ offset::VERSION }>() != WIRE_VERSION {
        return None;
    }
    let [x, y, z] = hardware::block_index();
    let [width, height, _] = hardware::grid_dim();
    let block = times_plus(times_plus(u64::from(z), height, y), width, x);
    let mut ordinal = block.checked_sub(u64::from(descriptor.u32::<{ offset::BLOCK_FIRST }>()))?;
    let stride = descriptor.u32::<{ offset::BLOCK_STRIDE }>();
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

/// `factor * width + index`, where the index takes one register, and not two with a zero in one: a kernel
/// keeps the indices of its block for long.
#[inline(always)]
fn times_plus(factor: u64, width: u32, index: u32) -> u64 {
    let product = factor * u64::from(width);
    let (low, carries) = (product as u32).overflowing_add(index);
    u64::from((product >> 32) as u32 + u32::from(carries)) << 32 | u64::from(low)
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
        kernel: kernel.number,
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
