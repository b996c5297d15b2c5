//! The kernels, one for each way to record.

use profiler_host::{Error, Session, launch};
use profiler_wire::Strategy;
use profiler_wire::header::{Clock, Dim3};
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
    ($($name:ident: $strategy:expr, $clock:ident;)*) => {
        /// All of them.
        pub const KERNELS: &[Kernel] = &[$(Kernel {
            name: stringify!($name),
            strategy: $strategy,
            clock: Clock::$clock,
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
