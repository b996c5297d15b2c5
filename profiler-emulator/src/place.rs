//! The place in the source at which a thread runs that cannot be asked.

#[cfg(target_os = "linux")]
pub(crate) use on_linux::{Carrier, carrier, of};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Carrier, carrier, of};

#[cfg(target_os = "linux")]
mod on_linux {
    use std::backtrace::Backtrace;
    use std::ffi::c_int;
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    /// A thread of the operating system.
    pub(crate) type Carrier = libc::pthread_t;

    /// The signal that asks: programs ignore it unless they handle it.
    const ASKS: c_int = libc::SIGURG;
    /// The answer takes so long if the program is large; a thread that was interrupted in an allocation never gives it.
    const PATIENCE: Duration = Duration::from_secs(5);
    /// Some instructions are none that a stack can be followed from; a thread that spins is soon at another one.
    const TRIES: usize = 16;
    /// A signal that comes at once finds the thread at the same instruction.
    const PAUSE: Duration = Duration::from_millis(5);

    /// Where the answer goes.
    static ASKED: Mutex<Option<SyncSender<String>>> = Mutex::new(None);

    /// The calling thread.
    pub(crate) fn carrier() -> Carrier {
        // SAFETY: it has no requirements.
        unsafe { libc::pthread_self() }
    }

    /// The place at which a thread runs: the innermost that is neither of the standard library nor of the emulator,
    /// or all of its stack if there is no such place, as in a program without line numbers. For a process that is
    /// about to end.
    ///
    /// # Safety
    ///
    /// The thread must not have ended.
    pub(crate) unsafe fn of(carrier: Carrier) -> Option<String> {
        // SAFETY: an action is integers, a set of bits and an optional function: zeros are one.
        let (mut action, mut before): (libc::sigaction, libc::sigaction) =
            unsafe { (zeroed(), zeroed()) };
        let handler: extern "C" fn(c_int) = says_where_it_is;
        action.sa_sigaction = handler as usize;
        // On the kernel's stack, without `SA_ONSTACK`: that of signals is too small.
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: both are valid.
        if unsafe { libc::sigaction(ASKS, &raw const action, &raw mut before) } != 0 {
            return None;
        }
        let (mut whole, mut place) = (None, None);
        for _ in 0..TRIES {
            std::thread::sleep(PAUSE);
            // SAFETY: the handler is in place, and the caller vouches for the thread.
            let Some(trace) = (unsafe { ask(carrier) }) else { break };
            place = place_in(&trace);
            whole = Some(trace);
            if place.is_some() {
                break;
            }
        }
        // SAFETY: the action was in place before.
        unsafe { libc::sigaction(ASKS, &raw const before, null_mut()) };
        place.or(whole)
    }

    /// The functions on the thread's stack.
    ///
    /// # Safety
    ///
    /// As for [`of`], and the handler of the signal must be in place.
    unsafe fn ask(carrier: Carrier) -> Option<String> {
        let (give, answer) = sync_channel(1);
        *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(give);
        // SAFETY: the caller vouches for the thread. The handler calls what a handler may not: it may wait for ever
        // for a lock that its thread holds, which `PATIENCE` bounds, and upset the allocator of a thread that was
        // interrupted in an allocation; neither goes on, as the process ends.
        let asked = unsafe { libc::pthread_kill(carrier, ASKS) } == 0;
        asked.then(|| answer.recv_timeout(PATIENCE).ok()).flatten()
    }

    extern "C" fn says_where_it_is(_: c_int) {
        let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(asked) = asked {
            // Nobody listens any more if it took too long.
            let _ = asked.try_send(Backtrace::force_capture().to_string());
        }
    }

    /// The beginnings of the names of functions that are none of a kernel's.
    const OTHER_NAMES: [&str; 6] = [
        "std::",
        "core::",
        "alloc::",
        "profiler_emulator::",
        "profiler_kernel::",
        "says_where_it_is",
    ];
    /// Parts of the paths of such functions, whose names are cut short where they are inlined.
    const OTHER_PATHS: [&str; 8] = [
        "/rustc/",
        "/library/core/src/",
        "/library/std/src/",
        "/library/alloc/src/",
        "profiler-emulator/src/",
        "profiler-kernel/src/",
        concat!("/profiler-emulator-", env!("CARGO_PKG_VERSION"), "/src/"),
        concat!("/profiler-kernel-", env!("CARGO_PKG_VERSION"), "/src/"),
    ];

    /// Finds the place in a text with two lines for each function, from the innermost on: a number with its
    /// name, and `at` with its place.
    fn place_in(trace: &str) -> Option<String> {
        let mut lines = trace.lines().map(str::trim).peekable();
        while let Some(line) = lines.next() {
            let Some((_, name)) = line.split_once(": ") else { continue };
            let Some(place) = lines.peek().and_then(|next| next.strip_prefix("at ")) else {
                continue;
            };
            let name = name.trim_start_matches(['<', '&']);
            let is_other = OTHER_NAMES.iter().any(|begin| name.starts_with(begin))
                || OTHER_PATHS.iter().any(|part| place.contains(part))
                // Of the C library, which says where its signals return.
                || place.contains("/sysdeps/");
            if !is_other {
                return Some(place.to_owned());
            }
        }
        None
    }

    #[cfg(test)]
    mod tests {
        use super::place_in;

        #[test]
        fn the_innermost_place_of_the_kernel_is_found() {
            let trace = "   0: profiler_emulator::place::on_linux::says_where_it_is\n\
                         \x20            at /p/src/place.rs:71:41\n\
                         \x20  1: <unknown>\n\
                         \x20  2: core::sync::atomic::atomic_load\n\
                         \x20            at /rustc/library/core/src/sync/atomic.rs:3904:24\n\
                         \x20  3: <core::sync::atomic::AtomicU32>::load\n\
                         \x20            at /rustc/library/core/src/sync/atomic.rs:2500:18\n\
                         \x20  4: load\n\
                         \x20            at /p/profiler-kernel/src/atomic.rs:30:5\n\
                         \x20  5: kernels::waits\n\
                         \x20            at /k/src/lib.rs:12:21\n\
                         \x20  6: host::main::{{closure}}\n\
                         \x20            at /h/src/main.rs:7:9\n";
            assert_eq!(place_in(trace).as_deref(), Some("/k/src/lib.rs:12:21"));
            assert_eq!(place_in("   0: kernels::waits\n   1: <unknown>\n"), None);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    pub(crate) type Carrier = ();

    pub(crate) fn carrier() -> Carrier {}

    /// Not known here.
    ///
    /// # Safety
    ///
    /// None is needed here.
    pub(crate) unsafe fn of((): Carrier) -> Option<String> {
        None
    }
}
