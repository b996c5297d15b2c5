//! Explains the fault of a kernel's thread that overflows its stack, accesses a buffer beyond its ends, or memory
//! that is not there. Without this, the process ends by a bare signal.

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{Running, watch};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Running, watch};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::fmt::{self, Write};
    use std::mem::zeroed;
    use std::ops::Range;
    use std::ptr::{null, null_mut};
    use std::sync::{Mutex, Once, OnceLock};

    use crate::context;
    use crate::memory::{self, Description};

    const OVERFLOW: &str = "overflowed its stack in the emulator. Optimised code takes less stack (cargo run \
                            --release). For a larger one, use Backend::emulator(Emulator::default(), \
                            LaunchConfig { stack_bytes: 8 << 20, ..LaunchConfig::new([1; 3], [1; 3]) }) in place of \
                            Backend::choose.";

    const FAULT: &str = "accessed memory that is not there, in the emulator; on a GPU that is an illegal address. \
                         Compare the kernel's indices with the lengths of its buffers. If it reads whole vectors, \
                         align the buffers (Backend::with_buffer_alignment).";

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
        // All of a stack but its guard page can be accessed.
        if (lowest..end).contains(&address) {
            say(format_args!("{OVERFLOW}"));
        } else if let Some(buffer) = memory::guard_at(address) {
            say(format_args!("{}", Beyond { buffer, address }));
        } else if end != 0 {
            say(format_args!("{FAULT}"));
        }
        // The instruction faults again, and then the action of before deals with it.
        if let Some(before) = BEFORE.get() {
            // SAFETY: a handler may call it, and the action was in place before.
            unsafe { libc::sigaction(signal, before, null_mut()) };
        }
    }

    /// An access beyond the ends of a buffer.
    struct Beyond {
        buffer: Description,
        address: usize,
    }

    impl fmt::Display for Beyond {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let Description { start, length, element, element_bytes, made_at } = self.buffer;
            // Both are addresses of memory, far below 2^63.
            let index = (self.address as i64 - start as i64).div_euclid(element_bytes as i64);
            write!(f, "accessed element {index} of a buffer of {length} {element}, which is ")?;
            let length = length as i64;
            match index {
                ..0 => write!(f, "{} before its first one", -index)?,
                _ if index == length => f.write_str("the first one after its end")?,
                _ => write!(f, "{} after its end", index - length)?,
            }
            write!(
                f,
                " (the buffer is of {made_at}). Give the kernel the buffer's length and compare the index with it \
                 before the access, or make the buffer as long as the launch needs."
            )
        }
    }

    /// The text of a message: the stacks of signals are too small for it.
    struct Text {
        bytes: [u8; 2048],
        length: usize,
    }

    impl Write for Text {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = &mut self.bytes[self.length..];
            let count = text.len().min(room.len());
            room[..count].copy_from_slice(&text.as_bytes()[..count]);
            self.length += count;
            Ok(())
        }
    }

    /// Writes to standard error what the running thread did. Allocates nothing, as the fault may have come in an
    /// allocation.
    fn say(what: fmt::Arguments<'_>) {
        static TEXT: Mutex<Text> = Mutex::new(Text { bytes: [0; 2048], length: 0 });
        // Another thread that holds it ends the process as well.
        let Ok(mut text) = TEXT.try_lock() else { return };
        text.length = 0;
        // Writing into the text cannot fail.
        let _ = match context::running() {
            Some(thread) => writeln!(text, "\nerror: {thread} {what}"),
            None => writeln!(text, "\nerror: the host {what}"),
        };
        let said = &text.bytes[..text.length];
        // SAFETY: a handler may call it, and so many bytes are there.
        unsafe { libc::write(libc::STDERR_FILENO, said.as_ptr().cast(), said.len()) };
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
