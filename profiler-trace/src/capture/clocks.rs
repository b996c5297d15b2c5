//! Readings of both clocks that a session's own kernel made on each SM beside the user's kernels.
//!
//! They stand in a capture as a module whose only kernel is [`CLOCK_KEEPER`], and whose warps recorded
//! anchors alone, so that a file of them is read, checked and repaired as any other. The decoder maps
//! clocks by them, and shows nothing else of that module.

use profiler_wire::descriptor::Descriptor;
use profiler_wire::header::{self, Clock, ExitHeader, SlotHeader};
use profiler_wire::record::{UNIT_BYTES, stamp, tag};
use profiler_wire::symbol::CLOCK_KEEPER;
use profiler_wire::{RecordKind, SiteEntry, SiteKind, Strategy, WIRE_VERSION};

use super::ModuleCapture;
use crate::site_table::{SiteTable, SiteTableError};

/// The site of the kernel, which gets this id.
const SITE: SiteEntry<'static> = SiteEntry {
    strategy: Strategy::Warp.code(),
    symbol: CLOCK_KEEPER,
    ..SiteEntry::new(SiteKind::Kernel, "clock keeper", file!(), module_path!(), line!(), column!())
};
const SITE_ID: u32 = 1;
const SITE_BYTES: usize = SITE.encoded_len();

/// The readings of the clocks of one SM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptClock {
    /// `%smid` of the SM.
    pub sm: u32,
    /// `%clock64` and `%globaltimer` of one moment each, in order of time.
    pub readings: Vec<(u64, u64)>,
    /// Whether the last reading is the last one that will be made.
    pub ended: bool,
}

impl ModuleCapture {
    /// The module that holds the readings of clocks. Clocks without readings are left out. A clock
    /// has at most [`header::COUNT_MAX`] readings.
    ///
    /// # Errors
    ///
    /// None that depends on the readings: those of [`SiteTable::from_entries`].
    pub fn of_clocks(clocks: &[KeptClock]) -> Result<Self, SiteTableError> {
        let clocks: Vec<&KeptClock> =
            clocks.iter().filter(|clock| !clock.readings.is_empty()).collect();
        let most = clocks.iter().map(|clock| clock.readings.len()).max().unwrap_or(0);
        let buffer_bytes = (most * UNIT_BYTES as usize).next_power_of_two();
        let mut entry = SITE.encode::<SITE_BYTES>();
        entry[profiler_wire::site::ID_OFFSET..][..4].copy_from_slice(&SITE_ID.to_le_bytes());
        let mut module = Self {
            sites: SiteTable::from_entries([entry.as_slice()])?,
            descriptor: Descriptor {
                version: WIRE_VERSION,
                record_mask: u32::MAX,
                record_limit: u32::try_from(buffer_bytes).unwrap_or(u32::MAX),
                record_shift: buffer_bytes.trailing_zeros(),
                slot_count: clocks.len() as u32,
                warp_mask: u32::MAX,
                block_count: u32::MAX,
                block_stride: 1,
                ..Descriptor::default()
            },
            ..Self::default()
        };
        for (index, clock) in (0..).zip(&clocks) {
            let words = header_of(clock, index, clocks.len() as u32);
            module.headers.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            for &(cycles, globaltimer) in &clock.readings {
                let unit = [globaltimer, stamp(tag(RecordKind::Anchor, 0), cycles)];
                module.records.extend(unit.iter().flat_map(|word| word.to_le_bytes()));
            }
            module.records.resize((index as usize + 1) * buffer_bytes, 0);
        }
        Ok(module)
    }

    /// Whether it is one that [`of_clocks`](Self::of_clocks) made: no module of the user's.
    #[must_use]
    pub fn is_of_clocks(&self) -> bool {
        let sites = self.sites.sites();
        !sites.is_empty() && sites.iter().all(|site| site.symbol.as_deref() == Some(CLOCK_KEEPER))
    }

    /// The number of its clock readings; 0 for a module of the user.
    #[must_use]
    pub fn clock_readings(&self) -> usize {
        let units = self.records.chunks_exact(UNIT_BYTES as usize);
        let is_of_clocks = self.is_of_clocks();
        units.filter(|unit| is_of_clocks && unit.iter().any(|byte| *byte != 0)).count()
    }
}

