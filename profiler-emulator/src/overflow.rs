//! Says of a thread that overflows its stack what happened and what helps: without it the process ends by a
//! bare signal.

/// What is said on standard error before the process is aborted.
#[cfg(target_os = "linux")]
const SAID: &str = "\nerror: a thread of a kernel overflowed its stack in the emulator. Optimised code takes \
                    less of it (cargo run --release); a thread has as many bytes as \
                    `LaunchConfig::stack_bytes` says, of which `Backend::emulator` takes others.\n";

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{Running, watch};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Running, watch};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::mem::zeroed;
    use std::ops::Range;
    use std::ptr::{null, null_mut};
    use std::sync::{Once, OnceLock};

    thread_local! {
        /// Lowest address, and the one behind the highest, of the stack of the running thread of a kernel.
        static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    /// While it lives, a thread of a kernel runs on a stack.
    pub(crate) struct Running {
        before: (usize, usize),
    }

    impl Running {
        /// On this stack, its guard page included.
        pub(crate) fn on(stack: &Range<usize>) -> Self {
            Self { before: STACK.replace((stack.start, stack.end)) }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            STACK.set(self.before);
        }
    }

    /// What was done with the signal before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Sees to it that overflows are explained from now on.
    pub(crate) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: an action is integers, a set of bits and an optional function: zeros are one.
            let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
                unsafe { (zeroed(), zeroed()) };
            ours.sa_sigaction =
                explain as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
            // On the signal stack that std gives each of its threads: the one that overflowed has no room.
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

    extern "C" fn explain(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: a handler with `SA_SIGINFO` is given what the kernel says of the signal.
        let address = unsafe { (*info).si_addr() } as usize;
        let (lowest, end) = STACK.get();
        // All of a stack but its guard page can be read and written.
        if (lowest..end).contains(&address) {
            let said = super::SAID.as_bytes();
            // SAFETY: a handler may call both, and the text is whole.
            unsafe {
                libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len());
                libc::abort();
            }
        }
        // None of ours: when the instruction faults again, it is dealt with as it was before.
        let before = BEFORE.get().map_or(null(), std::ptr::from_ref);
        // SAFETY: a handler may call it; the action is the one that was in place, or none is set.
        unsafe { libc::sigaction(signal, before, null_mut()) };
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
