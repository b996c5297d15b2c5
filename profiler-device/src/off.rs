//! The recorder with profiling off: the same interface, which leaves no machine code. `recorder.rs` documents
//! each item.
#![allow(missing_docs, reason = "documented where they do something, in recorder.rs")]

use core::marker::PhantomData;

use crate::config::Config;
use crate::site::SiteId;
use crate::value::{Attachment, Value, Wait};

/// Stays in its thread, as the one that records does.
#[doc(hidden)]
pub struct State(PhantomData<*const ()>);

impl State {
    #[inline(always)]
    #[must_use]
    pub const fn recorded_block(_config: Config) -> Option<u64> {
        None
    }

    /// # Safety
    ///
    /// None with profiling off: nothing is done.
    #[inline(always)]
    #[must_use]
    pub unsafe fn enter_block(_kernel: SiteId, _config: Config, _block: u64) -> Self {
        Self(PhantomData)
    }

    #[inline(always)]
    #[must_use]
    pub fn silent(_config: Config) -> Self {
        Self(PhantomData)
    }

    #[inline(always)]
    #[must_use]
    pub fn idle(_config: Config) -> Self {
        Self(PhantomData)
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
}

macro_rules! leaders {
    ($($name:ident($($argument:ident: $type:ty)?);)*) => {
        impl<'a> Recorder<'a> {$(
            #[inline(always)]
            pub fn $name(self $(, $argument: $type)?) -> LaneRecorder<'a> {
                LaneRecorder(PhantomData)
            }
        )*}
    };
}

leaders! {
    leader();
    leader_block();
    leader_warp();
    leader_warp_index(_index: u32);
    leader_warp_group();
    leader_elected();
    leader_thread();
    leader_when(_condition: bool);
}

#[derive(Clone, Copy)]
#[must_use = "it records nothing by itself"]
pub struct LaneRecorder<'a>(PhantomData<&'a State>);

impl<'a> LaneRecorder<'a> {
    #[inline(always)]
    #[must_use]
    pub fn is_recording(self) -> bool {
        false
    }

    #[inline(always)]
    #[must_use = "a region that is not bound ends at once"]
    pub fn region<P: Attachment>(self, _site: SiteId, _track: u32, _payload: P) -> Region<'a, P> {
        Region(PhantomData)
    }

    #[inline(always)]
    pub fn start(self, _site: SiteId, _track: u32) -> RegionToken<'a> {
        RegionToken(PhantomData)
    }

    #[inline(always)]
    pub fn mark(self, _site: SiteId) {}

    #[inline(always)]
    pub fn mark_value<V: Value>(self, _site: SiteId, _value: V) {}

    #[inline(always)]
    pub fn anchor(self) {}

    #[inline(always)]
    pub fn anchor_every(self, _cycles: u32) {}
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
