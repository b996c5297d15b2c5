//! Where a case runs, and what cases share.

use std::time::Duration;

use profiler_host::{Backend, BackendChoice, Buffer, Profiler, ProfilerBuilder, Session, Trace};

use crate::kernels::{Kernel, Rounds, Shape};

/// The PTX of the kernels.
pub(crate) const PTX: Option<&str> = profiler_host::include_ptx!("abuse");
/// That of kernels with `buffer = host`, which are a module of their own: all rooms of a module that has one
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
    assert!(
        computed.iter().all(|&done| done == rounds.rounds),
        "{} in {shape:?}: {computed:?}",
        kernel.name
    );
    trace
}
