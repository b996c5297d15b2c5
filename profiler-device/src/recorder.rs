//! The handle by which kernels record, and what it gives: leaders, regions and tokens.

use profiler_wire::RecordKind;
use profiler_wire::Strategy;
use profiler_wire::record::{self, range_data, range_kind, tag};
use profiler_wire::site::Buffer;

pub use crate::state::State;

use crate::buffer::WriteBudget;
use crate::hardware;
use crate::site::SiteId;
use crate::value::{Attachment, Payload, Value, Wait};

/// A thread's handle to its records: what `#[profiled]` puts into a kernel, and what a device
/// function takes to record into its caller's buffers.
///
/// # Who records
///
/// | strategy | records | method |
/// |---|---|---|
/// | `warp` (default) | lane 0 of every warp; what the warp does without lane 0 is not recorded | [`Recorder::leader_warp`] |
/// | `block` | lane 0 of warp 0 | [`Recorder::leader_block`] |
/// | `warp(n)` | lane 0 of warp n | [`Recorder::leader_warp_index`] |
/// | `warp_group` | lane 0 of warps 0, 4, 8, .. | [`Recorder::leader_warp_group`] |
/// | `elected` | the lowest active lane of the warp, chosen at every begin: right under any divergence | [`Recorder::leader_elected`] |
/// | `thread` | every thread | [`Recorder::leader_thread`] |
/// | `when(e)` | the threads for which e holds | [`Recorder::leader_when`] |
///
/// Each lane appends to a buffer of its own, so strategies can be mixed freely.
///
/// # In device functions
///
/// A function that takes a recorder should have [`#[profiled]`](macro@crate::profiled), which also inlines it
/// unless it has an `#[inline]` attribute, or `#[inline(always)]`: in a call the recorder's registers go
/// through memory, even without a session, and as a kernel has two copies of its body, LLVM calls functions
/// that it would otherwise inline.
#[derive(Clone, Copy)]
pub struct Recorder<'a> {
    state: &'a State,
}

impl<'a> Recorder<'a> {
    /// The handle to a thread's state.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn new(state: &'a State) -> Self {
        Self { state }
    }

    /// A copy of the handle; a method, so that it works through references.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn copied(&self) -> Self {
        *self
    }

    /// Whether a session records this warp. False without a session.
    #[inline(always)]
    #[must_use]
    pub fn is_recording(self) -> bool {
        self.state.is_recording()
    }

    /// This thread, if it records by the kernel's strategy.
    #[inline(always)]
    #[track_caller]
    pub fn leader(self) -> LaneRecorder<'a> {
        if matches!(self.state.config.strategy, Strategy::Elected) {
            return self.leader_elected();
        }
        LaneRecorder { state: self.state, leads: self.is_enabled(), budget: self.state.leader() }
    }

    /// This thread, if it is lane 0 of warp 0 of its block and the warp records.
    #[inline(always)]
    pub fn leader_block(self) -> LaneRecorder<'a> {
        self.leader_warp_index(0)
    }

    /// This thread, if it is lane 0 and its warp records.
    #[inline(always)]
    pub fn leader_warp(self) -> LaneRecorder<'a> {
        self.leads_if(self.is_enabled() && hardware::lane_id() == 0)
    }

    /// This thread, if it is lane 0 of warp `index` of its block and the warp records.
    #[inline(always)]
    pub fn leader_warp_index(self, index: u32) -> LaneRecorder<'a> {
        let leader = self.leader_warp();
        self.leads_if(leader.leads && hardware::warp_index() == index)
    }

    /// This thread, if it is lane 0 of the first of four warps and the warp records.
    #[inline(always)]
    pub fn leader_warp_group(self) -> LaneRecorder<'a> {
        let leader = self.leader_warp();
        self.leads_if(leader.leads && hardware::warp_index().is_multiple_of(4))
    }

    /// This thread, if it is the one that its warp elects here and the warp records.
    #[inline(always)]
    #[track_caller]
    pub fn leader_elected(self) -> LaneRecorder<'a> {
        // A warp that does not record votes too: a branch around the vote costs more than the vote.
        self.leads_if(self.is_enabled() && hardware::elect())
    }

    /// This thread, if its warp records.
    #[inline(always)]
    pub fn leader_thread(self) -> LaneRecorder<'a> {
        self.leads_if(self.is_enabled())
    }

    /// This thread, if `condition` holds and its warp records.
    #[inline(always)]
    pub fn leader_when(self, condition: bool) -> LaneRecorder<'a> {
        self.leads_if(self.is_enabled() && condition)
    }

    /// This thread, if `leads` and its warp records.
    #[inline(always)]
    fn leads_if(self, leads: bool) -> LaneRecorder<'a> {
        LaneRecorder { state: self.state, leads, budget: self.state.anyone() }
    }

    #[inline(always)]
    fn is_enabled(self) -> bool {
        self.state.config.enabled
    }
}

