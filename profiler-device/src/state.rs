//! Entry and exit: how a thread finds its buffer, and what the slot's header says of it.

use core::cell::Cell;

use profiler_wire::Strategy;
use profiler_wire::descriptor::{self, FLAG_CLAIMED, FLAG_LANES, offset};
use profiler_wire::header::{self, Clock, ExitHeader};
use profiler_wire::record::{RecordKind, tag};
use profiler_wire::site::Buffer;

use crate::buffer::{LaneBuffer, NO_SLOT, WriteBudget, step_of};
use crate::config::Config;
use crate::hardware::{self, Constant, Descriptor};
use crate::header::{anchor, header_address, write_entry, write_units};
use crate::site::SiteId;
use crate::slot::{claim_slot, lanes_of, linear_slot, ordinal_of_block};

#[cfg(all(feature = "template", target_arch = "nvptx64"))]
#[path = "template.rs"]
mod template;

/// The slot of a warp that does not record.
const SILENT: u32 = u32::MAX - 1;

/// A thread's recorder: lives in registers from the kernel's first line to its last.
///
/// The cells are never shared between threads; they are cells because regions nest.
// The order of the fields decides which registers ptxas takes. On an H200 `default` took a cycle more at
// 8 warps in rustc's own order (docs/how-it-costs.md, "Up to eight warps").
#[doc(hidden)]
#[repr(C)]
pub struct State {
    pub(crate) config: Config,
    slot: u32,
    buffer: LaneBuffer,
    /// This thread's budget by the kernel's strategy.
    leader: WriteBudget,
    /// Bytes of the units emitted so far, kept or not.
    cursor: Cell<u32>,
    /// The upper halves of the stamps of the last three units, the last one first: see
    /// [`State::address`].
    last: Cell<[u32; 3]>,
    /// The number of units that are attachments, counted as the cursor counts.
    attachments: Cell<u32>,
    /// The lower half of `%clock64` at the last anchor of those that come now and then.
    anchored: Cell<u32>,
}

impl State {
    /// The ordinal of this block among those that a session records, if it is one of them. The same
    /// for every thread of a block, so that a branch on it parts no warp and no warp group.
    #[inline(always)]
    #[must_use]
    pub fn recorded_block(config: Config) -> Option<u64> {
        ordinal_of_block(config, Constant)
    }

