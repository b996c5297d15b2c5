//! The kernels, one for each way to record.

use profiler_host::{Error, Session, launch};
use profiler_wire::Strategy;
use profiler_wire::header::{Clock, Dim3};
use profiler_wire::site::Buffer;
use test_kernels_programs as kernels;
use test_kernels_programs::Instruction;

/// A kernel that runs programs.
#[derive(Clone, Copy)]
pub struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Who records.
    pub strategy: Strategy,
    /// The clock of its records.
    pub clock: Clock,
    /// Where its records go.
    pub buffer: Buffer,
    launch: unsafe fn(&mut Session<'_>, &Launch) -> Result<(), Error>,
}

/// What a kernel is launched with.
#[derive(Clone, Copy)]
pub(crate) struct Launch {
    pub grid: Dim3,
    pub block: Dim3,
    pub program: *const Instruction,
    pub length: u32,
    pub when: u32,
    pub fuel: u32,
    pub output: *mut u32,
}

impl Kernel {
    /// Launches it.
    ///
    /// # Safety
    ///
    /// What the kernels ask of their arguments.
    pub(crate) unsafe fn launch(
        &self,
        session: &mut Session<'_>,
        launch: &Launch,
    ) -> Result<(), Error> {
        // SAFETY: the caller's.
        unsafe { (self.launch)(session, launch) }
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! kernels {
    ($(#[$doc:meta])* $kernels:ident, $buffer:ident: $($name:ident: $strategy:expr, $clock:ident;)*) => {
        $(#[$doc])*
        pub const $kernels: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            strategy: $strategy,
            clock: Clock::$clock,
            buffer: Buffer::$buffer,
            launch: |session, launch| {
                let &Launch { grid, block, program, length, when, fuel, output } = launch;
                // SAFETY: the caller's.
                unsafe {
                    launch!(
                        session,
                        kernels::$name<<<grid, block>>>(program, length, when, fuel, output)
                    )
                }
            },
        }),*];
    };
}

kernels! {
    /// Those that write to memory of the device.
    KERNELS, Global:
    by_block: Strategy::Block, Cycles;
    by_warp: Strategy::Warp, Cycles;
    by_warp_index: Strategy::WarpIndex(kernels::WARP_INDEX as u8), Cycles;
    by_warp_group: Strategy::WarpGroup, Cycles;
    by_elected: Strategy::Elected, Cycles;
    by_thread: Strategy::Thread, Cycles;
    by_when: Strategy::When, Cycles;
    timed_by_block: Strategy::Block, GlobalTimer;
    timed_by_warp: Strategy::Warp, GlobalTimer;
    timed_by_warp_index: Strategy::WarpIndex(kernels::WARP_INDEX as u8), GlobalTimer;
    timed_by_warp_group: Strategy::WarpGroup, GlobalTimer;
    timed_by_elected: Strategy::Elected, GlobalTimer;
    timed_by_thread: Strategy::Thread, GlobalTimer;
    timed_by_when: Strategy::When, GlobalTimer;
}

kernels! {
    /// Those that write to memory of the host.
    HOSTED, Host:
    hosted_by_block: Strategy::Block, Cycles;
    hosted_by_warp: Strategy::Warp, Cycles;
    hosted_by_warp_index: Strategy::WarpIndex(kernels::WARP_INDEX as u8), Cycles;
    hosted_by_warp_group: Strategy::WarpGroup, Cycles;
    hosted_by_elected: Strategy::Elected, Cycles;
    hosted_by_thread: Strategy::Thread, Cycles;
    hosted_by_when: Strategy::When, Cycles;
    hosted_timed_by_block: Strategy::Block, GlobalTimer;
    hosted_timed_by_warp: Strategy::Warp, GlobalTimer;
    hosted_timed_by_warp_index: Strategy::WarpIndex(kernels::WARP_INDEX as u8), GlobalTimer;
    hosted_timed_by_warp_group: Strategy::WarpGroup, GlobalTimer;
    hosted_timed_by_elected: Strategy::Elected, GlobalTimer;
    hosted_timed_by_thread: Strategy::Thread, GlobalTimer;
    hosted_timed_by_when: Strategy::When, GlobalTimer;
}
