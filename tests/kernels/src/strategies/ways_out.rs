//! Regions that are left by every way out of a block, by each strategy of which a whole warp has one
//! way.

use profiler_device::{Recorder, profile_mark, profile_region, profiled, recorder};
use profiler_kernel::thread;

/// A device function that is left by `?` where there is no number.
#[profiled]
fn leaves_by_question_mark(prof: Recorder<'_>, number: Option<u32>) -> Option<u32> {
    profile_region!("in the function");
    let number = profile_region!("around the question mark", { number? + 1 });
    Some(number)
}

macro_rules! leaves {
    ($($(#[$attribute:meta])* $name:ident by $strategy:ident;)*) => {$(
        $(#[$attribute])*
        /// Leaves regions by `continue`, `break`, `break` to a label and the end of a function, and by
        /// `?` and `return` where `leave` is not 0, which only the launch decides. Writes for each
        /// thread what its calls of a function add up to.
        ///
        /// # Safety
        ///
        /// `output` must be valid for one number a thread of the grid; `rounds` must be even and not 0.
        #[profiled(by = $strategy)]
        pub unsafe extern "ptx-kernel" fn $name(output: *mut u32, rounds: u32, leave: u32) {
            profile_region!("to the end of the kernel");
            let mut round = 0;
            'outer: loop {
                profile_region!("loop");
                loop {
                    profile_region!("inner loop", {
                        round += 1;
                        if round % 2 == 1 {
                            continue;
                        }
                        if round == rounds {
                            break 'outer;
                        }
                        break;
                    });
                }
            }
            let left = leaves_by_question_mark(recorder!(), (leave == 0).then_some(round));
            let whole = leaves_by_question_mark(recorder!(), Some(round));
            // SAFETY: one number a thread.
            unsafe {
                *output.add(thread::index_1d() as usize) =
                    left.unwrap_or_default() + whole.unwrap_or_default();
            }
            profile_region!("around the return", {
                if leave != 0 {
                    return;
                }
            });
            profile_mark!("after the return");
        }
    )*};
}

leaves! {
    /// By lane 0.
    leaves by warp;
    /// By one active lane.
    leaves_elected by elected;
    /// By every thread.
    leaves_by_thread by thread;
}