/// The executing thread, which records or does not: the answer of a [`Recorder`]'s `leader` methods.
///
/// It holds the recorder that it came from, and its records go there: it cannot be used with another one, so
/// no store goes to a missing buffer. After inlining, it is a register and costs nothing. Like the recorder, it
/// stays in its thread.
///
/// Ask for it at the region or mark: the elected lane depends on the active lanes.
#[derive(Clone, Copy)]
#[must_use = "it records nothing by itself"]
pub struct LaneRecorder<'a> {
    state: &'a State,
    leads: bool,
    /// The budget of the state.
    budget: WriteBudget,
}

impl<'a> LaneRecorder<'a> {
    /// Whether the thread records.
    #[inline(always)]
    #[must_use]
    pub fn is_recording(self) -> bool {
        self.leads && self.budget.is_any()
    }

    #[inline(always)]
    fn is_enabled(self) -> bool {
        self.state.config.enabled
    }

    /// Whether it leads, and what it may do then.
    #[inline(always)]
    fn part(self) -> (bool, WriteBudget) {
        (self.leads, self.budget)
    }

    /// Whether its next unit is stored.
    #[inline(always)]
    fn stores(self) -> bool {
        self.state.stores(self.leads, self.budget)
    }

    /// Appends a unit of this very moment.
    #[inline(always)]
    fn append_now(self, data: u64, tag: u32) {
        let stores = self.stores();
        let address = self.state.address();
        let ticks = self.state.stamp();
        // SAFETY: budget, answer and address are this very state's, and of this unit.
        unsafe { self.state.append(self.part(), stores, address, data, tag, ticks) }
    }

    /// Appends a unit that belongs to the one before.
    #[inline(always)]
    fn append_attachment(self, data: u64, tag: u32, ticks: u64) {
        // SAFETY: as above.
        unsafe { self.state.append_attachment(self.part(), data, tag, ticks) }
    }

    /// Begins a region, which ends when the value is dropped. `track` is a
    /// [track field](profiler_wire::record::track_field), 0 for the warp's own.
    /// `payload` is `()`, or a [`Payload`](crate::Payload) for a region that carries a value.
    #[inline(always)]
    #[must_use = "a region that is not bound ends at once"]
    pub fn region<P: Attachment>(self, site: SiteId, track: u32, payload: P) -> Region<'a, P> {
        let start = self.begin(site, track);
        Region { leader: self, site, track, payload, start }
    }

    /// A region that began at `start`.
    #[cfg(all(feature = "template", target_arch = "nvptx64"))]
    pub(crate) fn resumed(self, site: SiteId, start: u64) -> Region<'a> {
        Region { leader: self, site, track: 0, payload: (), start }
    }

    /// Begins a region; returns its time.
    #[inline(always)]
    fn begin(self, site: SiteId, track: u32) -> u64 {
        if !self.is_enabled() {
            return 0;
        }
        if self.state.config.buffer() == Buffer::Host {
            // Whoever watches sees that it is open.
            self.append_now(u64::from(track), tag(RecordKind::Begin, site.number));
        }
        // After the record of the begin, so that the region does not contain what that takes.
        self.state.stamp()
    }

    /// Opens a region that [`RegionToken::end`] ends, anywhere: it may cross other regions and iterations. It is
    /// recorded when it ends; or as an open one, when its token goes out of scope.
    #[inline(always)]
    pub fn start(self, site: SiteId, track: u32) -> RegionToken<'a> {
        let start = self.begin(site, track);
        RegionToken { leader: self, site, track, start }
    }

    /// Records an instant.
    #[inline(always)]
    pub fn mark(self, site: SiteId) {
        if self.is_enabled() {
            self.append_now(0, tag(RecordKind::Mark, site.number));
        }
    }

    /// Records an instant with a value.
    #[inline(always)]
    pub fn mark_value<V: Value>(self, site: SiteId, value: V) {
        if self.is_enabled() {
            self.append_now(value.bits(), tag(V::KIND, site.number));
        }
    }

    /// Records the time on the axis of all SMs; nothing if the kernel's records hold `%globaltimer`. A warp does
    /// so by itself when it enters and leaves the kernel. If it runs for many milliseconds in between, its SM's
    /// clock may wander from the straight line through those two moments.
    #[inline(always)]
    pub fn anchor(self) {
        if self.is_enabled() {
            // SAFETY: as for `append`.
            unsafe { self.state.append_anchor(self.part()) }
        }
    }

    /// [`LaneRecorder::anchor`], if `cycles` or more have passed since one was last due in this thread, recorded or
    /// not: all active lanes of a warp decide alike, and ptxas sees it.
    #[inline(always)]
    pub fn anchor_every(self, cycles: u32) {
        if self.is_enabled() && self.state.is_anchor_due(cycles) {
            self.anchor();
        }
    }
}

