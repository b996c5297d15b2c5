//! Each diagnostic in words: the finding, then the help.

use std::fmt;

use profiler_wire::WIRE_VERSION;
use profiler_wire::header::{COUNT_MAX, LANE_COUNT_MAX};
use profiler_wire::record::TRACK_MAX;

use super::{Diagnostic, DiagnosticKind};

const SAME_PTX: &str = "Attach the session with the PTX that the module was loaded from";
const MORE_RECORDS: &str = "Build the profiler with more records per warp";

/// The finding and the help. Of `[one|several]` the count takes one.
const fn texts(kind: DiagnosticKind) -> (&'static str, &'static str) {
    use DiagnosticKind as Kind;
    match kind {
        Kind::BufferTooSmall => (
            "{count} record[|s] did not fit the buffer of [its warp|their warps]",
            "Build the profiler with .records_per_warp({number}) or more; `profiler record` keeps 1024, and \
             with --keep last the last ones",
        ),
        Kind::LaneBufferTooSmall => (
            "{count} record[|s] did not fit the buffer of [its lane|their lanes]",
            "Build the profiler with .records_per_lane({number}) or more",
        ),
        Kind::BufferFull => (
            "{count} lane[|s] filled [its buffer|their buffers] and never left the kernel; more may be \
             lost than is stated",
            "Build the profiler with .records_per_warp({number}) or more, or with \
             .records_per_lane({number}) for lanes other than 0",
        ),
        Kind::NoSlot => (
            "{count} warp[|s] found no slot",
            "Build the profiler with .max_warps({number}) or more, or with .for_grid(..) of all launches, or select \
             fewer blocks or warps",
        ),
        Kind::RecordsWithoutBuffer => (
            "{count} record[ was|s were] lost because [its warp had no slot, or its lane|their warps had no \
             slot, or their lanes] no buffer",
            "If warps found no slot, build the profiler with more (.max_warps). Otherwise give all lanes \
             buffers (.lane_buffers(true)), or record by warp",
        ),
        Kind::ValuesLost => (
            "{count} value[ or clock reading|s or clock readings] did not fit the buffer",
            MORE_RECORDS,
        ),
        Kind::NothingSelected => (
            "no warp of {count} module[|s] was recorded: the session takes only some blocks or warps, and \
             no kernel had one of them",
            "Select others (.blocks, .block_stride, .warps)",
        ),
        Kind::CountSaturated => (
            "{count} lane[|s] emitted more units than can be counted ({count_max} for lane 0, \
             {lane_count_max} for others); more was lost than is stated",
            "Record less, or split the launch",
        ),
        Kind::CountMismatch => (
            "{count} lane[ kept more records than it|s kept more records than they] counted",
            "The capture is damaged: read it back only after the kernels have finished",
        ),
        Kind::KernelFailed => (
            "a kernel failed{cause}",
            "The records from before are shown. Regions that were open then have no end. The losses of \
             warps that never left are not known",
        ),
        Kind::RecordsGone => (
            "the records of {count} module[|s] were in device memory and are gone with the kernel that \
             failed; they are not counted as lost",
            "Annotate [its|their] kernels with #[profiled(buffer = host)], whose records outlive a failure",
        ),
        Kind::KernelRunning => (
            "the records were read while kernels ran",
            "Regions that were open then have no end. The losses of warps that had not left are not known",
        ),
        Kind::WarpNeverLeft => (
            "{count} warp[|s] entered the kernel and never left it; [its|their] losses are not known",
            "The kernel hung, trapped or was still running: synchronize before reading, or look at the open \
             regions",
        ),
        Kind::LaneNeverLeft => (
            "{count} lane[|s] never left the kernel, although lane 0 of [its warp|their warps] did; \
             [its|their] losses are not known",
            "Let all lanes return from the kernel",
        ),
        Kind::OpenRegion => (
            "{count} region[ has|s have] no end",
            "End every region_start! on every path. If records were lost, build the profiler with more \
             records per warp. If warps never left the kernel, they were in these regions",
        ),
        Kind::OrphanedValue => (
            "{count} value[ was left out because its region was|s were left out because their regions were] \
             overwritten",
            MORE_RECORDS,
        ),
        Kind::TrackOutOfRange => (
            "{count} record[ or warp has|s or warps have] a track number above {track_max}; [it lies|they \
             lie] on one track for all such numbers",
            "Number tracks from 0. A number such as (block << 16) | tile is too large from block 256 on",
        ),
        Kind::UnwrittenUnit => (
            "{count} unit[ was|s were] counted but never written",
            "The capture is damaged: read it back only after the kernels have finished, and let no kernel \
             write to the buffers",
        ),
        Kind::UnitInFlight => (
            "{count} unit[ was|s were] still on the way to memory and left out",
            "Read the records again a moment later",
        ),
        Kind::DamagedUnit => (
            "{count} unit[ is not a record|s are not records]",
            "Something else wrote into the buffers: run the kernels under compute-sanitizer",
        ),
        Kind::UnknownSite => (
            "{count} record[ names|s name] a site that the module does not have (the first id is {number})",
            SAME_PTX,
        ),
        Kind::KindMismatch => (
            "{count} record[ does not fit the kind of its site and was|s do not fit the kind of their sites \
             and were] left out",
            SAME_PTX,
        ),
        Kind::TimeNotMonotonic => (
            "{count} unit[ is|s are] older than the unit before [it|them], or later than the exit of \
             [its warp|their warps]",
            "The capture is damaged, or a warp moved to another SM (preemption): record it again, with the \
             GPU to itself",
        ),
        Kind::AmbiguousWrap => (
            "in {count} lane[|s] a gap of 2^40 ticks or more may hide; times may be off by a multiple of that",
            "Keep launches shorter (549 s at 2 GHz), put marks into long stretches, or build the profiler \
             with more records per warp. Let regions have no track of their own, and a value of 32 bits \
             instead of a shorter one: their records then hold the whole clock of their begin",
        ),
        Kind::RegionAfterExit => (
            "{count} region[ ends|s end] after lane 0 of [its warp|their warps] left the kernel",
            "The kernel took longer there than is shown. Shares refer to the time that is shown",
        ),
        Kind::StartBeforeEntry => (
            "{count} region[ seems|s seem] to begin before [its warp|their warps] entered the kernel; \
             [it was|they were] cut at the entry",
            "The capture is damaged, or a region lasted 2^40 ticks or more: record it again",
        ),
        Kind::HeaderVersion => (
            "{count} slot[ has|s have] another wire version than the launch descriptor (the first has \
             version {number}, this library reads version {version}); [its|their] records were left out and \
             are not counted as lost",
            "Build the kernels and the host program with the same version of the profiler",
        ),
        Kind::DamagedHeader => (
            "{count} slot header[ is damaged and its slot was|s are damaged and their slots were] left out",
            "Clear the headers before the session, and run the kernels under compute-sanitizer",
        ),
        Kind::UnknownKernel => (
            "{count} slot[ names|s name] a kernel that the module does not have (the first id is {number}) \
             and [was|were] left out",
            SAME_PTX,
        ),
        Kind::UnknownStrategy => (
            "{count} slot[ names|s name] an unknown strategy (the first is {number}) and [is|are] shown as \
             recorded by warp",
            "The capture is damaged or of another version: record it again",
        ),
        Kind::DamagedDescriptor => (
            "{count} module[ has a launch descriptor|s have launch descriptors] that cannot be right (wire \
             version {number}, this library reads version {version}); [its|their] records were left out",
            "Attach before the first launch, and finish the session with the same library",
        ),
        Kind::TruncatedCapture => (
            "{count} slot[ or lane|s or lanes] in use [lies|lie] beyond the end of the capture's arrays; \
             the missing records count as lost",
            "Read back all slots",
        ),
        Kind::ClockContradiction => (
            "the clock readings of {count} SM[|s] contradict each other by more than a step of the timer; \
             [its|their] times are only as good as that",
            "The clock was reset or a warp was preempted: profile in shorter sessions",
        ),
        Kind::ClockPooled => (
            "{count} SM[ has|s have] too few clock readings for a frequency of [its|their] own",
            "The frequency of the other SMs was taken",
        ),
        Kind::ClockUncertain => (
            "the frequency of the SM clock is not known well; {number} MHz was taken",
            "Cycles are right, nanoseconds may be wrong: profile a longer run, or several launches in one \
             session",
        ),
        Kind::ClockChanged => (
            "the SM clock changed its frequency (mapped by {count} line[|s])",
            "Compare cycles only within an SM",
        ),
        Kind::ClockUnread => (
            "on {count} SM[|s] up to {number} ms passed between two readings of both clocks",
            "Cycles are right, and nanoseconds as well if the clock was steady. Put profile_anchor!(every = \
             200_000) into long loops, keep the clocks (Session::keep_clocks), or record with clock = \
             globaltimer",
        ),
        Kind::WaitWithoutSignal => (
            "{count} wait[ has|s have] no earlier signal of the same name and key; no arrow leads to \
             [it|them]",
            "Check the keys, or build the profiler with more records per warp",
        ),
        Kind::CostExceedsDuration => (
            "{count} time[ was|s were] closer to the time before than recording costs, and moved onto it",
            "Measure regions this short in a loop",
        ),
        Kind::CostIsRough => (
            "the cost of records was subtracted only roughly {count} time[|s], and some of it may be left",
            "More than four warps of an SM recorded at once, or several lanes of a warp: record fewer warps \
             of an SM, or by = warp or by = elected",
        ),
        Kind::CostUnknown => (
            "the cost of records is not known {count} time[|s], and nothing was subtracted there",
            "Measure it with the session (measure_record_cost). It is known only with clock = cycles and \
             buffer = global",
        ),
        Kind::OccupancyDrop => (
            "fewer blocks of {count} kernel[|s] fit an SM with annotations than without ({number} with \
             them[|, of the first])",
            "Annotations take registers; `profiler info` has all figures. A launch of no more blocks loses \
             nothing. For others set #[profiled(max_threads = .., min_blocks = ..)], annotate fewer regions, \
             or leave some out with #[cfg(..)]",
        ),
    }
}

