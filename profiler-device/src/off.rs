//! The recorder with profiling off: the same interface, of which nothing is left in the machine
//! code. See `recorder.rs` for what each item means.
#![allow(missing_docs, reason = "documented where they do something, in recorder.rs")]

use core::marker::PhantomData;

use profiler_wire::Strategy;
use profiler_wire::header::Clock;

use crate::hardware::DescriptorPtr;
use crate::site::SiteId;
use crate::value::{Attachment, Value, Wait};

#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Config {
    pub enabled: bool,
    pub strategy: Strategy,
    pub when: bool,
    pub clock: Clock,
    pub track: u32,
}

#[doc(hidden)]
pub struct State;

impl State {
    #[inline(always)]
    #[must_use]
    pub fn enter(_kernel: SiteId, _config: Config) -> Self {
        Self
    }

    /// # Safety
    ///
    /// None with profiling off: the descriptor is not read.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_with(_kernel: SiteId, _config: Config, _descriptor: DescriptorPtr) -> Self {
        Self
    }
}

/// A thread's handle to its records; with profiling off it is empty.
#[derive(Clone, Copy)]
pub struct Recorder<'a>(PhantomData<&'a State>);

impl<'a> Recorder<'a> {
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn new(_state: &'a State) -> Self {
        Self(PhantomData)
    }

    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn copied(&self) -> Self {
        *self
    }

    #[inline(always)]
    #[must_use]
    pub fn is_recording(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_block(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_warp(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_warp_index(self, _index: u32) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_warp_group(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_elected(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_thread(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use]
    pub fn leader_when(self, _condition: bool) -> bool {
        false
    }

    #[inline(always)]
    #[must_use = "a region that is not bound ends at once"]
    pub fn region<P: Attachment>(
        self,
        _site: SiteId,
        _leader: bool,
        _track: u32,
        _payload: P,
    ) -> Region<'a, P> {
        Region(PhantomData)
    }

    #[inline(always)]
    pub fn start(self, _site: SiteId, _leader: bool, _track: u32) -> RegionToken<'a> {
        RegionToken(PhantomData)
    }

    #[inline(always)]
    pub fn mark(self, _site: SiteId, _leader: bool) {}

    #[inline(always)]
    pub fn mark_value<V: Value>(self, _site: SiteId, _leader: bool, _value: V) {}
}

/// A region; with profiling off it is empty.
pub struct Region<'a, P: Attachment = ()>(PhantomData<(&'a State, P)>);

impl<P: Attachment> Region<'_, P> {
    #[inline(always)]
    pub fn end(self) {}

    #[inline(always)]
    pub fn end_after<T: Wait>(self, _value: &T) {}
}

/// A region opened by `region_start!`; with profiling off it is empty.
#[must_use = "a region that is never ended stays open in the trace; end it with region_end!"]
pub struct RegionToken<'a>(PhantomData<&'a State>);

impl RegionToken<'_> {
    #[inline(always)]
    pub fn end(self) {}

    #[inline(always)]
    pub fn end_with<V: Value>(self, _value: V) {}
}
