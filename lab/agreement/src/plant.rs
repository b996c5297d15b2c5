//! A wrong record or a wrong count, planted in what a device left behind: whether a disagreement is
//! found, and said, at all.

use clap::ValueEnum;
use profiler_host::Capture;
use profiler_wire::header::{self, ExitHeader};
use profiler_wire::record::{SITE_MAX, Stamp, UNIT_BYTES};

use crate::case::{Case, Outcome};

/// What is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Plant {
    /// The first record is said to be of a site that is none.
    Record,
    /// The first warp that emitted records is said to have emitted one record more.
    Count,
}

impl Plant {
    /// As the command line takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Count => "count",
        }
    }

    /// Alters what a case left behind. `false` where there is nothing to alter, and where elections
    /// leave open what there must be: there a GPU may differ.
    pub fn alter(self, case: &Case, outcome: &mut Outcome) -> bool {
        let Outcome { capture, .. } = outcome;
        !case.elects()
            && match self {
                Self::Record => alter_record(capture),
                Self::Count => alter_count(capture),
            }
    }
}

fn alter_record(capture: &mut Capture) -> bool {
    let records = capture.modules.iter_mut().map(|module| &mut module.records);
    for record in records.flat_map(|records| records.chunks_exact_mut(UNIT_BYTES as usize)) {
        let Some(word) = record.last_chunk_mut::<8>() else { continue };
        if let Some(stamp) = Stamp::unpack(u64::from_le_bytes(*word)) {
            *word = Stamp { site: SITE_MAX, ..stamp }.pack().to_le_bytes();
            return true;
        }
    }
    false
}

fn alter_count(capture: &mut Capture) -> bool {
    let headers = capture.modules.iter_mut().map(|module| &mut module.headers);
    for bytes in headers.flat_map(|headers| headers.as_chunks_mut::<{ header::BYTES }>().0) {
        let (words, _) = bytes.as_chunks_mut::<8>();
        let read = std::array::from_fn(|index| u64::from_le_bytes(words[index]));
        if let Some(exit) = ExitHeader::unpack(&read).filter(|exit| exit.units > 0) {
            let altered = ExitHeader { units: exit.units + 1, ..exit }.pack();
            for (word, altered) in words[header::EXIT_START..].iter_mut().zip(altered) {
                *word = altered.to_le_bytes();
            }
            return true;
        }
    }
    false
}
