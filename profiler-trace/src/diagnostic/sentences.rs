//! Each diagnostic in a sentence, with its remedy.

use std::fmt;

use profiler_wire::WIRE_VERSION;
use profiler_wire::header::{COUNT_MAX, LANE_COUNT_MAX};
use profiler_wire::record::TRACK_MAX;

use super::{Diagnostic, DiagnosticKind};

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use DiagnosticKind as Kind;
        let (count, number) = (self.count, self.number);
        let p = |one: &'static str, several: &'static str| if count == 1 { one } else { several };
        match self.kind {
            Kind::BufferTooSmall => write!(
                f,
                "{count} {} did not fit the buffer of {}; build the profiler with \
                 .records_per_warp({number}) or more",
                p("record", "records"),
                p("its warp", "their warp")
            ),
            Kind::LaneBufferTooSmall => write!(
                f,
                "{count} {} did not fit the buffer of {}; build the profiler with \
                 .records_per_lane({number}) or more",
                p("record", "records"),
                p("its lane", "their lane")
            ),
            Kind::BufferFull => write!(
                f,
                "{count} {} and never left the kernel, so that more was lost \
                 than is stated {} on recording; build the profiler with \
                 .records_per_warp({number}), or .records_per_lane({number}) for lanes other than 0, or \
                 more",
                p("lane filled its buffer", "lanes filled their buffer"),
                p("if it went", "if they went")
            ),
            Kind::NoSlot => write!(
                f,
                "{count} {} found no slot; build the profiler with .max_warps({number}) or more, \
                 or select fewer blocks or warps",
                p("warp", "warps")
            ),
            Kind::RecordsWithoutBuffer => write!(
                f,
                "{count} {} lost by warps without a slot or by lanes without a buffer; \
                 give the session more slots",
                p("record was", "records were")
            ),
            Kind::LanesWithoutBuffer => write!(
                f,
                "{count} {} lost by lanes without a buffer; give the session buffers for all \
                 lanes, or record by warp",
                p("record was", "records were")
            ),
            Kind::ValuesLost => write!(
                f,
                "{count} {} did not fit the buffer; give the session more room",
                p(
                    "value of a region, or reading of both clocks,",
                    "values of regions, or readings of both clocks,"
                )
            ),
            Kind::NothingSelected => write!(
                f,
                "no warp of {count} {} was recorded: the session takes only some blocks or warps (.blocks, \
                 .block_stride, .warps), and no annotated kernel that it saw had one of them",
                p("module", "modules")
            ),
            Kind::CountSaturated => write!(
                f,
                "{count} {} emitted so many units that counting stopped (at {COUNT_MAX} for lane 0, \
                 at {LANE_COUNT_MAX} for others), so that more was lost than is stated, and a buffer \
                 that keeps the last records has turned no further; record less, or split the launch",
                p("lane", "lanes")
            ),
            Kind::CountMismatch => write!(
                f,
                "{count} {}; the capture is damaged: \
                 read it back only after the kernels have finished",
                p(
                    "lane kept more records than it says it emitted",
                    "lanes kept more records than they say they emitted"
                )
            ),
            Kind::KernelFailed => {
                f.write_str("a kernel failed")?;
                match (number, failure(number)) {
                    (0, _) => f.write_str(" (its launch's error says why)")?,
                    (number, None) => write!(f, " (CUDA error {number})")?,
                    (number, Some(name)) => write!(f, " (CUDA error {number}, {name})")?,
                }
                f.write_str(
                    "; what its warps had recorded until then is shown, a region that is open was \
                     open when it failed, and what was lost of warps that never left is not known",
                )
            }
            Kind::RecordsGone => write!(
                f,
                "the records of {count} {} were in device memory, which the kernel that failed took with \
                 it, and are not counted as lost; annotate {} kernels with #[profiled(buffer = host)], \
                 whose records outlive that",
                p("module", "modules"),
                p("its", "their")
            ),
            Kind::KernelRunning => f.write_str(
                "the records were read while kernels ran: a region that is open had not ended by \
                 then, and what was lost of warps that had not left is not known",
            ),
            Kind::WarpNeverLeft => write!(
                f,
                "{count} {} entered the kernel and never left it (the kernel hung, trapped, or \
                 was still running when the records were read); {} is not known: \
                 synchronize before reading, or see which regions are open",
                p("warp", "warps"),
                p("what it lost", "what they lost")
            ),
            Kind::LaneNeverLeft => write!(
                f,
                "{count} {} recorded and never left the kernel though lane 0 {} did; \
                 {} is not known: let all lanes return from the kernel",
                p("lane", "lanes"),
                p("of its warp", "of their warp"),
                p("what it lost", "what they lost")
            ),
            Kind::OpenRegion => write!(
                f,
                "{count} {} was lost; end \
                 every region_start! on every path, or give the session more room (where warps never left the \
                 kernel, it is what they were in)",
                p(
                    "region has no end: it was never ended, or its end",
                    "regions have no end: they were never ended, or their end"
                )
            ),
            Kind::OrphanedValue => write!(
                f,
                "{count} {} out; give \
                 the session more room",
                p(
                    "value belongs to a region that was overwritten, and was left",
                    "values belong to regions that were overwritten, and were left"
                )
            ),
            Kind::TrackOutOfRange => write!(
                f,
                "{count} {} a track whose number is above {TRACK_MAX}, the largest that a record holds, \
                 and {} on the one track of all such numbers; number tracks from 0 on, by other than \
                 (block << 16) | tile, which is beyond that from block 256 on",
                p("record or warp names", "records or warps name"),
                p("lies", "lie")
            ),
            Kind::NameOutOfRange => write!(
                f,
                "{count} {} of a list by an index beyond its last, and {} called `LIST[out of range]`; the \
                 first such list has {number} {}: give it more, or an index below {number}",
                p("region takes a name", "regions take names"),
                p("is", "are"),
                if number == 1 { "name" } else { "names" }
            ),
            Kind::UnwrittenUnit => write!(
                f,
                "{count} {} but never written; the capture is damaged: read it back \
                 only after the kernels have finished, and let no kernel write to it",
                p("unit was counted", "units were counted")
            ),
            Kind::UnitInFlight => write!(
                f,
                "{count} {} on {} way to memory when it was read, before later ones that had \
                 arrived, and {} left out; read again a moment later",
                p("unit was", "units were"),
                p("its", "their"),
                p("was", "were")
            ),
            Kind::DamagedUnit => write!(
                f,
                "{count} {}; something else has written into the buffers: run the \
                 kernels under compute-sanitizer",
                p("unit is no record", "units are no records")
            ),
            Kind::UnknownSite => write!(
                f,
                "{count} {} a site that the module does not have (the first has id \
                 {number}); attach the session with the very PTX that the module was loaded from",
                p("record names", "records name")
            ),
            Kind::KindMismatch => write!(
                f,
                "{count} {} left out; attach \
                 the session with the very PTX that the module was loaded from",
                p(
                    "record does not go with the kind of its site and was",
                    "records do not go with the kind of their site and were"
                )
            ),
            Kind::TimeNotMonotonic => write!(
                f,
                "{count} {} an earlier time than the unit {}, or a later one than \
                 the warp's exit; the capture is damaged, or the warp moved to another SM while it ran (preemption)",
                p("unit bears", "units bear"),
                p("before it", "before them")
            ),
            Kind::AmbiguousWrap => write!(
                f,
                "in {count} {} 2^40 ticks or more may lie between two records, or between the \
                 begin and the end of a region, so that times may be off by a multiple of 2^40 \
                 ticks; let no launch last that long (549 s at 2 GHz), or give the session more \
                 buffer, put marks into long stretches, and let regions have no track of their own, \
                 and a value of 32 bits in place of a shorter one: then their records hold all of \
                 their begin's clock",
                p("lane", "lanes")
            ),
            Kind::RegionAfterExit => write!(
                f,
                "{count} {} after lane 0 of {} had left the kernel: the kernel took longer there than is \
                 shown, and shares are of the time that is shown",
                p("region ends", "regions end"),
                p("its warp", "their warp")
            ),
            Kind::StartBeforeEntry => write!(
                f,
                "{count} {} entered the kernel{} \
                 at its entry: the capture is damaged, {} 2^40 ticks or more",
                p(
                    "region seems to begin before its warp",
                    "regions seem to begin before their warp"
                ),
                p("; it was cut", "; they were cut"),
                p("or it lasted", "or they lasted")
            ),
            Kind::HeaderVersion => write!(
                f,
                "{count} {} written with another wire version than the launch descriptor has \
                 (the first with version {number}, this library reads version {WIRE_VERSION}); {} were left out \
                 and are not counted as lost: build the kernels with the same version of the \
                 profiler as the host program",
                p("slot was", "slots were"),
                p("its records", "their records")
            ),
            Kind::DamagedHeader => write!(
                f,
                "{count} {} left out; clear the headers \
                 before the session, and run the kernels under compute-sanitizer",
                p(
                    "slot header is damaged and its slot was",
                    "slot headers are damaged and their slots were"
                )
            ),
            Kind::UnknownKernel => write!(
                f,
                "{count} {} a kernel that the module does not have (the first has id \
                 {number}) {} out; attach the session with the very PTX that the module \
                 was loaded from",
                p("slot names", "slots name"),
                p("and was left", "and were left")
            ),
            Kind::UnknownStrategy => write!(
                f,
                "{count} {} an unknown recording strategy (the first is {number}) {} \
                 shown as recorded by warp; the capture is damaged, or of another version",
                p("slot names", "slots name"),
                p("and is", "and are")
            ),
            Kind::DamagedDescriptor => write!(
                f,
                "the launch descriptor of {count} {} cannot be right (its wire version is \
                 {number}, this library reads version {WIRE_VERSION}); {} were left out: attach before the \
                 first launch, and finish the session with the same library",
                p("module", "modules"),
                p("its records", "their records")
            ),
            Kind::TruncatedCapture => write!(
                f,
                "the arrays of the capture end before {count} {}; what \
                 is missing counts as lost: read back all slots",
                p("of the slots and lanes in use does", "of the slots and lanes in use do")
            ),
            Kind::DamagedCapture => write!(
                f,
                "the capture's file is damaged or truncated ({count} {} Capture::read \
                 returns and `profiler check` lists); copy it again from where it was written, or \
                 record it again",
                p("finding, which", "findings, which")
            ),
            Kind::UnreadableSlot => write!(
                f,
                "{} of {count} {} lay in damaged parts of the capture's file; {} \
                 warps are missing, what those recorded is not counted as lost, and arrows that \
                 began in one may begin elsewhere: copy the file again, or record it again",
                p("the header", "the headers"),
                p("slot", "slots"),
                p("its", "their")
            ),
            Kind::UnreadableRecords => write!(
                f,
                "the buffers or counts of {count} {} lay in damaged parts of the capture's file; all \
                 that such a lane emitted counts as lost where that is known (of lane 0 also what it \
                 recorded for all lanes, which is then in none), and arrows that began in one may \
                 begin elsewhere: copy the file again, or record it again",
                p("lane", "lanes")
            ),
            Kind::ClockContradiction => write!(
                f,
                "the clock readings of {count} {} contradict each other by more than the timer's \
                 step; {} are only as good as that: the clock was reset or the warp was \
                 preempted during the session, so profile in shorter sessions",
                p("SM", "SMs"),
                p("its times", "their times")
            ),
            Kind::ClockPooled => write!(
                f,
                "{count} {} had too few clock readings for a frequency {} and took that \
                 of the others",
                p("SM", "SMs"),
                p("of its own", "of their own")
            ),
            Kind::ClockUncertain => write!(
                f,
                "too little time passed between the clock readings to know the frequency of the SM \
                 clock well, {number} MHz was taken; cycles are right, nanoseconds may not be: \
                 profile a longer run, or several launches in one session"
            ),
            Kind::ClockChanged => write!(
                f,
                "the SM clock changed its frequency (mapped by {count} {}): compare cycles only \
                 within an SM",
                p("line", "lines")
            ),
            Kind::ClockUnread => write!(
                f,
                "on {count} {} up to {number} ms passed between two readings of both clocks; \
                 nanoseconds in between are right where the clock was steady, and cycles in any case: \
                 put profile_anchor!(every = 200_000) into long loops, keep the clocks beside the kernel \
                 (Session::keep_clocks), or record with clock = globaltimer",
                p("SM", "SMs")
            ),
            Kind::WaitWithoutSignal => write!(
                f,
                "{count} {} no signal of the same name and key {}, so no arrow \
                 {}; check the keys, or give the session more room",
                p("wait has", "waits have"),
                p("before it", "before them"),
                p("leads to it", "leads to them")
            ),
            Kind::CostExceedsDuration => write!(
                f,
                "{count} {} closer together than recording costs and {} moved onto each other; \
                 regions this short are better measured in a loop",
                p("time lay", "times lay"),
                p("was", "were")
            ),
            Kind::CostIsRough => write!(
                f,
                "the cost of records was subtracted only roughly {count} {}, and some of it may be left: more \
                 than four warps of an SM recorded at once, or several lanes of a warp; record fewer \
                 warps of an SM, or by = warp or by = elected",
                p("time", "times")
            ),
            Kind::CostOfIdleBus => write!(
                f,
                "{count} {} into the memory of the host (buffer = host), and {} was subtracted what \
                 that takes while the bus to the host is idle: where warps record faster than the bus \
                 takes it, their stores are held up for longer, by a time that is not known, and \
                 regions there are too long by it; where that matters record fewer regions or blocks, \
                 or with buffer = global",
                p("warp recorded", "warps recorded"),
                p("from its times", "from their times")
            ),
            Kind::CostUnknown => write!(
                f,
                "the cost of records is not known, or not for the clock or the buffer that warps used, so \
                 nothing was subtracted from these ({count} {}); measure it with the session \
                 (measure_record_cost), and let a session with clock = globaltimer run for longer",
                p("time", "times")
            ),
            Kind::OccupancyDrop => write!(
                f,
                "fewer blocks of {count} {} fit an SM with annotations, which take registers, than \
                 without ({number} with them{}; `profiler info` has all figures); a launch that \
                 has no more loses nothing by it, any other runs fewer at once: say by \
                 #[profiled(max_threads = .., min_blocks = ..)] how many are to fit, annotate fewer \
                 regions, or compile in only some of them (Kernels::only)",
                p("kernel", "kernels"),
                p("", ", of the first"),
            ),
            Kind::DevicesDiffer => write!(
                f,
                "{count} {} from another device, whose timer does not go \
                 with the first's; merge only traces of one device",
                p("of the merged traces is", "of the merged traces are")
            ),
            Kind::CostSubtractedInPart => write!(
                f,
                "the cost of records was subtracted from some of the merged traces and not from \
                 {count} {}; subtract it from all or from none",
                p("other", "others")
            ),
        }?;
        if let Some(place) = self.place {
            write!(f, " (first: {place})")?;
        }
        f.write_str(".")
    }
}

/// The name of a failure that ends a kernel, by its number in cuda.h.
const fn failure(code: u64) -> Option<&'static str> {
    Some(match code {
        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
        702 => "CUDA_ERROR_LAUNCH_TIMEOUT",
        710 => "CUDA_ERROR_ASSERT",
        714 => "CUDA_ERROR_HARDWARE_STACK_ERROR",
        715 => "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        716 => "CUDA_ERROR_MISALIGNED_ADDRESS",
        717 => "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        718 => "CUDA_ERROR_INVALID_PC",
        719 => "CUDA_ERROR_LAUNCH_FAILED",
        _ => return None,
    })
}