    /// Enters a kernel whose `block` is recorded.
    ///
    /// # Safety
    ///
    /// Nothing of the kernel may have run but [`State::recorded_block`], of which `block` is: all
    /// threads of a warp come here together (a collective may name them all), and each only once, so
    /// that its buffer is its own.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_block(kernel: SiteId, config: Config, block: u64) -> Self {
        let state = Self::enter_selected(kernel, config, Constant, block);
        // Lane 0 does more than others there, and some warps do nothing. After it they are together again.
        hardware::converge();
        state
    }

    /// A thread that records nothing, and the compiler knows it: it does not even read clocks.
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
            buffer: LaneBuffer::SILENT,
            leader: WriteBudget::NONE,
            cursor: Cell::new(0),
            last: Cell::new([0; 3]),
            attachments: Cell::new(0),
            anchored: Cell::new(0),
        }
    }

    #[inline(always)]
    fn enter_selected(
        kernel: SiteId,
        config: Config,
        descriptor: impl Descriptor,
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
        // Where other lanes have buffers they wait here for lane 0, also where they know the slot: a
        // record from before the entry would have no time.
        if flags & FLAG_LANES != 0 {
            slot = hardware::broadcast(lanes_of(warp), slot);
        }
        let buffer = if lane == 0 {
            LaneBuffer::of_leader(descriptor, slot)
        } else {
            LaneBuffer::of_lane(descriptor, flags, slot, lane)
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
            buffer,
            leader: if leads { buffer.budget } else { WriteBudget::NONE }.held(),
            cursor: Cell::new(0),
            // Nothing was stored yet, and any words will do. Where they differ between lanes, ptxas does
            // not take stamps for alike in all lanes, nor moves them through uniform registers; and
            // the registers that it takes leave no unit waiting (docs/how-it-costs.md).
            last: Cell::new([buffer.budget.limit, buffer.mask, slot]),
            attachments: Cell::new(0),
            anchored: Cell::new(0),
        }
    }

    /// Whether the session selected this warp; false as well where there is no session.
    #[inline(always)]
    pub(crate) fn is_recording(&self) -> bool {
        self.config.enabled && self.slot != SILENT
    }

    /// This thread's budget by the kernel's strategy, other than [`Strategy::Elected`].
    #[inline(always)]
    pub(crate) fn leader(&self) -> WriteBudget {
        self.leader
    }

    /// This thread's budget by another strategy.
    #[inline(always)]
    pub(crate) fn anyone(&self) -> WriteBudget {
        self.buffer.budget
    }

    /// Reads the record clock.
    #[inline(always)]
    pub(crate) fn stamp(&self) -> u64 {
        match self.config.clock {
            Clock::Cycles => hardware::clock64(),
            Clock::GlobalTimer => hardware::globaltimer(),
        }
    }

    /// Reads the record clock once both words are there.
    #[inline(always)]
    pub(crate) fn stamp_after(&self, [first, second]: [u32; 2]) -> u64 {
        match self.config.clock {
            Clock::Cycles => hardware::clock64_after(first, second),
            Clock::GlobalTimer => hardware::globaltimer_after(first, second),
        }
    }

    /// Whether the next unit is stored, if this thread `leads`. Asked for *before* the stamp that the
    /// unit holds, since the store waits for the answer.
    #[inline(always)]
    pub(crate) fn stores(&self, leads: bool, budget: WriteBudget) -> bool {
        // Not `&&`: see `append`.
        leads & (self.cursor.get() < budget.limit)
    }

    /// The low half of the next unit's address.
    #[inline(always)]
    fn low(&self) -> u32 {
        hardware::unit_low(self.buffer.low(), self.cursor.get(), self.buffer.mask)
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
        hardware::unit_address(self.buffer.address, self.low(), kept)
    }

    /// Appends a unit, and stores it where `stores` holds.
    ///
    /// # Safety
    ///
    /// `budget`, `stores` and `address` must be of this state, the last two of this very unit.
    // Neither condition is a branch, also not to LLVM: it would make one of the store's predicate
    // too, and a branch around a record costs more than twice the record.
    #[inline(always)]
    pub(crate) unsafe fn append(
        &self,
        (leads, budget): (bool, WriteBudget),
        stores: bool,
        address: u64,
        data: u64,
        tag: u32,
        ticks: u64,
    ) {
        // SAFETY: the buffer is this lane's own, or the budget's limit is 0 and nothing is stored. Below
        // the limit the cursor, of which the address was made, lies in the buffer by the descriptor's
        // contract ("Slots"), and no other thread writes a buffer.
        let stamp = unsafe {
            match self.config.buffer() {
                Buffer::Global => hardware::store_unit_if(stores, address, data, tag, ticks),
                Buffer::Host => hardware::publish_unit_if(stores, address, data, tag, ticks),
            }
        };
        self.count(stamp, budget.step_if(leads));
    }

    /// Appends the record of a region that began at a time and has a value of no more bits than
    /// [`record::FIELD_MASK`](profiler_wire::record::FIELD_MASK), and stores it where `stores` holds.
    ///
    /// # Safety
    ///
    /// As for [`State::append`], and the config's buffer must not be the host's.
    #[inline(always)]
    pub(crate) unsafe fn append_with_value(
        &self,
        (leads, budget): (bool, WriteBudget),
        stores: bool,
        address: u64,
        (start, value): (u64, u32),
        tag: u32,
        ticks: u64,
    ) {
        // SAFETY: as in `append`.
        let stamp =
            unsafe { hardware::store_with_value_if(stores, address, start, value, tag, ticks) };
        self.count(stamp, budget.step_if(leads));
    }

    /// Goes on after a unit with this upper half of its stamp.
    #[inline(always)]
    fn count(&self, stamp: u32, step: u32) {
        let [a, b, _] = self.last.get();
        self.last.set([stamp, a, b]);
        self.cursor.set(descriptor::next_cursor(self.cursor.get(), step));
    }

    /// Appends a unit that belongs to the one before.
    ///
    /// # Safety
    ///
    /// `budget` must be of this state.
    #[inline(always)]
    pub(crate) unsafe fn append_attachment(
        &self,
        (leads, budget): (bool, WriteBudget),
        data: u64,
        tag: u32,
        ticks: u64,
    ) {
        let stores = self.stores(leads, budget);
        let address = self.buffer.address & !u64::from(u32::MAX) | u64::from(self.low());
        // SAFETY: the caller's.
        unsafe { self.append((leads, budget), stores, address, data, tag, ticks) };
        let attachments = self.attachments.get();
        self.attachments.set(descriptor::next_cursor(attachments, budget.step_if(leads)));
    }

    /// Appends a reading of both clocks, unless they are the same.
    ///
    /// # Safety
    ///
    /// As for [`State::append_attachment`].
    #[inline(always)]
    pub(crate) unsafe fn append_anchor(&self, leader: (bool, WriteBudget)) {
        if self.config.clock == Clock::GlobalTimer {
            return;
        }
        let (clock, globaltimer) = anchor();
        // SAFETY: the caller's.
        unsafe {
            self.append_attachment(leader, globaltimer, tag(RecordKind::Anchor, 0), clock);
        }
    }

    /// Whether `cycles` or more have passed since this last said so. (Where the records' clock is the timer,
    /// it never does. Of a pause of more than 2^32 cycles, two seconds, it sees the lower half alone.)
    ///
    /// It does not ask who records: were one lane alone to come to the anchor, ptxas would take what follows
    /// for code in which a warp may be parted.
    #[inline(always)]
    pub(crate) fn is_anchor_due(&self, cycles: u32) -> bool {
        if self.config.clock == Clock::GlobalTimer {
            return false;
        }
        let now = hardware::clock64() as u32;
        let is_due = now.wrapping_sub(self.anchored.get()) >= cycles;
        if is_due {
            self.anchored.set(now);
        }
        is_due
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
            hardware::leave_with_warp();
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
        self.exit_through(Constant);
    }
}
