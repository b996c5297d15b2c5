//! A kernel that goes beyond a buffer on the emulator ends the process, with a message that names both.
#![cfg(target_os = "linux")]

use std::process::Command;

use profiler_host::{Backend, BackendChoice, Profiler, launch};

const TEST: &str = "beyond::a_kernel_that_goes_beyond_a_buffer_is_named";
/// Set in a process that is to end: to what launches the kernel there.
const LAUNCHER: &str = "PROFILER_HOST_TEST_GOES_BEYOND_BY";

mod kernels {
    /// Sets a number in each thread, of which there are more than numbers.
    pub(crate) unsafe fn fill(numbers: *mut u32) {
        let [thread, ..] = profiler_emulator::thread_index();
        // SAFETY: none beyond the buffer: the process ends there, which is what is tested.
        unsafe { numbers.add(thread as usize).write_volatile(7) };
    }
}

fn goes_beyond(launcher: &str) {
    let backend = Backend::choose(BackendChoice::Emulator, None).expect("the emulator");
    let mut numbers = backend.upload(&[0_u32; 5]).expect("memory");
    let ended = if launcher == "session" {
        let profiler = Profiler::builder().build().expect("options");
        let mut session = backend.session(&profiler).expect("a session");
        // SAFETY: none, as above.
        unsafe { launch!(session, kernels::fill<<<1, 64>>>(numbers.as_mut_ptr())) }
    } else {
        // SAFETY: none, as above.
        unsafe { launch!(backend, kernels::fill<<<1, 64>>>(numbers.as_mut_ptr())) }
    };
    panic!("the process ends before: {ended:?}");
}

#[test]
fn a_kernel_that_goes_beyond_a_buffer_is_named() {
    if let Ok(launcher) = std::env::var(LAUNCHER) {
        return goes_beyond(&launcher);
    }
    for launcher in ["backend", "session"] {
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args([TEST, "--exact", "--nocapture"])
            .env(LAUNCHER, launcher)
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        for said in [
            "thread [5, 0, 0] of block [0, 0, 0] of kernel `fill`",
            "element 5 of a buffer of 5 u32",
            "host/beyond.rs:",
        ] {
            assert!(stderr.contains(said), "{launcher}: {said}: {stderr}");
        }
    }
}
