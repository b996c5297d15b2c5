//! Explains the fault of a kernel's thread that overflows its stack, or accesses memory that is not there.
//! Without this, the process ends by a bare signal.

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

    const OVERFLOW: &str = "\nerror: a thread of a kernel overflowed its stack in the emulator. Optimised code takes \
                            less stack (cargo run --release). For a larger one, use \
                            Backend::emulator(Emulator::default(), LaunchConfig { stack_bytes: 8 << 20, \
                            ..LaunchConfig::new([1; 3], [1; 3]) }) in place of Backend::choose.\n";

    const FAULT: &str = "\nerror: a thread of a kernel accessed memory that is not there, in the emulator; on a GPU \
                         that is an illegal address. Compare the kernel's indices with the lengths of its \
                         buffers.\n";

    thread_local! {
        /// The stack of the running thread of a kernel: its lowest address, and its end.
        static STACK: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    }

    /// While it lives, a thread of a kernel runs on a stack.
    pub(crate) struct Running {
        before: (usize, usize),
    }

    impl Running {
        /// On this stack, with its guard page.
        pub(crate) fn on(stack: &Range<usize>) -> Self {
            Self { before: STACK.replace((stack.start, stack.end)) }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            STACK.set(self.before);
        }
    }

    /// The action that was in place before.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Installs the handler, once. It needs the signal stack that std gives to its threads: on other threads
    /// an overflow stays unexplained.
    pub(crate) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: an action is integers, a set of bits and an optional function: zeros are one.
            let (mut ours, mut before): (libc::sigaction, libc::sigaction) =
                unsafe { (zeroed(), zeroed()) };
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = explain;
            ours.sa_sigaction = handler as usize;
            // On the signal stack: the stack that overflowed is full.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: both are valid, and the handler calls only functions that a handler may call.
            unsafe {
                if libc::sigaction(libc::SIGSEGV, null(), &raw mut before) == 0 {
                    BEFORE.get_or_init(|| before);
                    libc::sigaction(libc::SIGSEGV, &raw const ours, null_mut());
                }
            }
        });
    }

    extern "C" fn explain(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: with `SA_SIGINFO`, the system passes the address of the fault.
        let address = unsafe { (*info).si_addr() } as usize;
        let (lowest, end) = STACK.get();
        if end != 0 {
            // All of a stack but its guard page can be accessed.
            let text = if (lowest..end).contains(&address) { OVERFLOW } else { FAULT };
            // SAFETY: a handler may call it, and the text is whole.
            unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
        }
        // The instruction faults again, and then the action of before deals with it.
        if let Some(before) = BEFORE.get() {
            // SAFETY: a handler may call it, and the action was in place before.
            unsafe { libc::sigaction(signal, before, null_mut()) };
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