/// The header of a warp that read this clock, as one of so many blocks of one thread.
fn header_of(clock: &KeptClock, index: u32, blocks: u32) -> [u64; header::WORDS] {
    let (first, last) = (clock.readings[0], clock.readings[clock.readings.len() - 1]);
    let mut words = [0; header::WORDS];
    let entry = SlotHeader {
        clock: first.0,
        globaltimer: first.1,
        version: WIRE_VERSION,
        kernel: SITE_ID,
        record_clock: Clock::Cycles,
        grid_id: 0,
        block: [index, 0, 0],
        grid_dim: [blocks, 1, 1],
        block_dim: [1, 1, 1],
        warp: 0,
        sm: clock.sm,
        cluster_rank: None,
        track: 0,
        strategy: u32::from(Strategy::Warp.code()),
    };
    words[..header::ENTRY_WORDS].copy_from_slice(&entry.pack());
    if clock.ended {
        let units = u32::try_from(clock.readings.len()).unwrap_or(u32::MAX);
        let exit = ExitHeader { clock: last.0, globaltimer: last.1, units, attachments: units };
        words[header::EXIT_START..][..header::EXIT_WORDS].copy_from_slice(&exit.pack());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::DiagnosticKind;
    use crate::synthetic::{Keep, SyntheticModule, SyntheticWarp};
    use crate::{Capture, Trace, decode};

    /// When the kernel begins, by the timer, and its length in nanoseconds.
    const START: u64 = 1_000_000_000;
    const LENGTH: u64 = 30_000_000;

    /// The cycles of one of two SMs: SM 0 slows down from 2 GHz to 1 when the kernel has run for 10 ms.
    fn cycles(sm: u32, timer: u64) -> u64 {
        let slow = if sm == 0 { timer.saturating_sub(START + 10_000_000) } else { 0 };
        1_000_000 * u64::from(sm) + 2 * (timer - slow) + slow
    }

    /// A kernel on both SMs with a mark in its middle, and readings of clocks, if any.
    fn trace(clocks: &[KeptClock]) -> Trace {
        let mut module = SyntheticModule::new(Keep::First, 4);
        let kernel = module.site(SiteKind::Kernel, "kernel");
        let mark = module.site(SiteKind::Mark, "mark");
        for sm in 0..2 {
            let mut warp = SyntheticWarp::new(kernel, cycles(sm, START), START);
            warp.header.sm = sm;
            warp.header.block = [sm, 0, 0];
            warp.header.grid_dim = [2, 1, 1];
            warp.mark(mark, None, cycles(sm, START + LENGTH / 2));
            warp.leave(cycles(sm, START + LENGTH), START + LENGTH);
            module.warps.push(warp);
        }
        let mut capture = module.into_capture().expect("a site table");
        if !clocks.is_empty() {
            capture.modules.push(ModuleCapture::of_clocks(clocks).expect("a site table"));
        }
        let mut bytes = Vec::new();
        capture.write_to(&mut bytes).expect("memory takes all");
        let read = Capture::read_from(bytes.as_slice()).expect("it was just written");
        assert_eq!(read, capture);
        decode(&read)
    }

    /// Readings from before the kernel until it has run for so long.
    fn kept(sm: u32, until_ns: u64, ended: bool) -> KeptClock {
        let times = (START - 100_000..=START + until_ns).step_by(200_003);
        KeptClock { sm, readings: times.map(|timer| (cycles(sm, timer), timer)).collect(), ended }
    }

    fn marks(trace: &Trace) -> Vec<i64> {
        trace.warps.iter().map(|warp| warp.marks[0].time.ns as i64 - LENGTH as i64 / 2).collect()
    }

    #[test]
    fn kept_clocks_show_what_a_clock_did_within_a_kernel_and_nothing_else() {
        let without = trace(&[]);
        assert!(marks(&without)[0] > 3_000_000, "{:?}", marks(&without));
        assert!(without.diagnostics.get(DiagnosticKind::ClockUnread).is_some());
        for ended in [true, false] {
            let clocks = [kept(0, 31_000_000, ended), kept(1, 31_000_000, ended)];
            let with = trace(&clocks);
            let module = ModuleCapture::of_clocks(&clocks).expect("a site table");
            assert_eq!(module.clock_readings(), 2 * clocks[0].readings.len());
            assert!(marks(&with).iter().all(|off| off.abs() <= 32), "{:?}", marks(&with));
            assert_eq!(with.diagnostics.get(DiagnosticKind::ClockUnread), None);
            assert_eq!(
                (with.warps.len(), with.launches.len(), with.sites.len(), with.origin_ns),
                (2, 1, 2, START)
            );
            assert_eq!((with.recorded(), with.lost()), (without.recorded(), 0));
        }
    }

    #[test]
    fn clocks_that_were_kept_for_too_short_are_said() {
        let clocks = [kept(0, 31_000_000, true), kept(1, 12_000_000, true)];
        let trace = trace(&clocks);
        let said = trace.diagnostics.get(DiagnosticKind::ClockUnread).expect("a note");
        assert_eq!((said.count, said.number), (1, 18));
        let nothing = KeptClock::default();
        let module = ModuleCapture::of_clocks(&[nothing]).expect("a site table");
        assert!(module.is_of_clocks() && module.headers.is_empty(), "{module:?}");
    }

    /// Also for who takes it for a module of the user's.
    #[test]
    fn every_warp_of_it_is_one_that_was_to_be_recorded() {
        let module = ModuleCapture::of_clocks(&[]).expect("a site table");
        assert_eq!(module.sites.sites()[0].strategy, Some(Strategy::Warp));
        let Descriptor { warp_mask, block_first, block_count, block_stride, .. } =
            module.descriptor;
        let selected = (warp_mask, block_first, block_count, block_stride);
        assert_eq!(selected, (u32::MAX, 0, u32::MAX, 1));
    }

    #[test]
    fn a_user_s_module_is_not_one_of_clocks() {
        assert!(!ModuleCapture::default().is_of_clocks());
        let mut module = SyntheticModule::new(Keep::First, 1);
        module.site(SiteKind::Kernel, "kernel");
        module.warps.push(SyntheticWarp::new(1, 1, 1));
        module.warps[0].anchor(2, 2);
        let module = module.capture().expect("a site table");
        assert_eq!((module.is_of_clocks(), module.clock_readings()), (false, 0));
    }
}
