//! Diagnostics: everything lost or odd in a capture, with a count, a place and help.

mod sentences;

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

/// How much a diagnostic affects the numbers of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; every number is right.
    Info,
    /// Something is missing; what is there is right.
    Warning,
    /// Numbers may be wrong.
    Error,
}

impl Severity {
    /// Its name in all outputs: `note`, `warning` or `error`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The place where something was seen first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Location {
    /// Index of the module in the capture.
    pub module: usize,
    /// The slot, if it is about one.
    pub slot: Option<u32>,
    /// The lane of the slot.
    pub lane: Option<u8>,
    /// The unit of the lane's buffer, from 0.
    pub unit: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module {}", self.module)?;
        if let Some(slot) = self.slot {
            write!(f, ", slot {slot}")?;
        }
        if let Some(lane) = self.lane {
            write!(f, ", lane {lane}")?;
        }
        if let Some(unit) = self.unit {
            write!(f, ", unit {unit}")?;
        }
        Ok(())
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident $name:literal $severity:ident $($loss:ident)?,)+) => {
        /// The kind of a diagnostic. Each kind gives the meaning of [`Diagnostic::count`] and of
        /// [`Diagnostic::number`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum DiagnosticKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl DiagnosticKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// A stable name, for programs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            /// The first sentence of its documentation, without the full stop.
            #[must_use]
            pub fn meaning(self) -> &'static str {
                let all = match self { $(Self::$kind => concat!($($doc),+),)+ };
                let first = all.split_once(". ").map_or(all, |(first, _)| first);
                first.trim().trim_end_matches('.')
            }

            /// How much it affects the numbers.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$kind => Severity::$severity,)+ }
            }

            /// Whether something was recorded and is not here.
            #[must_use]
            pub const fn is_loss(self) -> bool {
                match self { $(Self::$kind => kinds!(@is_loss $($loss)?),)+ }
            }
        }
    };
    (@is_loss) => { false };
    (@is_loss loss) => { true };
}

