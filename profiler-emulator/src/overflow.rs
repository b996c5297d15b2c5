//! Says of a thread of a kernel that overflows its stack, or reaches for memory that is not there, what
//! happened and what helps: without it the process ends by a bare signal.

/// What is said on standard error of an overflow, before the process is aborted.
#[cfg(target_os = "linux")]
const SAID: &str = "\nerror: a thread of a kernel overflowed its stack in the emulator. Optimised code takes \
                    less of it (cargo run --release). More of it has a thread with \
                    Backend::emulator(Emulator::default(), LaunchConfig { stack_bytes: 8 << 20, \
                    ..LaunchConfig::new([1; 3], [1; 3]) }) in place of Backend::choose.\n";

/// What is said of another fault, before the process ends as it does without a word.
#[cfg(target_os = "linux")]
const SAID_OF_FAULT: &str = "\nerror: a thread of a kernel reached for memory that is not there, in the emulator; on a \
                             GPU that is an illegal address. Compare the kernel's indices with the lengths \
                             of its buffers.\n";

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{Running, watch};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Running, watch};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::mem::{MaybeUninit, transmute, zeroed};
    use std::ops::Range;
    use std::ptr::{null, null_mut};
    use std::sync::{Once, OnceLock};

    thread_local! {
        /// Lowest address, and the one after the highest, of the stack of the running thread of a kernel.
        static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    thread_local! {
        /// A stack for the handler, where this thread of the system has none: std gives one to those that it
        /// begins, and other libraries often none to theirs.
        static SIGNAL_STACK: Option<SignalStack> = SignalStack::where_there_is_none();
    }

    /// A signal stack of this thread, until the thread ends.
    struct SignalStack {
        // It is the handler's as long as it is set.
        _bytes: Box<[MaybeUninit<u8>]>,
    }

    impl SignalStack {
        fn where_there_is_none() -> Option<Self> {
            // SAFETY: integers and a pointer: zeros are one.
            let mut now: libc::stack_t = unsafe { zeroed() };
            // SAFETY: it asks, and sets nothing.
            let is_known = unsafe { libc::sigaltstack(null(), &raw mut now) } == 0;
            if !is_known || now.ss_flags & libc::SS_DISABLE == 0 {
                return None;
            }
            let mut bytes = Box::new_uninit_slice(libc::SIGSTKSZ.max(1 << 16));
            let ours = libc::stack_t {
                ss_sp: bytes.as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: bytes.len(),
            };
            // SAFETY: the memory is there until `drop` has taken it back.
            unsafe { libc::sigaltstack(&raw const ours, null_mut()) };
            Some(Self { _bytes: bytes })
        }
    }

    impl Drop for SignalStack {
        fn drop(&mut self) {
            let none = libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
            // SAFETY: this thread has no signal stack from here on, as before.
            unsafe { libc::sigaltstack(&raw const none, null_mut()) };
        }
    }

    /// While it lives, a thread of a kernel runs on a stack.
    pub(crate) struct Running {
        before: (usize, usize),
    }

    impl Running {
        /// On this stack, its guard page included.
        pub(crate) fn on(stack: &Range<usize>) -> Self {
            SIGNAL_STACK.with(|_there_is_one| ());
            Self { before: STACK.replace((stack.start, stack.end)) }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            STACK.set(self.before);
        }
    }

    /// A handler that is told what the kernel knows of the signal.
    type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

    /// What was done with the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Sees to it that overflows are explained from now on.
    pub(crate) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: an action is integers, a set of bits and an optional function: zeros are one.
            let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
                unsafe { (zeroed(), zeroed()) };
            ours.sa_sigaction = explain as Handler as usize;
            // On the thread's signal stack: the stack that overflowed has no buffer.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: both are valid, and the handler calls nothing that a handler may not.
            unsafe {
                if libc::sigaction(libc::SIGSEGV, null(), &raw mut before) == 0 {
                    BEFORE.get_or_init(|| before);
                    libc::sigaction(libc::SIGSEGV, &raw const ours, null_mut());
                }
            }
        });
    }

    extern "C" fn explain(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: a handler with `SA_SIGINFO` is given what the kernel says of the signal.
        let address = unsafe { (*info).si_addr() } as usize;
        let (lowest, end) = STACK.get();
        let say = |said: &str| {
            // SAFETY: a handler may call it, and the text is whole.
            unsafe { libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len()) };
        };
        // All of a stack but its guard page can be read and written.
        if (lowest..end).contains(&address) {
            say(super::SAID);
            // SAFETY: a handler may call it.
            unsafe { libc::abort() };
        }
        if end != 0 {
            say(super::SAID_OF_FAULT);
        }
        // It is dealt with as it was before, now or when the instruction faults again.
        let Some(before) = BEFORE.get() else { return };
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // SAFETY: a handler may call it, and the action is the one that was in place.
                unsafe { libc::sigaction(signal, before, null_mut()) };
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                // SAFETY: by the flag it is the address of a function of three arguments, and these are
                // what the kernel gave.
                unsafe { transmute::<usize, Handler>(handler)(signal, info, context) };
            }
            handler => {
                // SAFETY: without the flag it is that of a function of one argument.
                unsafe { transmute::<usize, extern "C" fn(c_int)>(handler)(signal) };
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::ops::Range;

    pub(crate) struct Running;

    impl Running {
        pub(crate) fn on(_stack: &Range<usize>) -> Self {
            Self
        }
    }

    pub(crate) fn watch() {}
}
