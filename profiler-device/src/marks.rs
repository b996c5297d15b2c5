//! Marks.

use profiler_wire::record::{OF_ALL, RecordKind, tag};

use super::Leader;
use crate::hardware;
use crate::site::SiteId;

#[cfg_attr(
    not(feature = "only"),
    allow(unused_mut, reason = "of a leader nothing changes where all sites are compiled in")
)]
impl Leader<'_> {
    /// Records an instant. Each lane that records has a record of its own: unlike those of
    /// [`profile_mark!`](crate::profile_mark!), lanes may be given different sites.
    #[inline(always)]
    #[track_caller]
    pub fn mark(mut self, site: SiteId) {
        self.all_lanes = false;
        self.mark_of_place(site);
    }

    /// [`Leader::mark`] for macros, where lanes may share its record: the site is the same for all lanes that come to
    /// a call. They do where all lanes that the warp has make it at one moment, and none of them has parted from
    /// others before (see `State::ends_together`): it would not know that the others are together. Lanes that are
    /// here get the same answer.
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn mark_of_place(mut self, site: SiteId) {
        at!(self, site);
        let tag = tag(RecordKind::Mark, site.number);
        if self.may_share() {
            let place = hardware::Place::of_token(site.number);
            let are_all_here = hardware::all_present(self.state.present.get(), place);
            let fits = self.stores();
            let ticks = self.state.stamp();
            let shared = hardware::is_one_value(ticks, place.behind()) & are_all_here;
            self.append_of_all(shared, fits, tag, ticks);
        } else if self.is_enabled() {
            self.append_now(0, tag);
        }
    }

    /// Appends a unit of no track, which is one of all lanes if it is `shared`.
    #[inline(always)]
    fn append_of_all(self, shared: bool, fits: bool, tag: u32, ticks: u64) {
        let leader = self.of_lanes(shared);
        let address = self.state.address();
        let data = if shared { OF_ALL } else { 0 };
        // SAFETY: share, answer and address are this very state's, and of this unit.
        unsafe {
            self.state.append(leader.part(), fits & leader.leads, address, data, tag, ticks);
        }
        self.state.count_shared(shared);
    }
}