kinds! {
    /// Records that did not fit the buffer of lane 0. Number: units a buffer would need.
    BufferTooSmall "buffer-too-small" Warning loss,
    /// Records that did not fit the buffers of other lanes. Number: units a buffer would need.
    LaneBufferTooSmall "lane-buffer-too-small" Warning loss,
    /// Lanes that filled a buffer for the first records and left no count, so that the number of lost records
    /// is not known. Number: units of a buffer of twice the size.
    BufferFull "buffer-full" Warning loss,
    /// Warps that found no slot. Number: slots that would do.
    NoSlot "no-slot" Warning loss,
    /// Records of warps without a slot and of lanes without a buffer.
    RecordsWithoutBuffer "records-without-buffer" Warning loss,
    /// Values and readings of both clocks that did not fit, though the record before them may have.
    ValuesLost "values-lost" Warning loss,
    /// Modules without a record, if the session took only some blocks and warps.
    NothingSelected "nothing-selected" Info,
    /// Lanes whose count of units stopped at its largest value.
    CountSaturated "count-saturated" Error loss,
    /// Lanes that kept more records than their count says they emitted.
    CountMismatch "count-mismatch" Error,
    /// A kernel failed, and its records from before are here. Number: the error code of the CUDA driver; 0 if
    /// it is not known.
    KernelFailed "kernel-failed" Warning,
    /// Modules whose records were in device memory and are gone, because a kernel failed.
    RecordsGone "records-gone" Warning loss,
    /// The records were read while kernels ran.
    KernelRunning "kernel-running" Info,
    /// Warps that entered the kernel and never left it.
    WarpNeverLeft "warp-never-left" Warning,
    /// Lanes that recorded and never left the kernel, although lane 0 of their warp left.
    LaneNeverLeft "lane-never-left" Warning,
    /// Regions without an end.
    OpenRegion "open-region" Warning,
    /// Values that belong to no region.
    OrphanedValue "orphaned-value" Warning,
    /// Records and warps whose track number is too large for a record. They lie on one track for all such
    /// numbers.
    TrackOutOfRange "track-out-of-range" Warning,
    /// Units below the count that were never written.
    UnwrittenUnit "unwritten-unit" Error,
    /// Units of lanes that had not left the kernel, which were still on the way to memory although later ones
    /// had arrived.
    UnitInFlight "unit-in-flight" Warning,
    /// Units that are not records.
    DamagedUnit "damaged-unit" Error,
    /// Records of a site that the module does not have. Number: the first such id.
    UnknownSite "unknown-site" Error,
    /// Records that do not fit the kind of their site, such as a mark at a region's site.
    KindMismatch "kind-mismatch" Error,
    /// Units that were written earlier than the unit before them, and regions that would end after
    /// their warp left the kernel.
    TimeNotMonotonic "time-not-monotonic" Error,
    /// Lanes in which a gap of 2^40 ticks or more may hide, between two records or within a region.
    AmbiguousWrap "ambiguous-wrap" Error,
    /// Regions of lanes other than lane 0 that end after lane 0 left the kernel, which counts as the exit of
    /// the warp.
    RegionAfterExit "region-after-exit" Warning,
    /// Regions that seem to begin before their warp entered the kernel.
    StartBeforeEntry "start-before-entry" Error,
    /// Headers of another wire version than their launch descriptor. Number: the first such version.
    HeaderVersion "header-version" Error,
    /// Slot headers that are damaged.
    DamagedHeader "damaged-header" Error,
    /// Headers whose kernel the module does not have. Number: the first such id.
    UnknownKernel "unknown-kernel" Error,
    /// Headers with an unknown strategy. Number: its code.
    UnknownStrategy "unknown-strategy" Error,
    /// A descriptor that cannot be right. Number: the wire version that it names.
    DamagedDescriptor "damaged-descriptor" Error,
    /// Arrays that end before the slots in use do. Count: slots or lanes affected.
    TruncatedCapture "truncated-capture" Error loss,
    /// SMs whose clock readings contradict each other.
    ClockContradiction "clock-contradiction" Error,
    /// SMs with a single clock reading, which took the frequency of the others.
    ClockPooled "clock-pooled" Info,
    /// The clock's frequency is not known well. Number: the MHz that were taken.
    ClockUncertain "clock-uncertain" Error,
    /// The SMs did not run at one steady frequency. Count: the most lines that map the clock of one SM.
    ClockChanged "clock-changed" Info,
    /// SMs on which a warp recorded for more than ten milliseconds without a reading of both clocks. A change
    /// of the frequency there is not seen. Number: the longest such time in milliseconds.
    ClockUnread "clock-unread" Info,
    /// Waits without an earlier signal.
    WaitWithoutSignal "wait-without-signal" Info,
    /// Regions whose recording cost more than they lasted.
    CostExceedsDuration "cost-exceeds-duration" Warning,
    /// Warps from whose times the cost of recording was subtracted only in part, because more than four
    /// warps of their SM recorded, or because several of their lanes stored records at once. If both is true,
    /// a warp counts twice.
    CostIsRough "cost-is-rough" Warning,
    /// The cost of a record is not known, or not for these warps, which recorded to host memory or by
    /// the global timer. Nothing was subtracted from them.
    CostUnknown "cost-unknown" Warning,
    /// Kernels whose annotations let fewer blocks fit an SM. Number: the blocks that fit with annotations, of
    /// the first such kernel.
    OccupancyDrop "occupancy-drop" Warning,
}

/// Something lost or odd, with its count and first place. `Display` gives the finding and the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub kind: DiagnosticKind,
    /// How often; the kind gives the things that are counted.
    pub count: u64,
    /// A number whose meaning depends on the kind, such as a sufficient capacity.
    pub number: u64,
    /// The place where it was seen first.
    pub place: Option<Location>,
}

impl Diagnostic {
    /// How much it affects the numbers of the trace.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.kind.severity()
    }

    /// A JSON object with `kind`, `severity`, `count`, `number`, `first` (its place) and `text`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "severity": self.severity().name(),
            "count": self.count,
            "number": self.number,
            "first": self.place,
            "text": self.to_string(),
        })
    }
}

