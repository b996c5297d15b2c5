//! Whether standard output was closed when the program began, as by `>&-` of a shell.
//!
//! Rust's runtime puts `/dev/null` in its place before `main`, where all that is written would be lost
//! without an error. So it is looked at earlier.

use std::sync::atomic::{AtomicBool, Ordering};

/// Relaxed: set before there is another thread.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether there is no standard output.
pub(crate) fn is_stdout_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "nothing safe runs before the runtime begins")]
mod at_start {
    use super::{Ordering, WAS_CLOSED};

    // SAFETY: the section is the list of functions that the C library calls one by one before `main`, with
    // arguments that a C function may ignore. This one needs nothing of Rust's runtime.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: asks for flags of a descriptor, which may be closed, and changes nothing.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
    }
}
