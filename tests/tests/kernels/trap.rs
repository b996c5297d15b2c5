//! A kernel that traps takes the whole process's context with it, hence a test program of its own.

use crate::support::back_ends;

use back_ends::on_both_back_ends;
use profiler_emulator::{Emulator, LaunchConfig};
use profiler_host::{Backend, BackendChoice, launch};
use test_kernels::intrinsics as kernels;

const PTX: Option<&str> = profiler_host::include_ptx!("intrinsics");

on_both_back_ends! {
    a_wait_in_vain_ends_the_kernel
}

fn a_wait_in_vain_ends_the_kernel(choice: BackendChoice) {
    let backend = match choice {
        BackendChoice::Emulator => {
            // The emulator sees that nobody gets on.
            let template = LaunchConfig { yield_limit: 1000, ..LaunchConfig::new([1; 3], [1; 3]) };
            Backend::emulator(Emulator::new(1), template)
        }
        choice => Backend::choose(choice, PTX).expect("the back end"),
    };
    let mut output = backend.zeroed::<u32>(1).expect("memory");
    // SAFETY: room for one number.
    let launched =
        unsafe { launch!(backend, kernels::waits_in_vain<<<1, 1>>>(output.as_mut_ptr())) };
    if choice == BackendChoice::Emulator {
        let error = launched.expect_err("it waits for nothing");
        assert!(error.to_string().contains("livelock"), "{error}");
        // After the wait it would write.
        assert_eq!(output.read().expect("memory of the host outlives its kernels"), [0]);
    } else {
        // A launch that the driver takes does not wait for its kernel.
        launched.expect("the launch");
        let error = backend.synchronize().expect_err("it waits for nothing");
        // What the driver says of `trap` (CUDA's errors 715 and 719).
        let text = error.to_string();
        let is_trap = text.contains("CUDA_ERROR_LAUNCH_FAILED")
            || text.contains("CUDA_ERROR_ILLEGAL_INSTRUCTION");
        assert!(is_trap, "{text}");
    }
}