/// The finding, the place where it was seen first, and the help.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (finding, help) = texts(self.kind);
        f.write_str(&self.filled(finding))?;
        if let Some(place) = self.place {
            write!(f, " (first: {place})")?;
        }
        write!(f, ". {}.", self.filled(help))
    }
}

impl Diagnostic {
    fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('[') {
            filled.push_str(before);
            let choice = after.split_once(']').and_then(|(inside, after)| {
                let (one, several) = inside.split_once('|')?;
                Some((if self.count == 1 { one } else { several }, after))
            });
            // Other brackets are part of the text.
            let (chosen, after) = choice.unwrap_or(("[", after));
            filled.push_str(chosen);
            rest = after;
        }
        filled.push_str(rest);
        for (name, value) in [
            ("{count}", self.count.to_string()),
            ("{number}", self.number.to_string()),
            ("{version}", WIRE_VERSION.to_string()),
            ("{count_max}", COUNT_MAX.to_string()),
            ("{lane_count_max}", LANE_COUNT_MAX.to_string()),
            ("{track_max}", TRACK_MAX.to_string()),
            ("{cause}", cause(self.number)),
        ] {
            filled = filled.replace(name, &value);
        }
        filled
    }
}

/// The name that the CUDA driver gives to a failure of a kernel, by its number in cuda.h.
fn cause(code: u64) -> String {
    let name = match code {
        0 => return " (the error of its launch has the cause)".to_owned(),
        700 => "ILLEGAL_ADDRESS",
        702 => "LAUNCH_TIMEOUT",
        710 => "ASSERT",
        714 => "HARDWARE_STACK_ERROR",
        715 => "ILLEGAL_INSTRUCTION",
        716 => "MISALIGNED_ADDRESS",
        717 => "INVALID_ADDRESS_SPACE",
        718 => "INVALID_PC",
        719 => "LAUNCH_FAILED",
        _ => return format!(" (CUDA error {code})"),
    };
    format!(" (CUDA error {code}, CUDA_ERROR_{name})")
}
