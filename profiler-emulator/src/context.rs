//! Which GPU thread the code now running belongs to.

use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell};
use std::fmt;

use crate::fiber::Suspender;
use crate::race::Hidden;
use crate::scheduler::Launch;

/// The context of a GPU thread.
pub(crate) struct ThreadContext {
    pub(crate) launch: *const Launch,
    /// The launch's number, which needs no look at it.
    pub(crate) grid_id: u64,
    /// The place of its block among the resident ones.
    pub(crate) slot: usize,
    /// Its linear index in the block.
    pub(crate) thread: usize,
    pub(crate) thread_index: [u32; 3],
    pub(crate) block_index: [u32; 3],
    pub(crate) sm: u32,
    pub(crate) suspender: Suspender,
    /// The number of the kernel's site; 0 before it was executed.
    pub(crate) kernel: Cell<u32>,
    pub(crate) storage: RefCell<Vec<(TypeId, Box<dyn Any>)>>,
}

thread_local! {
    static CURRENT: Cell<*const ThreadContext> = const { Cell::new(std::ptr::null()) };
}

/// Makes `context` the current one of this operating-system thread for good.
pub(crate) fn enter(context: *const ThreadContext) {
    CURRENT.set(context);
}

/// While it lives, a context is the current one.
pub(crate) struct Entered {
    before: *const ThreadContext,
}

impl Entered {
    pub(crate) fn new(context: *const ThreadContext) -> Self {
        Self { before: CURRENT.replace(context) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}

/// Whether the calling code belongs to a GPU thread.
pub(crate) fn is_inside() -> bool {
    !CURRENT.get().is_null()
}

/// A thread of a kernel, as messages name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunningThread {
    pub(crate) kernel: &'static str,
    pub(crate) block: [u32; 3],
    pub(crate) thread: [u32; 3],
}

impl fmt::Display for RunningThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, block, thread } = self;
        write!(f, "thread {thread:?} of block {block:?} of kernel `{kernel}`")
    }
}

/// The thread that the calling code belongs to. A signal handler may ask.
#[cfg(target_os = "linux")]
pub(crate) fn running() -> Option<RunningThread> {
    // SAFETY: as in `with`: the thread that runs is alive, and so are its context and its launch, of which only what
    // never changes is read.
    unsafe {
        let context = CURRENT.get().as_ref()?;
        let kernel = (*context.launch).kernel;
        Some(RunningThread { kernel, block: context.block_index, thread: context.thread_index })
    }
}

/// The calling GPU thread's context and launch.
///
/// # Panics
///
/// If the caller is not a GPU thread; `what` is the function that it called.
pub(crate) fn with<R>(what: &str, use_it: impl FnOnce(&ThreadContext, &Launch) -> R) -> R {
    let current = CURRENT.get();
    assert!(
        !current.is_null(),
        "profiler_emulator::{what} was called outside a kernel; run the kernel with \
         profiler_emulator::launch(&LaunchConfig::new(grid, block), || kernel(..))"
    );
    let _hidden = Hidden::new();
    // SAFETY: a pointer that is not null was set by `Entered` or `enter` for the GPU thread that now
    // runs, whose `Fiber` owns the context and is alive while the thread runs.
    let context = unsafe { &*current };
    // SAFETY: the launch outlives its fibers (`scheduler::run` makes it first and drops it last).
    // Another operating-system thread may own it, but waits for the baton while this one runs.
    let launch = unsafe { &*context.launch };
    use_it(context, launch)
}
