//! What all warps of a capture stored, which tells how long each waited.

use super::{Decoder, Memory, WarpRecords, threads};
use crate::cost::Stored;
use crate::diagnostic::Diagnostics;

impl Decoder<'_> {
    /// What all warps stored, also those that are not shown. All are decoded for that, unless they were before.
    pub(super) fn stored(&self) -> &Stored {
        self.stored.get_or_init(|| {
            if !self.asks_who_stored() {
                return Stored::default();
            }
            let work = |memory: &mut Memory, slots: std::ops::Range<usize>| {
                let mut stored = Stored::default();
                for slot in slots {
                    self.add_stored(
                        &self.slot(slot, memory, &mut Diagnostics::default()),
                        &mut stored,
                    );
                }
                stored
            };
            let count = self.slots.len();
            all_stored(threads::in_ranges(self.threads, count, Memory::new, work))
        })
    }

    pub(super) fn asks_who_stored(&self) -> bool {
        self.subtracts_cost && self.head.asks_who_stored()
    }

    pub(super) fn add_stored(&self, records: &WarpRecords<'_>, stored: &mut Stored) {
        stored.add(records.warp, &self.head.launches, &self.head.sites, records.regions());
    }
}

/// What was found in parts of the slots, as one.
pub(super) fn all_stored(parts: Vec<Stored>) -> Stored {
    let mut all = Stored::default();
    parts.into_iter().for_each(|part| all.append(part));
    all.sort();
    all
}
