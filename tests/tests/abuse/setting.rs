//! Where a case runs, and what cases share.

use std::time::Duration;

use profiler_host::{
    Backend, BackendChoice, Buffer, Error, Profiler, ProfilerBuilder, Session, Slots, Trace,
};
use profiler_wire::descriptor::{Descriptor, FLAG_CLAIMED, FLAG_LANES, Lost};
use profiler_wire::header;

use crate::kernels::{Kernel, Rounds, Shape};

/// The PTX of the kernels.
pub(crate) const PTX: Option<&str> = profiler_host::include_ptx!("abuse");
/// That of kernels with `buffer = host`, which are a module of their own: all buffers of a module that has one
/// of them lie in memory of the host.
const HOSTED_PTX: Option<&str> = profiler_host::include_ptx!("watched");

/// Where a case runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) choice: BackendChoice,
}

pub(crate) const GPU: Setting = Setting { choice: BackendChoice::Gpu };
pub(crate) const EMULATOR: Setting = Setting { choice: BackendChoice::Emulator };

/// One case. It panics where it fails.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// What it abuses, in a few words.
    pub(crate) what: &'static str,
    pub(crate) run: fn(Setting),
    /// Whether it runs on the emulator too.
    pub(crate) emulator: bool,
    /// What its process may take on a GPU, without a sanitizer.
    pub(crate) limit: Duration,
    /// Findings of the sanitizer that it provokes.
    pub(crate) provokes: Provoked,
    /// Whether no other case may run on the GPU beside it.
    pub(crate) alone: bool,
}

/// Findings that a case provokes, each by words that it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Provoked {
    /// Memcheck must find one of each. The other tools do not look for it.
    pub(crate) always: &'static [&'static str],
    /// Of these there may be any number.
    pub(crate) perhaps: &'static [&'static str],
}

impl Provoked {
    pub(crate) const NOTHING: Self = Self { always: &[], perhaps: &[] };

    /// What a tool is to find and may find.
    pub(crate) fn under(self, tool: Tool) -> Self {
        if tool == Tool::Memcheck { self } else { Self { always: &[], ..self } }
    }
}

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Memcheck,
    Racecheck,
    Initcheck,
    Synccheck,
}

impl Tool {
    pub(crate) const ALL: &[Self] =
        &[Self::Memcheck, Self::Racecheck, Self::Initcheck, Self::Synccheck];

    /// As `--tool` takes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Initcheck => "initcheck",
            Self::Synccheck => "synccheck",
        }
    }
}

impl Setting {
    pub(crate) fn is_gpu(self) -> bool {
        self.choice == BackendChoice::Gpu
    }

    /// One of two sizes: on the emulator all of a case would take long.
    pub(crate) fn either<T>(self, small: T, full: T) -> T {
        if self.is_gpu() { full } else { small }
    }

    #[track_caller]
    pub(crate) fn backend(self) -> Backend {
        Backend::choose(self.choice, PTX).expect("the back end")
    }

    /// The one for kernels with `buffer = host`.
    #[track_caller]
    pub(crate) fn hosted_backend(self) -> Backend {
        Backend::choose(self.choice, HOSTED_PTX).expect("the back end")
    }
}

/// Every session of a case has guards. As they are written and checked by the host, there are few
/// slots.
pub(crate) fn builder() -> ProfilerBuilder {
    Profiler::builder().guards(true).max_warps(64)
}

#[track_caller]
pub(crate) fn session(backend: &Backend, builder: ProfilerBuilder) -> Session<'_> {
    backend.session(&builder.build().expect("the options")).expect("a session")
}

/// A number for each thread of a launch.
#[track_caller]
pub(crate) fn output(backend: &Backend, shape: Shape) -> Buffer<'_, u32> {
    backend.zeroed::<u32>(shape.threads()).expect("memory")
}

