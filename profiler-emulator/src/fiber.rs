//! A GPU thread as something that can be resumed and that suspends itself.

use std::any::Any;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use crate::config::Threads;
use crate::context::{self, ThreadContext};
use crate::overflow;
use crate::race::{self, Hidden, Order};

/// The end of a kernel on one thread, with the payload of its panic, if it panicked.
pub(crate) type Ending = Result<(), Box<dyn Any + Send>>;

/// The kernel of a launch, as its threads call it.
pub(crate) type Kernel<'launch> = &'launch (dyn Fn() + Sync);

/// The way of a running thread back to the scheduler.
pub(crate) enum Suspender {
    /// Through the yielder of its coroutine; null until the coroutine first runs.
    Coroutine(Cell<*const Yielder<(), ()>>),
    /// By handing the baton over.
    Os(Arc<Baton>),
}

impl Suspender {
    pub(crate) fn new(threads: Threads) -> Self {
        match threads {
            Threads::Coroutines if !cfg!(profiler_os_threads) => {
                Self::Coroutine(Cell::new(std::ptr::null()))
            }
            Threads::Coroutines | Threads::Os => Self::Os(Arc::default()),
        }
    }

    /// Suspends the running thread until the scheduler resumes it. Unwinds if the launch is being
    /// abandoned.
    pub(crate) fn suspend(&self) {
        match self {
            Self::Coroutine(yielder) => {
                // SAFETY: `Fiber::start` stores the address of the coroutine's own yielder before
                // it calls the kernel, the yielder lies at the base of the coroutine's stack as
                // long as the kernel runs, and only a running kernel suspends.
                unsafe { &*yielder.get() }.suspend(());
            }
            Self::Os(baton) => baton.suspend(),
        }
    }
}

/// Whose turn it is.
#[derive(Default)]
enum Turn {
    #[default]
    Scheduler,
    Kernel,
    /// The kernel's, to unwind and end.
    Unwind,
    Ended(Ending),
}

/// The right to run, which goes to and fro between the scheduler and one operating-system thread.
///
/// It is handed over under the mutex, so that who has it sees all that the one before did. Each party
/// looks at the turn before it waits and after each wake: no wake is lost, and a false one does
/// nothing.
#[derive(Default)]
pub(crate) struct Baton {
    turn: Mutex<Turn>,
    changed: Condvar,
}

/// Unwinds a thread of a launch that is being abandoned.
struct Abandoned;

