//! Modules of a program's own on a GPU: kernels with `buffer = host`, twice, and without.

use cust::context::Context;
use cust::launch;
use cust::memory::{DeviceBuffer, DevicePointer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use profiler_host::trace::Warp;
use profiler_host::{BackendChoice, Error, Profiler, ProfilerBuilder, Session, Trace};
use test_kernels::watched as kernels;

use super::watching::Flag;

const WATCHED: Option<&str> = profiler_host::include_ptx!("watched");
const STRATEGIES: Option<&str> = profiler_host::include_ptx!("strategies");

pub(crate) const BLOCKS: u32 = 2;
/// Threads of a block.
pub(crate) const THREADS: u32 = 96;
/// Warps of a launch.
pub(crate) const WARPS: u32 = BLOCKS * THREADS / 32;
const ROUNDS: u32 = 3;

/// A GPU, and what a program has on it.
pub(crate) struct Gpu {
    /// Modules whose kernels have `buffer = host`.
    pub(crate) watched: [Module; 2],
    /// A module whose records go to device memory.
    pub(crate) other: Module,
    pub(crate) stream: Stream,
    output: DeviceBuffer<u32>,
    _context: Context,
}

impl Gpu {
    /// Every kernel has run once: it is loaded then, which is not allowed while a stream captures.
    pub(crate) fn new() -> Self {
        let context = cust::quick_init().expect("a GPU");
        let load = |ptx: &str| Module::from_ptx(ptx, &[]).expect("the module loads");
        let gpu = Self {
            watched: [(); 2].map(|()| load(WATCHED.expect("compiled"))),
            other: load(ptx()),
            stream: new_stream(),
            output: DeviceBuffer::from_slice(&[0; (BLOCKS * THREADS) as usize]).expect("memory"),
            _context: context,
        };
        let raised = Flag::new(BackendChoice::Gpu);
        raised.raise();
        for module in &gpu.watched {
            gpu.steps(module, &gpu.stream);
            gpu.waits(module, &gpu.stream, &raised);
            gpu.gives_up(module, &gpu.stream, &raised);
        }
        gpu.by_warp(&gpu.stream);
        gpu.stream.synchronize().expect("the kernels ran");
        gpu
    }

    /// A session of all modules. It cannot be watched before one that can be is among them.
    pub(crate) fn attach(&self, builder: ProfilerBuilder) -> Session<'_> {
        let profiler = builder.build().expect("the options");
        let [first, second] = &self.watched;
        let mut session = profiler.attach(&self.other, ptx()).expect("a session");
        assert!(matches!(session.watch(), Err(Error::NotWatchable)));
        for module in [first, second] {
            session.attach_also(module, WATCHED.expect("compiled")).expect("attached");
        }
        session
    }

    /// Ends at once.
    pub(crate) fn steps(&self, module: &Module, stream: &Stream) {
        let output = self.output.as_device_ptr();
        // SAFETY: one number a thread.
        unsafe { launch!(module.steps<<<BLOCKS, THREADS, 0, stream>>>(output, ROUNDS)) }
            .expect("the launch");
    }

    /// Ends at once; its module's records go to device memory.
    pub(crate) fn by_warp(&self, stream: &Stream) {
        let (module, output) = (&self.other, self.output.as_device_ptr());
        // SAFETY: one number a thread.
        unsafe { launch!(module.by_warp<<<BLOCKS, THREADS, 0, stream>>>(output, ROUNDS)) }
            .expect("the launch");
    }

    /// Waits for the flag in a region.
    pub(crate) fn waits(&self, module: &Module, stream: &Stream, flag: &Flag) {
        // SAFETY: the caller's flag lives until the kernel has ended.
        unsafe { launch!(module.waits<<<BLOCKS, THREADS, 0, stream>>>(address(flag))) }
            .expect("the launch");
    }

    /// Fails where the flag is not raised within 0.1 ms.
    pub(crate) fn gives_up(&self, module: &Module, stream: &Stream, flag: &Flag) {
        // SAFETY: the caller's flag lives until the kernel has ended.
        unsafe {
            launch!(module.gives_up<<<BLOCKS, THREADS, 0, stream>>>(address(flag), 100_000_u32))
        }
        .expect("the launch");
    }
}

/// Page-locked memory has one address for host and GPU.
fn address(flag: &Flag) -> DevicePointer<u32> {
    DevicePointer::from_raw(flag.as_ptr().expose_provenance() as u64)
}

/// The PTX of [`Gpu::other`].
pub(crate) fn ptx() -> &'static str {
    STRATEGIES.expect("compiled")
}

pub(crate) fn new_stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream")
}

pub(crate) fn builder() -> ProfilerBuilder {
    Profiler::builder()
}

/// How far a warp, or all warps of a launch, are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// In a region.
    Within,
    /// They have left, after as many records as the kernel emits, all of which are there.
    Left,
    /// Neither, or not all warps are there.
    Other,
}

fn state(warp: &Warp, records: u32) -> State {
    let is_open = warp.regions.iter().any(|region| region.end.is_none());
    match (warp.exit, is_open, warp.recorded, warp.lost) {
        (None, true, ..) => State::Within,
        (Some(_), false, recorded, 0) if recorded == u64::from(records) => State::Left,
        _ => State::Other,
    }
}

/// Each launch's kernel, replay and state, sorted.
pub(crate) fn launches(trace: &Trace) -> Vec<(&str, u32, State)> {
    let mut launches: Vec<_> = (trace.launches.iter())
        .map(|launch| {
            let name = trace.site(launch.kernel).name.as_str();
            let records = match name {
                "steps" => ROUNDS * kernels::RECORDS_OF_A_ROUND,
                "by_warp" => ROUNDS,
                "waits" => 7,
                _ => 2,
            };
            let warps = &trace.warps[launch.warps.clone()];
            let first = state(&warps[0], records);
            let are_alike = warps.len() as u32 == WARPS
                && warps.iter().all(|warp| state(warp, records) == first);
            (name, launch.replay, if are_alike { first } else { State::Other })
        })
        .collect();
    launches.sort_unstable();
    launches
}