/// Records one launch in a session of its own and checks what the kernel computed.
#[track_caller]
pub(crate) fn record(
    backend: &Backend,
    builder: ProfilerBuilder,
    kernel: &Kernel,
    shape: Shape,
    rounds: Rounds,
) -> Trace {
    let mut output = output(backend, shape);
    let pointer = output.as_mut_ptr();
    let mut session = session(backend, builder);
    kernel.launch(&mut session, shape, pointer, rounds);
    let trace = session.finish().unwrap_or_else(|error| panic!("{}: {error}", kernel.name));
    let computed = output.read().expect("the results");
    for (thread, &done) in (0..).zip(&computed) {
        let expected = rounds.result(thread % shape.threads_of_block() % 32);
        assert_eq!(done, expected, "{}, {rounds:?}: thread {thread} in {shape:?}", kernel.name);
    }
    trace
}

/// Overwrites one guard word of each kind of place, a session each: what every other case relies on to be seen
/// is seen, and where it is. `launch` fills a session's slots, and `write` launches a kernel that writes to
/// where it is told.
#[track_caller]
pub(crate) fn overwrite_guards(
    backend: &Backend,
    launch: impl Fn(&mut Session<'_>),
    write: impl Fn(&mut Session<'_>, *mut u32) -> Result<(), Error>,
) {
    for slots in [Slots::Linear, Slots::Claimed] {
        // As many as there are kinds of words, which the first session tells.
        let (mut index, mut count) = (0, 1);
        while index < count {
            let mut session = session(backend, builder().slots(slots).max_warps(100));
            launch(&mut session);
            let capture = session.capture().expect("intact so far");
            let words = guard_words(&capture.modules[0].descriptor);
            let (address, place) = &words[index];
            write(&mut session, std::ptr::with_exposed_provenance_mut(*address as usize))
                .expect("the launch");
            let error = session.finish().expect_err("a guard was overwritten");
            assert!(matches!(error, Error::GuardsOverwritten { words: 1, .. }), "{error}");
            assert!(error.to_string().contains(place), "{place}: {error}");
            (index, count) = (index + 1, words.len());
        }
        // The buffers of all arrays were among them.
        assert!(count >= 15, "{count}");
    }
}

/// Guard words of a session that keeps what came first: the address of one of each kind, and where the
/// session says that it lies.
fn guard_words(descriptor: &Descriptor) -> Vec<(u64, String)> {
    let Descriptor { records, lanes, headers, lane_counts, claims, lost, .. } = *descriptor;
    let slots = u64::from(descriptor.slot_count);
    let (buffer, limit) = (1_u64 << descriptor.record_shift, u64::from(descriptor.record_limit));
    let header = header::BYTES as u64;
    let last_written = 8 * (header::EXIT_START + header::EXIT_WORDS) as u64;
    let element = |array: &str, byte: u64, index: u64| {
        format!("in {array}, at byte {byte} of element {index}")
    };
    let after = |array: &str| format!("after {array}");
    let mut words = vec![
        (records - 8, "before all arrays".to_owned()),
        (records + limit, element("the buffers of lane 0", limit, 0)),
        (records + 3 * buffer + limit, element("the buffers of lane 0", limit, 3)),
        (records + 4 * buffer - 8, element("the buffers of lane 0", buffer - 8, 3)),
        (records + slots * buffer, after("the buffers of lane 0")),
        (headers + last_written, element("the headers", last_written, 0)),
        (headers + 3 * header - 8, element("the headers", header - 8, 2)),
        (headers + slots * header, after("the headers")),
        (lost + Lost::BYTES as u64, after("the counts of what is lost")),
    ];
    if descriptor.flags & FLAG_LANES != 0 {
        let (buffer, limit) = (1_u64 << descriptor.lane_shift, u64::from(descriptor.lane_limit));
        words.extend([
            (lanes, element("the buffers of the other lanes", 0, 0)),
            (lanes + buffer + limit + 16, element("the buffers of the other lanes", limit + 16, 1)),
            (lanes + slots * buffer, after("the buffers of the other lanes")),
            (lane_counts, element("the counts of the lanes", 0, 0)),
            (lane_counts + 2 * 256, element("the counts of the lanes", 0, 2)),
            (lane_counts + slots * 256, after("the counts of the lanes")),
        ]);
    }
    if descriptor.flags & FLAG_CLAIMED != 0 {
        words.push((claims + 8, element("the counters of claims", 8, 0)));
    }
    words
}