impl Baton {
    fn lock(&self) -> MutexGuard<'_, Turn> {
        // Nothing that holds the lock can panic; a poisoned lock would still hold a whole value.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, turn: Turn) {
        *self.lock() = turn;
        self.changed.notify_all();
    }

    /// Waits until it is the kernel's turn; false if it is to unwind.
    fn wait_for_kernel_turn(&self) -> bool {
        let mut turn = self.lock();
        loop {
            match *turn {
                Turn::Kernel => return true,
                Turn::Unwind => return false,
                Turn::Scheduler | Turn::Ended(_) => {
                    turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn suspend(&self) {
        self.set(Turn::Scheduler);
        if !self.wait_for_kernel_turn() {
            resume_unwind(Box::new(Abandoned));
        }
    }

    /// Hands the turn to the kernel and waits to get it back; the ending if the kernel ended.
    fn hand_over(&self, to: Turn) -> Option<Ending> {
        self.set(to);
        let mut turn = self.lock();
        loop {
            match std::mem::take(&mut *turn) {
                Turn::Scheduler => return None,
                Turn::Ended(ending) => return Some(ending),
                other @ (Turn::Kernel | Turn::Unwind) => {
                    *turn = other;
                    turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}

/// A pointer that an operating-system thread may take along.
struct Carried<T>(T);

// SAFETY: what is carried is a kernel (`Sync`, so callable from any thread) and the address of a
// `ThreadContext`. The latter is used by one thread at a time: the baton's mutex orders every use
// by the operating-system thread with every use by the scheduler.
unsafe impl<T> Send for Carried<T> {}

impl<T> Carried<T> {
    /// A method, so that a closure captures the whole and not the field.
    fn take(self) -> T {
        self.0
    }
}

enum Body {
    Coroutine {
        coroutine: Coroutine<(), (), Ending>,
        /// The addresses of its stack, with the guard page.
        stack: Range<usize>,
    },
    Os {
        baton: Arc<Baton>,
        handle: Option<JoinHandle<()>>,
    },
    /// Only while a fiber is dropped or has given its stack back.
    Gone,
}

/// A GPU thread that has begun or will begin to run the kernel.
pub(crate) struct Fiber<'launch> {
    body: Body,
    /// Counted rather than owned outright: the running thread uses it too, by its address.
    context: Rc<ThreadContext>,
    ended: bool,
    kernel: PhantomData<Kernel<'launch>>,
}

impl<'launch> Fiber<'launch> {
    /// A thread that will run `kernel` on `stack` (coroutines) or on a new operating-system thread.
    pub(crate) fn new(
        context: Rc<ThreadContext>,
        kernel: Kernel<'launch>,
        stack_bytes: usize,
        pool: &mut Vec<DefaultStack>,
    ) -> std::io::Result<Self> {
        let address = Rc::as_ptr(&context);
        let body = match &context.suspender {
            Suspender::Coroutine(_) => {
                let stack = match pool.pop() {
                    Some(stack) => stack,
                    None => {
                        overflow::watch();
                        DefaultStack::new(stack_bytes)?
                    }
                };
                let range = stack.limit().get()..stack.base().get();
                let run = move |yielder: &Yielder<(), ()>, ()| {
                    // SAFETY: the context outlives the coroutine (fields of one `Fiber`; `Drop`
                    // unwinds the coroutine first) and does not move, being after an `Rc`.
                    let context = unsafe { &*address };
                    if let Suspender::Coroutine(cell) = &context.suspender {
                        cell.set(yielder);
                    }
                    catch_unwind(AssertUnwindSafe(kernel))
                };
                // SAFETY: `run` borrows the kernel for 'launch, which `Fiber` carries in its type,
                // and the context, see above. `Drop` ends the coroutine before either goes; nothing
                // in this crate forgets a `Fiber`.
                let coroutine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
                Body::Coroutine { coroutine, stack: range }
            }
            Suspender::Os(baton) => {
                let carried = Carried((address, kernel));
                let launch = context.grid_id;
                let baton_there = Arc::clone(baton);
                let run = move || {
                    let hidden = Hidden::new();
                    let (address, kernel) = carried.take();
                    let ending = if baton_there.wait_for_kernel_turn() {
                        context::enter(address);
                        drop(hidden);
                        race::acquire(Order::Begin(launch));
                        let ending = catch_unwind(AssertUnwindSafe(kernel));
                        // It need not be `Send`, so the thread that made it drops it.
                        let stored =
                            context::with("with_thread_storage", |own, _| own.storage.take());
                        let dropped = catch_unwind(AssertUnwindSafe(|| drop(stored)));
                        race::release(Order::End(launch));
                        ending.and(dropped)
                    } else {
                        drop(hidden);
                        Ok(())
                    };
                    let _hidden = Hidden::new();
                    baton_there.set(Turn::Ended(ending));
                };
                let builder = Builder::new().name("gpu-thread".into()).stack_size(stack_bytes);
                // SAFETY: `run` borrows the kernel for 'launch and the context; `Drop` ends the
                // thread and joins it before either goes.
                let handle = unsafe { builder.spawn_unchecked(run) }?;
                Body::Os { baton: Arc::clone(baton), handle: Some(handle) }
            }
        };
        Ok(Self { body, context, ended: false, kernel: PhantomData })
    }

    /// The block of the thread.
    pub(crate) fn block_index(&self) -> [u32; 3] {
        self.context.block_index
    }

    /// Runs the thread until it suspends itself (`None`) or ends.
    pub(crate) fn resume(&mut self) -> Option<Ending> {
        let ending = match &mut self.body {
            Body::Coroutine { coroutine, stack } => {
                let _entered = context::Entered::new(Rc::as_ptr(&self.context));
                let _running = overflow::Running::on(stack);
                match coroutine.resume(()) {
                    CoroutineResult::Yield(()) => None,
                    CoroutineResult::Return(ending) => Some(ending),
                }
            }
            Body::Os { baton, .. } => baton.hand_over(Turn::Kernel),
            Body::Gone => None,
        };
        self.ended |= ending.is_some();
        ending
    }

    /// Gives the stack of a coroutine that has ended back to the pool; a thread of the operating system
    /// is joined.
    pub(crate) fn recycle(mut self, pool: &mut Vec<DefaultStack>) {
        if self.ended
            && matches!(self.body, Body::Coroutine { .. })
            && let Body::Coroutine { coroutine, .. } = std::mem::replace(&mut self.body, Body::Gone)
        {
            pool.push(coroutine.into_stack());
        }
    }
}

impl Drop for Fiber<'_> {
    fn drop(&mut self) {
        if cfg!(panic = "abort") && !self.ended {
            // To unwind is to abort the process there. What the thread holds is never dropped, and its stack
            // never given back: nothing of it runs again.
            match std::mem::replace(&mut self.body, Body::Gone) {
                Body::Coroutine { coroutine, .. } => std::mem::forget(coroutine),
                // It waits for its turn, which never comes. What it has stored need not be `Send`, and
                // stays as well.
                Body::Os { handle, .. } => {
                    drop(handle);
                    std::mem::forget(Rc::clone(&self.context));
                }
                Body::Gone => {}
            }
            return;
        }
        match &mut self.body {
            Body::Coroutine { coroutine, stack } => {
                let _running = overflow::Running::on(stack);
                // What the thread holds is dropped on its own stack, and may call the kernel API.
                let _entered = context::Entered::new(Rc::as_ptr(&self.context));
                coroutine.force_unwind();
            }
            Body::Os { baton, handle } => {
                if !self.ended {
                    // The ending is the abandonment itself, and no news. A kernel
                    // that catches it and suspends again is made to unwind again.
                    while baton.hand_over(Turn::Unwind).is_none() {}
                }
                if let Some(handle) = handle.take() {
                    // The thread catches what the kernel throws; there is no result to look at.
                    drop(handle.join());
                }
            }
            Body::Gone => {}
        }
    }
}