/// A region that is being recorded; it ends when it is dropped.
pub struct Region<'a, P: Attachment = ()> {
    leader: LaneRecorder<'a>,
    site: SiteId,
    track: u32,
    payload: P,
    start: u64,
}

impl<P: Attachment> Region<'_, P> {
    /// Ends the region here.
    #[inline(always)]
    pub fn end(self) {}

    /// Ends the region once `value` is there: at the completion of the work on the value, not at its issue.
    #[inline(always)]
    pub fn end_after<T: Wait>(self, value: &T) {
        let this = core::mem::ManuallyDrop::new(self);
        let state = this.leader.state;
        if this.leader.is_enabled() {
            // First, as it is the user's code and may record.
            let folded = value.fold();
            let stores = this.leader.stores();
            this.record(stores, state.stamp_after(folded));
        }
    }

    #[inline(always)]
    fn record(&self, stores: bool, end: u64) {
        let state = self.leader.state;
        // All three are known when the kernel is compiled, but for the track of a token that one of several
        // places began: its end has both stores, and branches.
        if let Some(kind) = P::WITH_RANGE
            && state.config.buffer() == Buffer::Global
            && self.track == 0
        {
            let value = self.payload.bits() as u32 & record::FIELD_MASK;
            let tag = tag(kind, self.site.number);
            let address = state.address();
            // SAFETY: as below; the buffer is not the host's.
            unsafe {
                state.append_with_value(
                    self.leader.part(),
                    stores,
                    address,
                    (self.start, value),
                    tag,
                    end,
                );
            }
            return;
        }
        let (kind, data) = match state.config.buffer() {
            Buffer::Global => (range_kind(self.track), range_data(self.track, self.start)),
            Buffer::Host => (RecordKind::RangeWatched, record::stamp(self.track, self.start)),
        };
        let kind = tag(kind, self.site.number);
        let address = state.address();
        // SAFETY: budget, answer and address are this very state's, and of this unit.
        unsafe { state.append(self.leader.part(), stores, address, data, kind, end) }
        if let Some(kind) = P::KIND {
            let tag = tag(kind, self.site.number);
            self.leader.append_attachment(self.payload.bits(), tag, end);
        }
    }
}

impl<P: Attachment> Drop for Region<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        let state = self.leader.state;
        if self.leader.is_enabled() && !hardware::is_unwinding() {
            let stores = self.leader.stores();
            self.record(stores, state.stamp());
        }
    }
}

/// A region opened by `region_start!`, to be ended by `region_end!`.
///
/// If it goes out of scope, a region without an end is recorded. With `core::mem::forget`, nothing is recorded.
#[must_use = "a region that is never ended stays open in the trace; end it with region_end!"]
pub struct RegionToken<'a> {
    leader: LaneRecorder<'a>,
    site: SiteId,
    track: u32,
    start: u64,
}

impl RegionToken<'_> {
    /// Ends the region.
    #[inline(always)]
    pub fn end(self) {
        self.region(()).end();
    }

    /// Ends the region and gives it a value.
    #[inline(always)]
    pub fn end_with<V: Value>(self, value: V) {
        self.region(Payload(value)).end();
    }
}

impl<'a> RegionToken<'a> {
    /// The region as one that ends when it is dropped.
    #[inline(always)]
    fn region<P: Attachment>(self, payload: P) -> Region<'a, P> {
        let Self { leader, site, track, start } = *core::mem::ManuallyDrop::new(self);
        Region { leader, site, track, payload, start }
    }
}

impl Drop for RegionToken<'_> {
    /// Records a region without an end.
    #[inline(always)]
    fn drop(&mut self) {
        let config = self.leader.state.config;
        // Where the host reads meanwhile it is there already.
        if self.leader.is_enabled()
            && config.buffer() == Buffer::Global
            && !hardware::is_unwinding()
        {
            let data = record::stamp(self.track, self.start);
            self.leader.append_now(data, tag(RecordKind::Open, self.site.number));
        }
    }
}