/// Everything lost or odd in a trace: at most one entry of each kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics {
    /// The entries, in the order in which each was first seen.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Counts something once.
    pub(crate) fn note(&mut self, kind: DiagnosticKind, place: Option<Location>) {
        self.add(Diagnostic { kind, count: 1, number: 0, place });
    }

    /// Counts something so often.
    pub(crate) fn note_count(&mut self, kind: DiagnosticKind, count: u64, place: Option<Location>) {
        self.add(Diagnostic { kind, count, number: 0, place });
    }

    /// Counts something once, with a number. Of sufficient sizes the largest is kept, of other numbers the
    /// first.
    pub(crate) fn note_number(
        &mut self,
        kind: DiagnosticKind,
        number: u64,
        place: Option<Location>,
    ) {
        self.add(Diagnostic { kind, count: 1, number, place });
    }

    /// Adds to the entry of the same kind, or appends one. A count of zero is nothing.
    pub fn add(&mut self, new: Diagnostic) {
        if new.count == 0 {
            return;
        }
        match self.list.iter_mut().find(|known| known.kind == new.kind) {
            None => self.list.push(new),
            Some(known) => {
                known.count = known.count.saturating_add(new.count);
                if matches!(
                    new.kind,
                    DiagnosticKind::BufferTooSmall
                        | DiagnosticKind::LaneBufferTooSmall
                        | DiagnosticKind::BufferFull
                        | DiagnosticKind::NoSlot
                ) {
                    known.number = known.number.max(new.number);
                }
            }
        }
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: &Self) {
        for diagnostic in &other.list {
            self.add(*diagnostic);
        }
    }

    /// The entry of a kind.
    #[must_use]
    pub fn get(&self, kind: DiagnosticKind) -> Option<&Diagnostic> {
        self.list.iter().find(|diagnostic| diagnostic.kind == kind)
    }

    /// All entries but [`DiagnosticKind::ClockChanged`], which nearly every capture of a GPU has.
    pub fn notable(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter().filter(|diagnostic| diagnostic.kind != DiagnosticKind::ClockChanged)
    }

    /// The count of a kind.
    #[must_use]
    pub fn count(&self, kind: DiagnosticKind) -> u64 {
        self.get(kind).map_or(0, |diagnostic| diagnostic.count)
    }

    /// Whether nothing was lost or odd.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The severity of the worst entry.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.list.iter().map(Diagnostic::severity).max()
    }
}

/// The [notable](Diagnostics::notable) ones, a line each.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in self.notable() {
            let (severity, kind) = (diagnostic.severity().name(), diagnostic.kind.name());
            writeln!(f, "{severity}[{kind}]: {diagnostic}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostic, DiagnosticKind, Diagnostics};

    /// Sizes that would do are not added up, and of a version the first is named.
    #[test]
    fn numbers_of_a_kind_are_kept_as_they_are_meant() {
        for (kind, expected) in
            [(DiagnosticKind::BufferTooSmall, 5), (DiagnosticKind::HeaderVersion, 4)]
        {
            let mut all = Diagnostics::default();
            for number in [4, 5] {
                let mut some = Diagnostics::default();
                some.note_number(kind, number, None);
                all.extend(&some);
            }
            let said = all.get(kind).map(|said| (said.count, said.number));
            assert_eq!(said, Some((2, expected)), "{kind:?}");
        }
    }

    #[test]
    fn one_of_a_kind_is_not_spoken_of_as_several() {
        for &kind in DiagnosticKind::ALL {
            let sentence = |count| Diagnostic { kind, count, number: 5, place: None }.to_string();
            let (one, several) = (sentence(1), sentence(2));
            // What is about all, however many they are.
            let is_about_all = matches!(kind, DiagnosticKind::ClockUncertain)
                || matches!(kind, DiagnosticKind::KernelFailed | DiagnosticKind::KernelRunning);
            let same = one.replace('2', "1") == several.replace('2', "1");
            assert_eq!(same, is_about_all, "{one}\n{several}");
        }
    }
}
